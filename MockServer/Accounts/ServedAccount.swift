/// An account that is being served: what it holds now, and the ways to change it under a client.
///
/// What clients change is in `ServedAccount+Push` and its like; here is what tests do to it.
final class ServedAccount: Sendable {
    /// Everything about an account that can change.
    struct State: Sendable {
        var keys: KeyRing
        /// What the server would say if it did not lie.
        var truth: Manifest
        var blobs: BlobStore
        var lies = Lies()

        var head: String? {
            get { truth.head }
            set { truth.head = newValue }
        }
        var entries: EntryLog {
            get { truth.entries }
            set { truth.entries = newValue }
        }
    }

    let name: String
    let accountId: String
    let overlay: any Overlay
    let uploads = UploadBook()
    private let state: Guarded<State>
    private let observers = Guarded<[@Sendable () -> Void]>([])

    init(
        _ seed: AccountSeed, entries: EntryLog, blobs: BlobStore,
        overlay: any Overlay = MemoryOverlay()
    ) {
        name = seed.name
        accountId = seed.accountId
        self.overlay = overlay
        state = Guarded(
            State(
                keys: KeyRing(seed), truth: Manifest(entries: entries, head: seed.head),
                blobs: blobs))
    }

    /// An account that is in memory as a whole; what changes goes to `data`.
    convenience init(_ seed: AccountSeed, data: DataFolder? = nil) throws(SetupError) {
        var blobs = BlobStore()
        for (name, bytes) in seed.blobs { blobs.put(name, MemoryBytes(bytes), now: 1_780_000_000) }
        let overlay = data?.overlay(seed.accountId)
        self.init(
            seed, entries: try EntryLog(ServedAccount.buffer(seed.entries)), blobs: blobs,
            overlay: overlay ?? MemoryOverlay())
        try overlay?.restore(self)
    }

    private static func buffer(_ entries: [AccountSeed.Entry]) -> LineBuffer {
        LineBuffer(Array(entries.map(\.line).joined(separator: "\n").utf8))
    }

    /// Looks at the account as it is now.
    func read<Result, Failure: Error>(
        _ body: (State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try state.with { state throws(Failure) in try body(state) }
    }

    /// Changes the account, and lets those who wait for a new head look again.
    func change<Result, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let result = try state.with(body)
        for observer in observers.with({ $0 }) { observer() }
        return result
    }

    /// Changes what nobody waits for.
    func changeQuietly<Result, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try state.with(body)
    }

    /// Has `body` called after every change.
    func observe(_ body: @escaping @Sendable () -> Void) {
        observers.with { $0.append(body) }
    }

    /// Adds or replaces entries, and sets the head.
    ///
    /// An entry with a seq that is taken already is the server tampering; with a higher one it is
    /// a push. `keepingOld` leaves the old entry of the same id in its place as well, as a faulty
    /// server might.
    func put(
        _ entries: [AccountSeed.Entry], head: String?, keepingOld: Bool = false
    ) throws(SetupError) {
        let buffer = ServedAccount.buffer(entries)
        try change { state throws(SetupError) in
            try state.truth.entries.put(buffer, keepingOld: keepingOld)
            state.truth.head = head
        }
    }

    /// Stores a blob over what was there; with `etag` nil under a fresh entity tag.
    func putBlob(_ name: String, _ bytes: [UInt8], etag: String? = nil) {
        change { $0.blobs.put(name, MemoryBytes(bytes), etag: etag, now: 1_780_000_000) }
    }

    /// Replaces a blob's bytes and keeps its entity tag, as no server should.
    func replaceBlobKeepingTag(_ name: String, _ bytes: [UInt8]) throws(Refusal) {
        try change { state throws(Refusal) in
            let old = try state.blobs.blob(name)
            state.blobs.put(name, MemoryBytes(bytes), etag: old.etag, now: old.created)
        }
    }

    /// Deletes a blob: 410 from now on.
    func deleteBlob(_ name: String) {
        change { $0.blobs.delete(name) }
    }
}
