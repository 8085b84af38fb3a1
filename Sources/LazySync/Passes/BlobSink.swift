internal import Dispatch
internal import SyncPlatform

/// Takes one answer's body and lets chunk after chunk into the file, each one verified.
///
/// The client's thread only copies; a thread of its own opens, writes and counts. When it falls
/// behind, the transfer pauses, so memory is a few blocks whatever the body's length.
final class BlobSink: HTTPSink {
    /// What an answer brought.
    struct Outcome: Sendable {
        var answer: BlobAnswer?
        var refusal: BlobAnswer.Refusal?
        var status: Int?
        /// The entity tag, if it is a strong one.
        var etag: String?
        /// Body bytes that came.
        var received: UInt64 = 0
        /// Chunks that did not open under their key.
        var suspect: Set<Int> = []
        /// The first 40 bytes were not this blob's.
        var headerIsWrong = false
        var fileError: FileError?
    }

    /// Large enough that writing is sequential, small enough to keep a few.
    private static let blockBytes = 16 * (BlobGeometry.chunkSize + BlobGeometry.tagSize)
    private static let mostQueued = 2
    /// A body with more wrong chunks than this is not a damaged blob but something else.
    private static let mostSuspects = 16

    private let store: ChunkStore
    private let asked: ClosedRange<UInt64>?
    private let arrival = Locked(Arrival())
    private let worker = DispatchQueue(label: "lazysync.blob", qos: .userInitiated)

    /// What the client's thread and the worker both touch.
    private struct Arrival {
        var outcome = Outcome()
        /// What has come and is no block yet.
        var bytes: [UInt8] = []
        /// Where in the sealed blob these bytes begin.
        var start: UInt64 = 0
        /// What waits to be stored.
        var blocks: [Block] = []
        var isStoring = false
        /// Room that stored blocks left: without it, most of the time would go to fresh pages.
        var spare: [[UInt8]] = []
        var control: HTTPTransferControl?
        var isPaused = false
        var mustStop = false
    }

    init(store: ChunkStore, asked: ClosedRange<UInt64>?) {
        self.store = store
        self.asked = asked
    }

    func begin(_ head: HTTPHead, _ control: HTTPTransferControl) -> HTTPSinkStep {
        let total = store.geometry.sealedLength
        return arrival.withLock { arrival in
            arrival.outcome.status = head.status
            arrival.outcome.etag = head.strongETag
            do throws(BlobAnswer.Refusal) {
                let answer = try BlobAnswer.judge(head, asked: asked, total: total)
                arrival.outcome.answer = answer
                arrival.start = answer.start
                arrival.control = control
                return .more
            } catch {
                arrival.outcome.refusal = error
                return .stop
            }
        }
    }

    func receive(_ bytes: Span<UInt8>) -> HTTPSinkStep {
        let (step, begins) = arrival.withLock { arrival -> (HTTPSinkStep, Bool) in
            if arrival.mustStop { return (.stop, false) }
            if arrival.blocks.count >= Self.mostQueued {
                arrival.isPaused = true
                return (.pause, false)
            }
            arrival.outcome.received += UInt64(bytes.count)
            arrival.bytes.append(copying: bytes)
            // A slow link fills no block: what came is stored as soon as nothing else is being.
            if !arrival.isStoring || arrival.bytes.count >= Self.blockBytes { cutBlock(&arrival) }
            return (.more, beginsStoring(&arrival))
        }
        if begins { worker.async { [self] in storeAll() } }
        return step
    }

    /// Waits until what came is written, and tells what it was; once, after the transfer ended.
    func finish() async -> Outcome {
        let begins = arrival.withLock { arrival in
            cutBlock(&arrival)
            return beginsStoring(&arrival)
        }
        if begins { worker.async { [self] in storeAll() } }
        return await withCheckedContinuation { continuation in
            worker.async { [arrival] in
                continuation.resume(returning: arrival.withLock { $0.outcome })
            }
        }
    }

    /// Bytes that end where a chunk ends, and behind them some that belong to the next block.
    private struct Block {
        let start: UInt64
        let bytes: [UInt8]
        let count: Int
    }

    /// Makes a block of the whole chunks that came; the rest begins the next one.
    private func cutBlock(_ arrival: inout sending Arrival) {
        let whole = store.geometry.wholeBytes(from: arrival.start, count: arrival.bytes.count)
        guard whole > 0 else { return }
        var rest = arrival.spare.popLast() ?? []
        rest.removeAll(keepingCapacity: true)
        rest.reserveCapacity(Self.blockBytes + 512 << 10)
        rest.append(copying: arrival.bytes.span.extracting(whole...))
        arrival.blocks.append(Block(start: arrival.start, bytes: arrival.bytes, count: whole))
        arrival.bytes = rest
        arrival.start += UInt64(whole)
    }

    private func beginsStoring(_ arrival: inout sending Arrival) -> Bool {
        guard !arrival.isStoring, !arrival.blocks.isEmpty else { return false }
        arrival.isStoring = true
        return true
    }

    /// Stores what waits, and what comes meanwhile.
    private func storeAll() {
        while let block = next() {
            let problem = keep(block)
            let paused = arrival.withLock { arrival -> HTTPTransferControl? in
                note(problem, &arrival)
                arrival.spare.append(block.bytes)
                let control = arrival.isPaused ? arrival.control : nil
                arrival.isPaused = false
                return control
            }
            paused?.resume()
        }
    }

    private func next() -> Block? {
        arrival.withLock { arrival in
            if arrival.blocks.isEmpty { cutBlock(&arrival) }
            arrival.isStoring = !arrival.blocks.isEmpty
            return arrival.isStoring ? arrival.blocks.removeFirst() : nil
        }
    }

    private func keep(_ block: Block) -> ChunkStore.Problem {
        // Behind a wrong header nothing counts, even if it would open.
        let isOver = arrival.withLock { arrival in
            arrival.outcome.headerIsWrong || arrival.outcome.fileError != nil
        }
        if isOver { return ChunkStore.Problem() }
        return store.take(block.bytes.span.extracting(..<block.count), at: block.start)
    }

    private func note(_ problem: ChunkStore.Problem, _ arrival: inout sending Arrival) {
        arrival.outcome.suspect.formUnion(problem.suspect)
        if problem.headerIsWrong { arrival.outcome.headerIsWrong = true }
        if let error = problem.fileError { arrival.outcome.fileError = error }
        arrival.mustStop = Self.mustStop(arrival.outcome) || isMoreThanWanted(arrival.outcome)
    }

    /// Whether a whole answer, to a request for a part, has brought that part.
    private func isMoreThanWanted(_ outcome: Outcome) -> Bool {
        guard outcome.answer?.isWhole == true else { return false }
        let chunks = store.chunks
        return chunks.isComplete && chunks.count < store.geometry.chunkCount
    }

    /// Whether the rest of the body cannot be of use.
    ///
    /// A body without a stated length is read on, for only its length can tell a blob that is
    /// damaged from another thing in its place.
    private static func mustStop(_ outcome: Outcome) -> Bool {
        if outcome.fileError != nil { return true }
        let isLengthKnown = outcome.answer?.statedEnd != nil
        return isLengthKnown
            && (outcome.headerIsWrong || outcome.suspect.count > mostSuspects)
    }
}

extension HTTPHead {
    /// The entity tag, if it is strong and can be sent back.
    fileprivate var strongETag: String? {
        guard let tag = self["etag"], tag.utf8.count >= 2, tag.utf8.count <= 256,
            tag.hasPrefix("\""), tag.hasSuffix("\""),
            tag.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { return nil }
        return tag
    }
}
