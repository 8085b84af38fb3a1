import Dispatch

/// Runs work that blocks on a thread of its own.
///
/// The cooperative pool has only as many threads as there are cores, and a concurrent queue hardly
/// more; a serial queue gets a thread when it needs one.
package enum Blocking {
    /// Runs `body` to its end, whether or not the task is cancelled meanwhile.
    package static func run<Result: Sendable>(
        _ body: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue(label: "lazysync.blocking", qos: .userInitiated).async {
                continuation.resume(with: Swift.Result { try body() })
            }
        }
    }
}
