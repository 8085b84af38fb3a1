/// Says how a transfer goes on.
package enum HTTPSinkStep: Sendable {
    /// The bytes were taken; on with it.
    case more
    /// Nothing more until ``HTTPTransferControl/resume()``.
    ///
    /// Returned by `receive`, the bytes count as not taken and come again, perhaps cut differently.
    case pause
    /// Ends the transfer with `HTTPError.refused`.
    case stop
}

/// Takes an answer as it comes in.
///
/// All calls come from the client's thread, in order, and never after the transfer has ended. They
/// must not block: every other transfer waits meanwhile.
package protocol HTTPSink: AnyObject, Sendable {
    /// Sees the head, once, before the first byte of the body and also when there is none.
    func begin(_ head: HTTPHead, _ control: HTTPTransferControl) -> HTTPSinkStep
    /// Takes some bytes of the body.
    func receive(_ bytes: Span<UInt8>) -> HTTPSinkStep
}

/// Steers one transfer from any thread; without effect once it has ended.
package struct HTTPTransferControl: Sendable {
    let thread: CurlThread
    let transfer: CurlTransfer

    /// Goes on after a pause.
    ///
    /// Never lost if it follows the decision to pause, even if `receive` has not returned yet.
    package func resume() { thread.post(.resume(transfer)) }

    /// Ends the transfer with `HTTPError.cancelled`.
    package func cancel() { thread.post(.cancel(transfer)) }
}

/// Collects a body in memory.
package final class BufferSink: HTTPSink {
    private let limit: Int
    private let collected = Locked<[UInt8]>([])

    /// Makes a sink that stops the transfer when more than `limit` bytes come.
    package init(limit: Int) { self.limit = limit }

    package func begin(_ head: HTTPHead, _ control: HTTPTransferControl) -> HTTPSinkStep {
        // The length is only the server's word: worth one allocation, not a gigabyte.
        let expected = Int(clamping: head.contentLength ?? 0)
        collected.withLock { $0.reserveCapacity(min(expected, limit, 1 << 20)) }
        return .more
    }

    package func receive(_ bytes: Span<UInt8>) -> HTTPSinkStep {
        collected.withLock { collected in
            guard bytes.count <= limit - collected.count else { return .stop }
            bytes.withUnsafeBufferPointer { collected.append(contentsOf: $0) }
            return .more
        }
    }

    /// Hands over what was collected and starts anew.
    package func take() -> [UInt8] {
        collected.withLock { collected in
            defer { collected = [] }
            return collected
        }
    }
}
