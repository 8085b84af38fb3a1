import Foundation

/// How a server behaves apart from what it holds.
struct ServerOptions: Sendable {
    /// What the session's answer says about where blobs are.
    enum BlobOrigin: Sendable, Equatable {
        /// Nothing: they are here, behind the token.
        case none
        /// This server, at an address without a token.
        case own
        /// Another server's address, such as `http://127.0.0.1:PORT/`, with the same account.
        case server(String)
    }

    /// Seconds that a token is good for.
    var tokenLifetime = 3600
    var blobOrigin = BlobOrigin.none
    /// Entries on a page at the most, whatever limit a client asks for.
    var largestPage = 5_000
    /// Whether `/_mock/…` drives the server.
    var hasControl = false
    /// Whether clients may create accounts.
    var takesAccounts = true
    /// What uploads may come to.
    var limits = ServedAccount.Limits()
    /// Where the log goes, one JSON object a line.
    var logFile: String?
    /// Whether requests are logged; off, a million of them leave no trace in memory.
    var keepsLog = true
    /// Seconds since 1970, for tokens.
    var clock: @Sendable () -> Double = { Date().timeIntervalSince1970 }
}

/// A clock that stands until a test moves it.
final class ManualClock: Sendable {
    private let time: Guarded<Double>

    init(_ time: Double = 1_780_000_000) {
        self.time = Guarded(time)
    }

    /// What it shows, in seconds since 1970.
    var now: Double { time.with { $0 } }

    /// Moves it on.
    func advance(by seconds: Double) {
        time.with { $0 += seconds }
    }
}
