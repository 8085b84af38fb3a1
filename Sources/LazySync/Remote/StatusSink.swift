internal import SyncPlatform

/// Passes the answers that were asked for on, and keeps the body of any other.
///
/// So an error page never reaches what takes content.
final class StatusSink: HTTPSink {
    private let accepted: Set<Int>
    private let sink: any HTTPSink
    private let refused = Locked<(head: HTTPHead, body: [UInt8])?>(nil)

    init(accepts statuses: Set<Int>, sink: any HTTPSink) {
        accepted = statuses
        self.sink = sink
    }

    func begin(_ head: HTTPHead, _ control: HTTPTransferControl) -> HTTPSinkStep {
        if accepted.contains(head.status) { return sink.begin(head, control) }
        refused.withLock { $0 = (head, []) }
        return .more
    }

    func receive(_ bytes: Span<UInt8>) -> HTTPSinkStep {
        let isRefused = refused.withLock { refused -> HTTPSinkStep? in
            guard let body = refused?.body else { return nil }
            guard body.count + bytes.count <= HTTPRequest.errorLimit else { return .stop }
            refused?.body.append(copying: bytes)
            return .more
        }
        return isRefused ?? sink.receive(bytes)
    }

    /// The answer that was not asked for, if it was one.
    var problem: (head: HTTPHead, body: [UInt8])? { refused.withLock { $0 } }
}

extension HTTPClient {
    /// Sends, and gives the sink only answers with these statuses.
    ///
    /// - Throws: What any other answer means, or what kept an answer from coming.
    func send(
        _ request: HTTPRequest, into sink: any HTTPSink, accepts statuses: Set<Int>
    ) async throws(RemoteFailure) -> HTTPHead {
        let sorting = StatusSink(accepts: statuses, sink: sink)
        let failure: RemoteFailure
        do throws(HTTPError) {
            let head = try await send(request, into: sorting)
            if sorting.problem == nil { return head }
            failure = RemoteFailure(.serverError, "status \(head.status)")
        } catch {
            failure = RemoteFailure(error)
        }
        guard let problem = sorting.problem else { throw failure }
        // A HEAD counts by its status, but not if it is about a page for people.
        if request.method == .head, problem.head.status >= 400,
            problem.head["content-type"]?.lowercased().hasPrefix("text/html") == true
        {
            throw RemoteFailure(
                .serverError, "the server answered \(problem.head.status) with a page",
                status: problem.head.status)
        }
        throw Problem.failure(
            problem.head, body: problem.body, hadToken: request.headers["authorization"] != nil,
            isHead: request.method == .head)
    }

    /// Sends and reads an answer of a few members.
    func object(
        _ request: HTTPRequest, accepts status: Int
    ) async throws(RemoteFailure) -> JSONObject {
        let body = BufferSink(limit: 1 << 20)
        _ = try await send(request, into: body, accepts: [status])
        return try RemoteFailure.mapping { try JSONObject(body.take()) }
    }
}

extension RemoteFailure {
    /// Turns what the layers below throw while a call is made or read into its failure.
    static func mapping<Result>(_ body: () throws -> Result) throws(RemoteFailure) -> Result {
        do {
            return try body()
        } catch {
            switch error {
            case let error as RemoteFailure: throw error
            case let error as HTTPError: throw RemoteFailure(error)
            case let error as MalformedJSON:
                throw RemoteFailure(
                    .serverError, "the answer is malformed: \(error.detail)", code: "protocol")
            default: throw RemoteFailure(.serverError, "\(error)")
            }
        }
    }
}
