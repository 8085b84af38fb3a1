import LazySync

/// What the command could not do, as a person reads it.
struct Failure: Error, Sendable, Equatable {
    let exit: ExitCode
    /// The word of the failure, for programs.
    let code: String
    /// What happened: lower case, no full stop.
    var message: String
    /// What to do about it.
    var hint: String?
    /// The id of the attachment that it is about, if it is about one.
    var id: String?
    /// When the server said to come back.
    var nextAttempt: Timestamp?

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

    /// A signal ended the work.
    static let interrupted = Failure(.interrupted, code: "cancelled", "interrupted")

    /// A signal ended the work, and what came of the bytes so far was kept.
    static let interruptedKeeping: Failure = {
        var failure = interrupted
        failure.hint = "what came is kept; the same command goes on from there"
        return failure
    }()

    /// Any error, of whatever layer; `verbose` also says what was being done.
    init(_ error: any Error, verbose: Bool) {
        switch error {
        case let failure as Failure:
            self = failure
        case let error as SyncError:
            let row = error.code.row
            var message = error.detail
            // The reason's word is what a person finds again in lists and in the documentation.
            if case .unavailable = error.code {
                message = "\(row.word): \(Failure.sentence(message))"
            }
            if verbose { message = "\(error.operation): \(message)" }
            self.init(row.exit, code: row.word, message, hint: error.hint ?? row.hint)
            nextAttempt = error.retryAfter.flatMap { Timestamp(seconds: Host.now + $0) }
            if let nextAttempt { hint = "the server asked to wait until \(nextAttempt)" }
        case is CancellationError:
            self = .interrupted
        default:
            self.init(.failed, code: "failed", "\(error)")
        }
    }

    /// The failure, saying which of several words it is about.
    func about(_ subject: String) -> Failure {
        var failure = Failure(exit, code: code, "\(subject): \(message)", hint: hint)
        (failure.id, failure.nextAttempt) = (id, nextAttempt)
        return failure
    }

    /// Bytes of an attachment cannot come, also after another try.
    init(_ key: AttachmentKey, unavailable reason: UnavailableReason, _ detail: String) {
        self.init(SyncError(.unavailable(reason), "fetch", detail), verbose: false)
        id = key.id.description
    }

    /// The same failure without what to do about it.
    var withoutHint: Failure {
        var failure = self
        failure.hint = nil
        return failure
    }

    /// One sentence of what the transfer library says in two: "Failed to connect to h port 1 after
    /// 0 ms: Couldn't connect to server".
    static func sentence(_ text: String) -> String {
        guard text.hasPrefix("Failed to connect to ") else { return text }
        let first = text.split(separator: ": ", maxSplits: 1)[0]
        let place = first.split(separator: " after ", maxSplits: 1)[0].dropFirst(21)
        return "no connection to \(place)"
    }
}

extension Explanation {
    /// What would help, in the words of the command.
    var hint: String? {
        guard let reason = attachment.state.reason else { return nil }
        if reason == .throttled, let next = evidence.nextAttempt {
            return "the server asked to wait until \(next)"
        }
        return SyncError.Code.unavailable(reason).row.hint
    }
}

extension SyncError.Code {
    /// The one table of the engine's errors: the word for programs, the exit code, the hint.
    var row: (word: String, exit: ExitCode, hint: String?) {
        switch self {
        case .unavailable(.offline):
            ("offline", .notNow, "check the connection, then try again")
        case .unavailable(.tooLarge):
            (
                "tooLarge", .notPossible,
                "raise the limit with 'sync cache --limit', or read it without the cache: "
                    + "'sync open --stdout' or '--range'"
            )
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
        case .pinned: ("pinned", .notPossible, "unpin it first: sync unpin ID")
        case .mismatch:
            (
                "mismatch", .mismatch,
                "nothing here was deleted, and nothing is sent; if you know why, and take the server's "
                    + "account as it is: sync trust"
            )
        case .tooManyDeletions:
            (
                "tooManyDeletions", .mismatch,
                "nothing was deleted; 'sync trust --deletions' carries them out, 'sync trust --keep' "
                    + "keeps the items"
            )
        case .unsentChanges:
            (
                "unsentChanges", .notPossible,
                "send them with 'sync push', or lose them with 'sync logout --discard-unsent'"
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
