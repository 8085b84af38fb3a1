/// What the engine could not do, and why.
///
/// Callers branch on `code`; the texts are for people.
public struct SyncError: Error, Sendable {
    /// What went wrong, as far as a caller can act on it.
    public enum Code: Sendable, Hashable {
        /// A blob, or a whole run, is unavailable for one of the reasons of the states.
        case unavailable(UnavailableReason)
        /// No account is open on this device.
        case notLoggedIn
        /// The server refused the name, the passphrase or the recovery key.
        case loginRefused
        /// An account of that name is on the server already.
        case nameTaken
        /// Another account is open: log out first.
        case anotherAccount
        /// The id is not in the catalog.
        case noSuchID
        /// The id is a prefix of several: these, or the first of them.
        case ambiguousID([String])
        /// A value that the caller gave is not usable.
        case invalidInput
        /// The bytes are pinned, and stay until somebody unpins them.
        case pinned
        /// The server's answers do not add up: rollback, fork, withheld or changed entries.
        case mismatch
        /// One run would delete more than a person would expect.
        case tooManyDeletions
        /// Changes wait to be sent that would be lost: these items, or the first of them.
        case unsentChanges([String])
        /// The catalog was written by a newer version.
        case newerCatalog
        /// The file is not a catalog, or is damaged.
        case notACatalog
        /// This device's files cannot be read or written.
        case storage
        /// Another program is busy with the account.
        case busy
        /// The caller cancelled.
        case cancelled
    }

    /// What a caller branches on.
    public let code: Code
    /// What the engine was doing: "open 4f2a…".
    public let operation: String
    /// What happened, in one line and without secrets.
    public let detail: String
    /// What would help, if the code's usual hint is not it.
    public let hint: String?
    /// What the server or the connection to it said, for the passes.
    var failure: RemoteFailure?

    /// How many seconds the server asked to wait, counted from when this was thrown; nil if it did
    /// not.
    public var retryAfter: Int64? { failure?.retryAfter }

    /// Describes a failure.
    public init(_ code: Code, _ operation: String, _ detail: String, hint: String? = nil) {
        self.code = code
        self.operation = operation
        self.detail = detail
        self.hint = hint
    }

    /// Whether trying the same thing later can succeed without the caller's help.
    public var isTransient: Bool {
        switch code {
        case .unavailable(.offline), .unavailable(.serverError), .unavailable(.throttled),
            .unavailable(.diskFull), .busy:
            true
        default: false
        }
    }
}
