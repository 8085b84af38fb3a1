import SyncPlatform
import Testing

/// Notes what it sees and does what the test says.
final class TestSink: HTTPSink {
    struct Seen {
        var heads: [HTTPHead] = []
        var bytes: [UInt8] = []
        var control: HTTPTransferControl?
    }

    typealias Begin = @Sendable (HTTPHead, HTTPTransferControl) -> HTTPSinkStep
    typealias Receive = @Sendable (_ takenBefore: Int) -> HTTPSinkStep

    private let seen = Locked(Seen())
    private let onBegin: Begin
    private let onReceive: Receive

    init(
        onBegin: @escaping Begin = { _, _ in .more }, onReceive: @escaping Receive = { _ in .more }
    ) {
        self.onBegin = onBegin
        self.onReceive = onReceive
    }

    func begin(_ head: HTTPHead, _ control: HTTPTransferControl) -> HTTPSinkStep {
        seen.withLock {
            $0.heads.append(head)
            $0.control = control
        }
        return onBegin(head, control)
    }

    func receive(_ bytes: Span<UInt8>) -> HTTPSinkStep {
        let step = onReceive(count)
        if case .more = step {
            seen.withLock { seen in
                bytes.withUnsafeBufferPointer { seen.bytes.append(contentsOf: $0) }
            }
        }
        return step
    }

    var heads: [HTTPHead] { seen.withLock { $0.heads } }
    var bytes: [UInt8] { seen.withLock { $0.bytes } }
    var text: String { String(decoding: bytes, as: UTF8.self) }
    var count: Int { seen.withLock { $0.bytes.count } }
    func resume() { seen.withLock { $0.control }?.resume() }
}

extension HTTPClient {
    /// The answer's body as text.
    func text(_ request: HTTPRequest) async throws(HTTPError) -> String {
        String(decoding: try await data(request).1, as: UTF8.self)
    }

    /// How a request fails; nil if it does not.
    func failure(of request: HTTPRequest) async -> HTTPError.Code? {
        do {
            _ = try await data(request)
            return nil
        } catch {
            return error.code
        }
    }
}

/// The code of the error that `body` throws.
func code(_ body: () throws(HTTPError) -> Void) -> HTTPError.Code? {
    do {
        try body()
        return nil
    } catch {
        return error.code
    }
}

/// A body with a pattern that shows a byte that is missing, doubled or moved.
///
/// Made of whole pieces, for a loop over bytes is slow under a sanitizer.
func pattern(_ count: Int) -> [UInt8] {
    let base = (0..<512).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 3) }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count + 256)
    for piece in 0..<(count + 255) / 256 {
        bytes.append(contentsOf: base[piece % 256..<piece % 256 + 256])
    }
    return Array(bytes.prefix(count))
}

func ok(_ body: String, _ headers: String = "") -> String {
    "HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\(headers)\r\n\(body)"
}
