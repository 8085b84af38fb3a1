internal import SyncPlatform

/// Brings the wanted chunks of one blob that are not here, over as many requests as that takes.
///
/// Every try asks for the first run of missing chunks; what was verified stays. It ends complete or
/// with one reason, after a bounded number of tries. The header comes along with the first chunk; a
/// part from the middle does without, for a chunk that opens under its key proves more.
struct BlobTransfer {
    let record: String
    let store: ChunkStore
    let remote: any Remote
    let policy: Backoff
    let clock: any WaitingClock
    /// Whether a pause ends it instead of being waited for.
    var endsOnPause = false

    private(set) var attempts = Attempts()
    private(set) var requests = 0
    private var suspects: Set<Suspect> = []
    private var wrongLengths = 0
    /// What the parts so far were parts of.
    private var etag: String?

    /// What failed authentication: a chunk, or the header before them all.
    private enum Suspect: Hashable { case header, chunk(Int) }

    init(
        record: String, store: ChunkStore, remote: any Remote, policy: Backoff,
        clock: any WaitingClock
    ) {
        self.record = record
        self.store = store
        self.remote = remote
        self.policy = policy
        self.clock = clock
    }

    /// Runs to the end.
    ///
    /// - Throws: `RemoteFailure` when it gives up; `FileError` for this device's own troubles.
    mutating func run() async throws {
        while let run = store.chunks.firstMissingRun {
            let before = store.chunks.present
            var failure = try await tryOnce(run)
            let progress = store.chunks.present > before
            if store.chunks.isComplete { failure = nil }
            // A pause is no try that failed: the next one begins when it is over.
            if let failure, failure.isPaused {
                if endsOnPause { throw failure }
                continue
            }
            if failure == nil, !progress {
                failure = RemoteFailure(
                    .serverError, "the answer holds no whole chunk", code: "protocol")
            }
            attempts.count(progress: progress, connectionFailed: failure?.isConnection == true)
            guard let failure else { continue }
            guard failure.next != .never, !attempts.isOver(policy) else { throw failure }
            try await attempts.pause(after: failure, policy, clock)
        }
    }

    /// One request; nil if nothing was wrong with the answer.
    private mutating func tryOnce(_ run: Range<Int>) async throws -> RemoteFailure? {
        let geometry = store.geometry
        let isBeginning = run.lowerBound == 0 && store.chunks.present == 0
        let asked = geometry.request(for: run, withHeader: isBeginning)
        let isWhole = asked == 0...(geometry.sealedLength - 1)
        let sink = BlobSink(store: store, asked: isWhole ? nil : asked)
        requests += 1
        var failure: RemoteFailure?
        do throws(RemoteFailure) {
            _ = try await remote.blob(
                BlobRequest(
                    record: record, range: isWhole ? nil : asked, ifRange: isWhole ? nil : etag,
                    limit: geometry.sealedLength),
                into: sink)
        } catch {
            failure = error
            if error.isUnsent { requests -= 1 }
        }
        let outcome = await sink.finish()
        if let error = outcome.fileError { throw error }
        var found = judge(outcome, failure)
        if found?.status == nil { found?.status = outcome.status }
        // What did not open may be of another version, whose tag is not one to hold on to.
        if !outcome.headerIsWrong, outcome.suspect.isEmpty { etag = outcome.etag ?? etag }
        return found
    }

    /// What a try's outcome means.
    private mutating func judge(
        _ outcome: BlobSink.Outcome, _ failure: RemoteFailure?
    ) -> RemoteFailure? {
        switch outcome.refusal {
        case .violation(let what)?:
            return RemoteFailure(.serverError, what, code: "protocol")
        case .anotherTotal?:
            return RemoteFailure(.wrongSize, "the server's copy has another length").final()
        case nil: break
        }
        guard let answer = outcome.answer else { return failure }
        if isAnotherLength(answer, outcome, failure) {
            wrongLengths += 1
            let found = RemoteFailure(.wrongSize, "the answer has another length than the blob")
            return wrongLengths > 1 ? found.final() : found.secondLook()
        }
        if outcome.headerIsWrong || !outcome.suspect.isEmpty { return judge(suspects: outcome) }
        if failure == nil { return missing(from: answer, outcome) }
        return failure
    }

    /// What is wrong with an answer whose end came too early; nil if it did not.
    private func missing(from answer: BlobAnswer, _ outcome: BlobSink.Outcome) -> RemoteFailure? {
        let end = answer.statedEnd ?? store.geometry.sealedLength
        guard answer.start + outcome.received < end else { return nil }
        guard answer.endIsCertain else { return .cut() }
        return RemoteFailure(
            .serverError, "the part is shorter than the answer says", code: "protocol")
    }

    /// Whether a whole answer is, for certain, not as long as the blob.
    private func isAnotherLength(
        _ answer: BlobAnswer, _ outcome: BlobSink.Outcome, _ failure: RemoteFailure?
    ) -> Bool {
        guard answer.isWhole else { return false }
        let total = store.geometry.sealedLength
        if let stated = answer.statedEnd { return stated != total }
        if failure?.code == RemoteFailure.tooLong { return true }
        return failure == nil && answer.endIsCertain && outcome.received != total
    }

    private mutating func judge(suspects outcome: BlobSink.Outcome) -> RemoteFailure {
        if outcome.headerIsWrong, outcome.answer?.isPage == true { return .page() }
        var found = outcome.suspect.sorted().map(Suspect.chunk)
        if outcome.headerIsWrong { found.append(.header) }
        let again = found.first(where: suspects.contains)
        suspects.formUnion(found)
        guard let again else {
            return RemoteFailure(.corrupt, "a part failed authentication").secondLook()
        }
        var failure = RemoteFailure(.corrupt, "the same part failed authentication in two requests")
        switch again {
        case .header: failure.code = "header"
        case .chunk(let chunk): failure.chunk = chunk
        }
        return failure.final()
    }
}
