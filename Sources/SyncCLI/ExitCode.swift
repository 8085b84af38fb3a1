import LazySync

/// How the command ends: one meaning a number, as the help says.
enum ExitCode: Int32, Sendable, CaseIterable {
    case done = 0
    case failed = 1
    /// The words are wrong; nothing was done.
    case usage = 2
    /// Not now: the same words later can help.
    case notNow = 3
    /// Not without something else.
    case notPossible = 4
    /// Done, and some of it is missing.
    case partial = 5
    /// Nobody is logged in, or the login is not good.
    case loggedOut = 6
    /// The server's answers do not add up: a person decides.
    case mismatch = 7
    /// The catalog was written by a newer version.
    case newerCatalog = 8
    /// A signal ended it; what was verified is kept.
    case interrupted = 130
}

extension ExitCode {
    /// How a verb ends that needed bytes which cannot come.
    init(_ reason: UnavailableReason) {
        self =
            switch reason {
            case .offline, .serverError, .throttled, .diskFull, .storeFull: .notNow
            case .addressMissing, .addressInvalid, .notFound, .corrupt, .wrongSize, .notEntitled,
                .tooLarge:
                .notPossible
            case .keyMissing, .signedOut: .loggedOut
            }
    }

    /// How a verb ends that the engine refused.
    init(_ code: SyncError.Code) { self = code.row.exit }
}

/// Adds up how each of several ids went: a bad one does not stop the others.
struct Tally: Sendable {
    private var worked = 0
    private var firstFailure: ExitCode?

    mutating func succeeded() { worked += 1 }

    mutating func failed(_ exit: ExitCode) { firstFailure = firstFailure ?? exit }

    /// How the whole ends: partial if some worked, else as the first failure.
    var exit: ExitCode {
        guard let firstFailure else { return .done }
        return worked > 0 ? .partial : firstFailure
    }
}
