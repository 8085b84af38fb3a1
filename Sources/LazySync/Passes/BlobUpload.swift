internal import SyncPlatform

/// Where sealed bytes lie that are to be sent: a part of a file, which does not change any more.
struct UploadSource: Sendable, Hashable {
    let path: String
    /// Where in the file they begin: many can lie in one.
    var offset: UInt64 = 0
    let length: UInt64
}

/// Brings one sealed blob to the store under its record name, over as many requests as that takes.
///
/// Up to 8 MiB it is one PUT, and above it an upload that goes on where it was cut. What the store
/// says about how far it has come is only where to go on: whether the blob is there, and as long as
/// it should be, is for ``check()`` to say. Behind a gate, a wait that the host asked for is waited
/// for there.
struct BlobUpload {
    /// The largest blob that goes in one request.
    static let putLimit: UInt64 = 8 << 20
    /// How much further an upload must have come for a failed try to count as progress.
    static let progressStep: UInt64 = 64 << 10

    /// What the store has under the name.
    enum Presence: Sendable, Hashable {
        /// A blob of the right length.
        case stored
        /// Nothing, or nothing any more: it needs a fresh name.
        case missing
    }

    let record: String
    let source: UploadSource
    let remote: any WritableRemote
    let policy: Backoff
    let clock: any WaitingClock
    /// Whether an earlier run may have sent a part: then the store is asked before a byte is sent.
    var mayHaveBegun = true
    /// Told how many bytes of the source went out; less than before when some go out again.
    ///
    /// Called from other threads, which must not be held up.
    var progress: (@Sendable (UInt64) -> Void)?

    private(set) var attempts = Attempts()
    /// Where the upload stands; nil if the store has to be asked.
    private var offset: UInt64?
    /// How far the upload has come, in steps that count.
    private var confirmed: UInt64 = 0
    /// Whether the store has said that the name is taken.
    private var isTaken = false

    init(
        record: String, source: UploadSource, remote: any WritableRemote, policy: Backoff,
        clock: any WaitingClock
    ) {
        self.record = record
        self.source = source
        self.remote = remote
        self.policy = policy
        self.clock = clock
    }

    /// Runs to the end; `opened` is the source's file, if somebody has it open.
    ///
    /// - Throws: `RemoteFailure` when it gives up: for good `tooLarge`, `storeFull`, `notFound` if
    ///   the name is that of a deleted blob, and `serverError` with the code `exists` if it is that
    ///   of another one. `FileError` or `SyncError` (`storage`) for this device's own troubles.
    mutating func run(_ opened: File? = nil) async throws {
        let file = try opened ?? File(source.path, for: .read)
        try check(file)
        while true {
            let before = confirmed
            var failure: RemoteFailure?
            do throws(RemoteFailure) {
                if try await tryOnce(file) { break }
            } catch {
                failure = error
            }
            let isFurther = confirmed > before
            attempts.count(progress: isFurther, connectionFailed: failure?.isConnection == true)
            guard let failure else {
                if isFurther || !attempts.isOver(policy) { continue }
                throw Self.violation("the upload does not get on")
            }
            if failure.code == RemoteFailure.source {
                throw SyncError(.storage, "send a blob", failure.detail)
            }
            guard failure.next != .never, !attempts.isOver(policy) else { throw failure }
            try await pause(attempts, after: failure)
        }
        progress?(source.length)
    }

    /// Asks the store whether the blob is there, before something names it.
    ///
    /// - Throws: `RemoteFailure` when it gives up, for good if the store has another length.
    func check() async throws -> Presence {
        var attempts = Attempts()
        while true {
            let failure: RemoteFailure
            do throws(RemoteFailure) {
                guard let size = try await remote.size(of: record) else { return .missing }
                guard size == source.length else { throw Self.anotherBlob() }
                return .stored
            } catch {
                failure = error
            }
            attempts.count(progress: false, connectionFailed: failure.isConnection)
            guard failure.next != .never, !attempts.isOver(policy) else { throw failure }
            try await pause(attempts, after: failure)
        }
    }

    private func check(_ file: File) throws {
        let (end, isOver) = source.offset.addingReportingOverflow(source.length)
        guard !isOver, UInt64(max(try file.facts().size, 0)) >= end else {
            throw SyncError(.storage, "send a blob", "what was to be sent is not whole")
        }
    }

    private func pause(_ attempts: Attempts, after failure: RemoteFailure) async throws {
        do {
            try await attempts.pause(after: failure, policy, clock)
        } catch is CancellationError {
            throw RemoteFailure.cancelled()
        }
    }
}

// MARK: - One try

extension BlobUpload {
    /// Sends what is missing; true when the blob is there.
    private mutating func tryOnce(_ file: File) async throws(RemoteFailure) -> Bool {
        if isTaken { return try await isOurs() }
        let answer =
            source.length <= Self.putLimit
            ? try await remote.put(record, body(file, from: 0)) : try await patch(file)
        switch answer {
        case .created: return true
        case .exists:
            isTaken = true
            return try await isOurs()
        case .offset(let now):
            try learn(now, isProof: true)
            return false
        case .wrongOffset(let now):
            // It took nothing of this try, so this is no progress, whatever it says.
            try learn(now, isProof: false)
            return false
        }
    }

    private mutating func patch(_ file: File) async throws(RemoteFailure) -> UploadAnswer {
        let start = try await place()
        // However this ends, the next try asks, unless the answer says it.
        offset = nil
        mayHaveBegun = true
        return try await remote.patch(
            record, offset: start, length: source.length, body(file, from: start))
    }

    /// Where to go on.
    private mutating func place() async throws(RemoteFailure) -> UInt64 {
        if let offset { return offset }
        guard mayHaveBegun else { return 0 }
        let told = try await remote.uploadOffset(record) ?? 0
        try learn(told, isProof: true)
        return told
    }

    /// Takes note of where the store says that it stands.
    ///
    /// It may also be less than before: who has lost bytes gets them again, but that is no progress.
    private mutating func learn(_ now: UInt64, isProof: Bool) throws(RemoteFailure) {
        guard now <= source.length else {
            throw Self.violation("an Upload-Offset beyond the end")
        }
        offset = now
        if isProof, now >= confirmed + Self.progressStep { confirmed = now }
    }

    /// Whether the blob that has the name can be the one that was sent.
    private func isOurs() async throws(RemoteFailure) -> Bool {
        guard let size = try await remote.size(of: record) else {
            throw RemoteFailure(
                .notFound, "the name is that of a deleted blob", status: 410, code: "blob-gone"
            ).final()
        }
        guard size == source.length else { throw Self.anotherBlob() }
        return true
    }

    private func body(_ file: File, from start: UInt64) -> UploadBody {
        let content = HTTPBody.file(
            file, offset: Int64(source.offset + start), count: Int(source.length - start))
        guard let progress else { return UploadBody(content: content) }
        return UploadBody(content: content) { count in progress(start + UInt64(count)) }
    }

    private static func anotherBlob() -> RemoteFailure {
        RemoteFailure(
            .serverError, "the store has another blob under the name", code: Problem.exists
        ).final()
    }

    private static func violation(_ what: String) -> RemoteFailure {
        RemoteFailure(.serverError, "the answer breaks the protocol: \(what)", code: "protocol")
    }
}
