import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer

/// A device of its own, in a fresh folder, beside a server that it talks to over HTTP.
///
/// ``withHome(_:options:_:)`` makes one, and checks at the end what must always hold.
final class TestHome {
    let folder: URL
    let server: Server
    /// The account that the server has; nil for a folder of the fixtures.
    let account: TestAccount?
    let accountName: String
    let clock = TestClock()
    /// What engines are made with; to be changed before they are.
    var configuration: EngineConfiguration
    /// Set by a test that takes files out of the cache behind the engine's back.
    var mayLackFiles = false
    /// Set by a test whose device adds files, of which the account knows nothing.
    var addsFiles = false
    private let ownsServer: Bool
    /// How many devices of the account there are: each has a chance of its own.
    private let devices: Locked<Int>
    /// Those that were made here, as long as they live.
    private let engines = Locked<[@Sendable () -> SyncEngine?]>([])

    /// A device, and a server of its own.
    convenience init(_ account: TestAccount, options: ServerOptions = .init()) throws {
        let server = try Server(serving: [account.serve()], options: options)
        try server.start()
        try self.init(server, account, account.name, ownsServer: true)
    }

    /// A device, and a server of its own that serves an account folder.
    convenience init(folder: URL, named name: String, options: ServerOptions = .init()) throws {
        let server = try Server(accounts: [folder], options: options)
        try server.start()
        try self.init(server, nil, name, ownsServer: true)
    }

    /// A device, and a server of its own that serves one of the accounts of the fixtures.
    convenience init(fixture name: String) throws {
        try self.init(folder: Fixtures.folder.appending(path: "accounts/\(name)"), named: name)
    }

    /// One more device of the same account at the same server.
    convenience init(beside other: TestHome) throws {
        try self.init(
            other.server, other.account, other.accountName, ownsServer: false,
            devices: other.devices)
    }

    private init(
        _ server: Server, _ account: TestAccount?, _ name: String, ownsServer: Bool,
        devices: Locked<Int> = Locked(0)
    ) throws {
        self.devices = devices
        let number = devices.withLock { count in
            defer { count += 1 }
            return count
        }
        self.server = server
        self.account = account
        accountName = name
        self.ownsServer = ownsServer
        folder = try freshFolder()
        configuration = EngineConfiguration(home: folder.path)
        configuration.clock = clock
        configuration.random = SeededRandom(seed: 7 + UInt64(number))
        configuration.stallSeconds = 30
    }

    deinit {
        if ownsServer { server.stop() }
        removeFolder(folder)
    }

    // MARK: Engines

    /// What a right login says.
    var loginRequest: LoginRequest {
        LoginRequest(
            server: "\(server.url)", account: accountName, device: "test",
            secret: .passphrase(Array(TestAccount.passphrase.utf8)), keyStore: .file)
    }

    /// Logs in.
    func login() async throws -> SyncEngine {
        keep(try await SyncEngine.login(loginRequest, configuration))
    }

    /// Opens the account that is logged in, as the next start of a program would.
    func open() async throws -> SyncEngine {
        keep(try await SyncEngine.open(configuration))
    }

    /// Takes note of an engine, which is looked at when the test ends if it still lives.
    func keep(_ engine: SyncEngine) -> SyncEngine {
        engines.withLock { $0.append { [weak engine] in engine } }
        return engine
    }

    /// The engines of this device that still live.
    var livingEngines: [SyncEngine] { engines.withLock { $0 }.compactMap { $0() } }

    // MARK: Looking inside

    /// The requests for records so far.
    var blobRequests: [LogEntry] {
        server.log.entries.filter { $0.path.hasPrefix("/v1/blobs/") }
    }

    /// The requests for manifest pages and entries so far.
    var manifestRequests: [LogEntry] {
        server.log.entries.filter { $0.path.hasPrefix("/v1/manifest") }
    }
}

/// Runs a test on a fresh device and server, and checks at the end what must always hold.
func withHome(
    _ account: TestAccount, options: ServerOptions = .init(),
    location: SourceLocation = #_sourceLocation, _ body: (TestHome) async throws -> Void
) async throws {
    try await Turnstile.homes.pass {
        let home = try TestHome(account, options: options)
        try await body(home)
        try await home.checkQueues(location)
        try home.check(location)
    }
}
