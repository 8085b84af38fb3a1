import LazySync

/// What the command could not do, as a person reads it.
struct Failure: Error, Sendable, Equatable {
    let exit: ExitCode
    /// The word of the failure, for programs.
    let code: String
    /// What happened: lower case, no full stop.
    let message: String
    /// What to do about it.
    let hint: String?

    init(_ exit: ExitCode, code: String, _ message: String, hint: String? = nil) {
        self.exit = exit
        self.code = code
        self.message = message
        self.hint = hint
    }

    /// The words are wrong, and nothing was done.
    init(usage message: String, hint: String? = nil) {
        self.init(.usage, code: "usage", message, hint: hint)
    }

    /// The words behind a verb are wrong.
    init(usage message: String, verb: String) {
        self.init(usage: message, hint: "see 'sync help \(verb)'")
    }

    /// Some of what was asked for is missing.
    init(partial message: String, hint: String?) {
        self.init(.partial, code: "partial", message, hint: hint)
    }

    /// Bytes cannot come, also after another try.
    init(unavailable reason: UnavailableReason) {
        self.init(SyncError(.unavailable(reason), "retry", "still unavailable"), verbose: false)
    }

    /// A signal ended the work.
    static let interrupted = Failure(.interrupted, code: "cancelled", "interrupted")

    /// Any error, of whatever layer; `verbose` also says what was being done.
    init(_ error: any Error, verbose: Bool) {
        switch error {
        case let failure as Failure:
            self = failure
        case let error as SyncError:
            let row = error.code.row
            var message = error.detail
            // The reason's word is what a person finds again in lists and in the documentation.
            if case .unavailable = error.code { message = "\(row.word): \(message)" }
            if verbose { message = "\(error.operation): \(message)" }
            self.init(row.exit, code: row.word, message, hint: error.hint ?? row.hint)
        case is CancellationError:
            self = .interrupted
        default:
            self.init(.failed, code: "failed", "\(error)")
        }
    }

    /// The failure, saying which of several words it is about.
    func about(_ subject: String) -> Failure {
        Failure(exit, code: code, "\(subject): \(message)", hint: hint)
    }
}

extension SyncError.Code {
    /// The one table of the engine's errors: the word for programs, the exit code, the hint.
    var row: (word: String, exit: ExitCode, hint: String?) {
        switch self {
        case .unavailable(.offline):
            ("offline", .notNow, "check the connection, then try again")
        case .unavailable(let reason): (reason.rawValue, ExitCode(reason), reason.help)
        case .notLoggedIn:
            ("notLoggedIn", .loggedOut, "log in: sync login --server URL --account NAME")
        case .loginRefused:
            (
                "loginRefused", .loggedOut,
                "check the account's name and the passphrase or recovery key"
            )
        case .nameTaken:
            ("nameTaken", .usage, "choose another name, or log in if the account is yours")
        case .anotherAccount: ("anotherAccount", .usage, "log out first: sync logout")
        case .noSuchID: ("noSuchID", .usage, "'sync list' and 'sync items' show the ids")
        case .ambiguousID(let ids):
            ("ambiguousID", .usage, "write one of: \(ids.prefix(4).joined(separator: " "))")
        case .invalidInput: ("invalidInput", .usage, nil)
        case .mismatch:
            (
                "mismatch", .mismatch,
                "wait and restore again, or log out and in; what is here stays readable"
            )
        case .tooManyDeletions:
            (
                "tooManyDeletions", .mismatch,
                "nothing was deleted; wait and restore again, or log out and in"
            )
        case .newerCatalog:
            ("newerCatalog", .newerCatalog, "use the newer version; the catalog was not touched")
        case .notACatalog: ("notACatalog", .usage, "check --home, or log out and in again")
        case .storage: ("storage", .notNow, "check the disk and the folder's permissions")
        case .busy: ("busy", .notNow, "another sync is at work; try again when it is done")
        case .cancelled: ("cancelled", .interrupted, nil)
        }
    }
}
