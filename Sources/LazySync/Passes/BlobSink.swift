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
    private static let mostQueued = 3
    /// A body with more wrong chunks than this is not a damaged blob but something else.
    private static let mostSuspects = 16

    private let store: ChunkStore
    private let asked: ClosedRange<UInt64>?
    private let arrival = Locked(Arrival())
    private let worker = DispatchQueue(label: "lazysync.blob", qos: .userInitiated)

    /// What the client's thread and the worker both touch.
    private struct Arrival {
        var outcome = Outcome()
        var block: [UInt8] = []
        /// Where in the sealed blob the block begins.
        var start: UInt64 = 0
        var queued = 0
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
        let (step, block) = arrival.withLock { arrival -> (HTTPSinkStep, Block?) in
            if arrival.mustStop { return (.stop, nil) }
            if arrival.queued >= Self.mostQueued {
                arrival.isPaused = true
                return (.pause, nil)
            }
            arrival.outcome.received += UInt64(bytes.count)
            arrival.block.append(copying: bytes)
            // A slow link fills no block: what came is stored as soon as nothing else is being.
            let isDue = arrival.queued == 0 || arrival.block.count >= Self.blockBytes
            return (.more, isDue ? takeBlock(&arrival) : nil)
        }
        if let block { submit(block) }
        return step
    }

    /// Waits until what came is written, and tells what it was; once, after the transfer ended.
    func finish() async -> Outcome {
        if let rest = arrival.withLock({ takeBlock(&$0) }) { submit(rest) }
        return await withCheckedContinuation { continuation in
            worker.async { [arrival] in
                continuation.resume(returning: arrival.withLock { $0.outcome })
            }
        }
    }

    /// Bytes that end where a chunk ends.
    private struct Block: Sendable {
        let start: UInt64
        let bytes: [UInt8]
        let count: Int
    }

    /// Takes the whole chunks that came, and leaves the rest for the next block.
    private func takeBlock(_ arrival: inout sending Arrival) -> Block? {
        let whole = store.geometry.wholeBytes(from: arrival.start, count: arrival.block.count)
        guard whole > 0 else { return nil }
        var rest: [UInt8] = []
        rest.reserveCapacity(Self.blockBytes + 512 << 10)
        rest.append(copying: arrival.block.span.extracting(whole...))
        let block = Block(start: arrival.start, bytes: arrival.block, count: whole)
        arrival.block = rest
        arrival.start += UInt64(whole)
        arrival.queued += 1
        return block
    }

    private func submit(_ block: Block) {
        worker.async { [self] in
            var next: Block? = block
            while let block = next { next = keep(block) }
        }
    }

    /// Stores a block, and answers what has come meanwhile if nothing else waits to be stored.
    private func keep(_ block: Block) -> Block? {
        // Behind a wrong header nothing counts, even if it would open.
        let isOver = arrival.withLock { arrival in
            arrival.outcome.headerIsWrong || arrival.outcome.fileError != nil
        }
        let problem =
            isOver
            ? ChunkStore.Problem()
            : store.take(block.bytes.span.extracting(..<block.count), at: block.start)
        let (paused, next) = arrival.withLock { arrival -> (HTTPTransferControl?, Block?) in
            arrival.outcome.suspect.formUnion(problem.suspect)
            if problem.headerIsWrong { arrival.outcome.headerIsWrong = true }
            if let error = problem.fileError { arrival.outcome.fileError = error }
            arrival.mustStop = Self.mustStop(arrival.outcome) || isMoreThanWanted(arrival.outcome)
            arrival.queued -= 1
            let control = arrival.isPaused ? arrival.control : nil
            arrival.isPaused = false
            return (control, arrival.queued == 0 ? takeBlock(&arrival) : nil)
        }
        paused?.resume()
        return next
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
