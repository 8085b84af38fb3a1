/// Where an attachment's bytes are, as a person sees it.
///
/// Never stored: it follows from the address, the `here` mark, the last failure and the transfer
/// lock each time it is asked for, so a crash cannot leave a spinner behind.
public enum BlobState: Sendable, Hashable {
    /// The address is here; nobody asked for the bytes.
    case remote
    /// The bytes are on their way: a living process holds the blob's transfer lock.
    case pending
    /// All bytes are here and were verified.
    case here
    /// The bytes cannot come now.
    case unavailable(UnavailableReason)

    /// The state's word, as in `list --json`.
    public var name: String {
        switch self {
        case .remote: "remote"
        case .pending: "pending"
        case .here: "here"
        case .unavailable: "unavailable"
        }
    }

    /// The reason, if the state has one.
    public var reason: UnavailableReason? {
        if case .unavailable(let reason) = self { reason } else { nil }
    }
}

/// Why bytes cannot come now: a closed set, each with what would help.
public enum UnavailableReason: String, Sendable, Hashable, CaseIterable {
    /// The item names the attachment and has no address for it.
    case addressMissing
    /// The address does not parse, or its key does not unwrap.
    case addressInvalid
    /// The key store is locked, or does not have the account's key.
    case keyMissing
    /// No connection came about, or it broke.
    case offline
    /// The host asked to wait.
    case throttled
    /// The session has ended.
    case signedOut
    /// There is no room on this device.
    case diskFull
    /// The server or something in between answers with an error, or breaks the protocol.
    case serverError
    /// The account may not fetch it.
    case notEntitled
    /// The server says that it does not have the blob.
    case notFound
    /// What came failed authentication, more than once.
    case corrupt
    /// What came has another length than the item says.
    case wrongSize
    /// It is larger than what may be held here, or than what the server takes.
    case tooLarge
    /// The account has no room left at the server for what was to be sent.
    case storeFull

    /// Whether the reason belongs to the device, the host or the account instead of one blob.
    ///
    /// Such a reason is kept once and laid over the blobs that were asked for.
    public var isShared: Bool {
        switch self {
        case .keyMissing, .offline, .throttled, .signedOut, .diskFull: true
        default: false
        }
    }

    /// What a person can do about it.
    public var help: String {
        switch self {
        case .addressMissing: "another device has to upload it; then restore"
        case .addressInvalid: "another device has to save the item again; then restore"
        case .keyMissing: "unlock the key store, or log in again"
        case .offline: "try again when there is a connection"
        case .throttled: "the server asked to wait; try again later"
        case .signedOut: "log in again"
        case .diskFull: "make room on the disk or in the cache, then try again"
        case .serverError: "the server has a problem; try again later"
        case .notEntitled: "the account may not fetch this; ask its provider"
        case .notFound:
            "the server no longer has it; try again after another device has uploaded it"
        case .corrupt: "the server's copy is damaged; try again"
        case .wrongSize: "the server's copy has another length; try again"
        case .tooLarge: "raise the cache's limit, or read it without keeping it"
        case .storeFull: "make room in the account, or ask its provider for more; then try again"
        }
    }
}

/// What is known about the last try for a blob.
public struct Evidence: Sendable, Hashable {
    /// The HTTP status, if there was an answer.
    public var status: Int?
    /// The server's problem code or our own word for it, such as `certificate`.
    public var code: String?
    /// The number of the chunk that failed authentication.
    public var chunk: Int?
    /// The verified bytes that are here.
    public var bytes: Int64
    /// The tries since the last verified progress.
    public var attempts: Int
    /// When the last try ended.
    public var lastAttempt: Timestamp?
    /// When the next try is due, if one is.
    public var nextAttempt: Timestamp?

    /// Makes evidence; everything that is not known is left out.
    public init(
        status: Int? = nil, code: String? = nil, chunk: Int? = nil, bytes: Int64 = 0,
        attempts: Int = 0, lastAttempt: Timestamp? = nil, nextAttempt: Timestamp? = nil
    ) {
        self.status = status
        self.code = code
        self.chunk = chunk
        self.bytes = bytes
        self.attempts = attempts
        self.lastAttempt = lastAttempt
        self.nextAttempt = nextAttempt
    }
}
