/// All that a fault does to one request, asked for by whoever does that step.
struct FaultActions: Sendable {
    private let actions: [FaultAction]

    init(_ actions: [FaultAction]) {
        self.actions = actions
    }

    /// The answer that comes without the request being handled.
    var replacement: Answer? {
        for action in actions {
            switch action {
            case .answer(let status, let headers, let body):
                return Answer(status, headers: headers, body: MemoryBytes(body))
            case .problem(let status, let code, let headers):
                var refusal = Refusal(status, code, "A fault of the test: \(code)")
                refusal.headers = headers
                return refusal.answer
            case .redirect(let address, let status):
                return Answer(status, headers: [Header("Location", address)])
            case .drop(_, handling: false):
                return Answer(500)
            default: break
            }
        }
        return nil
    }

    /// The redirect to a presigned address, if there is to be one.
    var redirect: FaultAction? {
        actions.first { if case .redirectToSigned = $0 { true } else { false } }
    }

    /// How a manifest page is changed.
    var pageEdit: PageEdit? {
        for case .page(let edit) in actions { return edit }
        return nil
    }

    /// Where a request's body ends before its time.
    var bodyCut: (at: Delivery.Point, ending: Delivery.Ending)? {
        for case .cutBody(let point, let ending) in actions { return (point, ending) }
        return nil
    }

    /// Where a request's body is read no further until a gate opens.
    var bodyStall: (at: Delivery.Point, gate: FaultGate)? {
        for case .stallBody(let point, let gate) in actions { return (point, gate) }
        return nil
    }

    /// What happens at the server besides.
    var effects: [FaultAction.Effect] {
        actions.compactMap { if case .then(let effect) = $0 { effect } else { nil } }
    }

    /// The blob as the fault has it.
    func stored(
        _ blob: BlobStore.Blob, in store: BlobStore
    ) throws(Refusal) -> BlobStore.Blob {
        var blob = blob
        for action in actions {
            switch action {
            case .flip(let offset): blob.bytes = FlippedBytes(base: blob.bytes, offset: offset)
            case .truncate(let length):
                blob.bytes = SlicedBytes(blob.bytes, offset: 0, count: length)
            case .serve(let name): blob.bytes = try store.blob(name).bytes
            default: break
            }
        }
        return blob
    }

    /// The range as the fault has it.
    func range(_ asked: ByteRange, size: UInt64) -> ByteRange {
        var range = asked
        for action in actions {
            switch (action, range) {
            case (.ignoreRange, _): range = .whole
            case (.shiftRange(let distance, _), .part(let first, let last)):
                let moved = { (value: UInt64) in
                    UInt64(min(max(0, Int64(value) + distance), Int64(size) - 1))
                }
                range = .part(first: moved(first), last: moved(last))
            case (.unaskedRange(let first, let last), .whole):
                range = .part(first: first, last: min(last, size - 1))
            default: break
            }
        }
        return range
    }

    /// The answer as the fault has it leave.
    func finish(_ answer: Answer) -> Answer {
        var answer = answer
        for action in actions {
            switch action {
            case .multipart: answer = FaultActions.multipart(answer)
            case .shiftRange(let distance, isTold: false):
                answer.setHeader("Content-Range", FaultActions.moved(answer, by: -distance))
            case .header(let name, let value) where name.lowercased() == "content-length":
                // MHD writes this one itself, so a wrong one is a matter of delivery.
                answer.delivery.framing =
                    value.flatMap { UInt64($0) }.map { .claimed($0) } ?? .untilClose
            case .header(let name, let value): answer.setHeader(name, value)
            case .status(let status): answer.status = status
            case .delay(let seconds): answer.delivery.delay = seconds
            case .hold(let gate): answer.delivery.hold = gate
            case .pace(let bytes, let seconds):
                answer.delivery.pace = .init(bytes: max(1, bytes), seconds: seconds)
            case .cut(let point, let ending): answer.delivery.cut = (point, ending)
            case .stall(let point, let gate): answer.delivery.stall = (point, gate)
            case .framing(let framing): answer.delivery.framing = framing
            case .drop(let ending, _): answer.delivery.drop = ending
            default: break
            }
        }
        return answer
    }

    /// The Content-Range of a part that was moved, told as if it had not been.
    private static func moved(_ answer: Answer, by distance: Int64) -> String? {
        let value = answer.headers.first { $0.isNamed("Content-Range") }?.value
        guard
            let numbers = value?.split(whereSeparator: { !$0.isNumber }).compactMap({ Int64($0) }),
            numbers.count == 3
        else { return value }
        return "bytes \(numbers[0] + distance)-\(numbers[1] + distance)/\(numbers[2])"
    }

    private static func multipart(_ answer: Answer) -> Answer {
        guard let range = answer.headers.first(where: { $0.isNamed("Content-Range") })?.value else {
            return answer
        }
        let boundary = "THIS_STRING_SEPARATES"
        var answer = answer
        answer.body = JoinedBytes(parts: [
            MemoryBytes(
                "--\(boundary)\r\nContent-Type: application/octet-stream\r\n"
                    + "Content-Range: \(range)\r\n\r\n"),
            answer.body,
            MemoryBytes("\r\n--\(boundary)--\r\n"),
        ])
        answer.setHeader("Content-Range", nil)
        answer.setHeader("Content-Type", "multipart/byteranges; boundary=\(boundary)")
        return answer
    }
}
