import Glibc

/// Holds a value that several threads share, and lets one of them at a time touch it.
///
/// It stands where `Synchronization.Mutex` would: that one is invisible to the thread sanitizer on
/// Linux. The lock is not recursive; the body must be short and must not block.
package final class Locked<Value>: @unchecked Sendable {
    // Sendable: `value` is only reached between lock and unlock, and `sending` keeps references to
    // what is inside from coming in or going out without being handed over.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private var value: Value

    /// Takes the value over.
    package init(_ value: consuming sending Value) {
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        let code = pthread_mutex_init(mutex, nil)
        precondition(code == 0, "a mutex could not be made")
        self.value = value
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Runs `body` with the value while no other thread has it.
    package func withLock<Result, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value)
    }
}
