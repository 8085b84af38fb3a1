import Dispatch

/// Runs an actor's jobs one after the other on a serial queue of its own.
///
/// For actors whose work blocks: the cooperative pool has only as many threads as there are cores.
package final class QueueExecutor: SerialExecutor {
    private let queue: DispatchQueue

    /// Makes an executor whose thread carries `label` in a debugger.
    package init(label: String) {
        queue = DispatchQueue(label: label, qos: .userInitiated)
    }

    /// Puts a job at the end of the queue.
    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    /// Stops the process if it is not on the queue; what `assumeIsolated` asks.
    package func checkIsolated() {
        dispatchPrecondition(condition: .onQueue(queue))
    }
}
