/// A wait before the server is asked again; for a line on a screen.
public struct TransferWait: Sendable, Hashable {
    /// What came of the call before; `throttled` if the server asked to wait.
    public let reason: UnavailableReason
    /// How long it is.
    public let duration: Duration
}

/// How far an attachment's bytes are.
public struct BlobProgress: Sendable, Hashable {
    /// The state, as the list shows it.
    public var state: BlobState
    /// The verified bytes that are here; within one try they never become fewer.
    public var bytes: Int64
    /// How many there are in all.
    public var size: Int64

    /// Describes how far an attachment's bytes are.
    public init(state: BlobState, bytes: Int64, size: Int64) {
        self.state = state
        self.bytes = bytes
        self.size = size
    }
}
