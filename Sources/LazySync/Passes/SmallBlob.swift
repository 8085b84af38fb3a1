internal import SyncPlatform

/// Fetches a blob that fits in memory, and opens it there; for thumbnails.
struct SmallBlob {
    var remote: any Remote
    let policy: Backoff
    let clock: any WaitingClock

    /// A blob that was fetched: its plaintext, the tags that prove it, and the bytes that came.
    struct Fetched: Sendable {
        let plaintext: [UInt8]
        let tags: [UInt8]
        let received: Int
    }

    /// Fetches and verifies.
    ///
    /// - Throws: `RemoteFailure` after a bounded number of tries.
    func fetch(
        _ record: String, _ blob: SealedBlob, _ geometry: BlobGeometry
    ) async throws -> Fetched {
        var attempts = Attempts()
        var suspicion: UnavailableReason?
        while true {
            do throws(RemoteFailure) {
                return try await fetchOnce(record, blob, geometry)
            } catch {
                switch error.reason {
                // What a second answer shows again is a fact.
                case .corrupt, .wrongSize:
                    attempts.count(progress: false, connectionFailed: false)
                    guard suspicion != error.reason, error.next != .never,
                        !attempts.isOver(policy)
                    else { throw error.final() }
                    suspicion = error.reason
                default:
                    try await attempts.wait(after: error, policy, clock)
                }
            }
        }
    }

    private func fetchOnce(
        _ record: String, _ blob: SealedBlob, _ geometry: BlobGeometry
    ) async throws(RemoteFailure) -> Fetched {
        let body = JudgedBody(total: geometry.sealedLength)
        var failure: RemoteFailure?
        do throws(RemoteFailure) {
            let request = BlobRequest(record: record, range: nil, limit: geometry.sealedLength)
            _ = try await remote.blob(request, into: body)
        } catch {
            failure = error
        }
        do throws(RemoteFailure) {
            return try open(body, failure, blob, geometry)
        } catch {
            var found = error
            found.status = error.status ?? body.status
            throw found
        }
    }

    private func open(
        _ body: JudgedBody, _ failure: RemoteFailure?, _ blob: SealedBlob, _ geometry: BlobGeometry
    ) throws(RemoteFailure) -> Fetched {
        let sealed = body.take()
        switch body.refusal {
        case .anotherTotal?: throw RemoteFailure(.wrongSize, "another length").final()
        case .violation(let what)?: throw RemoteFailure(.serverError, what, code: "protocol")
        case nil: break
        }
        guard let answer = body.answer else {
            throw failure ?? RemoteFailure(.serverError, "no answer", code: "protocol")
        }
        if let stated = answer.statedEnd, stated != geometry.sealedLength {
            throw RemoteFailure(.wrongSize, "the answer has another length than the blob")
        }
        if let failure {
            throw failure.code == RemoteFailure.tooLong
                ? RemoteFailure(.wrongSize, "the answer is longer than the blob") : failure
        }
        guard UInt64(sealed.count) == geometry.sealedLength else {
            if answer.endIsCertain { throw RemoteFailure(.wrongSize, "another length") }
            throw .cut()
        }
        do throws(FormatError) {
            return Fetched(
                plaintext: try blob.open(sealed.span, of: geometry),
                tags: ThumbnailStore.tags(of: sealed.span, geometry), received: sealed.count)
        } catch {
            throw answer.isPage ? .page() : RemoteFailure(.corrupt, "failed authentication")
        }
    }
}

/// Collects a body whose head was judged first.
private final class JudgedBody: HTTPSink {
    private let total: UInt64
    private let state = Locked(State())

    private struct State {
        var answer: BlobAnswer?
        var refusal: BlobAnswer.Refusal?
        var status: Int?
        var bytes: [UInt8] = []
    }

    init(total: UInt64) {
        self.total = total
    }

    var answer: BlobAnswer? { state.withLock { $0.answer } }
    var refusal: BlobAnswer.Refusal? { state.withLock { $0.refusal } }
    var status: Int? { state.withLock { $0.status } }

    func begin(_ head: HTTPHead, _ control: HTTPTransferControl) -> HTTPSinkStep {
        state.withLock { state in
            state.status = head.status
            do throws(BlobAnswer.Refusal) {
                state.answer = try BlobAnswer.judge(head, asked: nil, total: total)
                state.bytes.reserveCapacity(Int(min(total, 1 << 20)))
                return .more
            } catch {
                state.refusal = error
                return .stop
            }
        }
    }

    func receive(_ bytes: Span<UInt8>) -> HTTPSinkStep {
        state.withLock { state in
            state.bytes.append(copying: bytes)
            return .more
        }
    }

    func take() -> [UInt8] {
        state.withLock { state in
            defer { state.bytes = [] }
            return state.bytes
        }
    }
}
