import CMicroHTTPD
import Glibc

/// Connections that wait: for a time, a gate, a new head.
///
/// They are suspended, so that thousands of them need no thread but the one here. Whoever is woken
/// looks again whether its wait is over, and may park anew.
// The pointers are used under the mutex; a parked connection lives until it is resumed.
final class Parking: @unchecked Sendable {
    private struct Ticket {
        /// Seconds on the monotonic clock; nil waits for `wakeAll`.
        let until: Double?
        let socket: Int32
    }

    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var tickets: [OpaquePointer: Ticket] = [:]
    private var abandoned: Set<OpaquePointer> = []
    private var isClosed = false
    /// Counts the calls of `wakeAll`.
    private var wakes = 0
    private var thread = pthread_t()

    init() {
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        // `close` joins the thread, so it never outlives this object.
        pthread_create(
            &thread, nil,
            { context in
                if let context {
                    Unmanaged<Parking>.fromOpaque(context).takeUnretainedValue().run()
                }
                return nil
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    /// Seconds on the clock that counts here.
    static var now: Double {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// What to take before looking whether a wait is over, and to give to `park` if it is not.
    var moment: Int { locked { wakes } }

    /// Suspends a connection; false when the server is stopping.
    ///
    /// A `wakeAll` since `moment` wakes it at once: what it waited for may have come between its
    /// look and now.
    func park(_ connection: OpaquePointer, until: Double? = nil, since moment: Int) -> Bool {
        locked {
            if isClosed { return false }
            MHD_suspend_connection(connection)
            let until = moment == wakes ? until : 0
            tickets[connection] = Ticket(until: until, socket: MHD_connection_socket(connection))
            pthread_cond_signal(condition)
            return true
        }
    }

    /// Lets all look again.
    func wakeAll() {
        locked {
            wakes += 1
            for connection in tickets.keys { MHD_resume_connection(connection) }
            tickets = [:]
        }
    }

    /// Whether the client of a connection that was parked has gone; asked once.
    func takeAbandoned(_ connection: OpaquePointer) -> Bool {
        locked { abandoned.remove(connection) != nil }
    }

    /// Wakes all, for good: nobody can park any more.
    func close() {
        locked {
            isClosed = true
            for connection in tickets.keys { MHD_resume_connection(connection) }
            tickets = [:]
            pthread_cond_signal(condition)
        }
        pthread_join(thread, nil)
    }

    private func locked<Result>(_ body: () -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body()
    }

    private func run() {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        var nextSweep = 0.0
        while !isClosed {
            let now = Parking.now
            if now >= nextSweep {
                abandonClosed()
                nextSweep = now + 0.1
            }
            var next = tickets.isEmpty ? Double.infinity : nextSweep
            for (connection, ticket) in tickets {
                guard let until = ticket.until else { continue }
                if until <= now {
                    tickets[connection] = nil
                    MHD_resume_connection(connection)
                } else {
                    next = min(next, until)
                }
            }
            if next == .infinity {
                pthread_cond_wait(condition, mutex)
            } else {
                var time = timespec(
                    tv_sec: Int(next), tv_nsec: Int((next - next.rounded(.down)) * 1e9))
                pthread_cond_timedwait(condition, mutex, &time)
            }
        }
    }

    /// POLLRDHUP, which Swift does not see without _GNU_SOURCE.
    private let closedByPeer: Int16 = 0x2000

    /// Wakes those whose client has gone: nobody else watches a suspended connection.
    private func abandonClosed() {
        let waiting = Array(tickets)
        var sockets = waiting.map { pollfd(fd: $0.value.socket, events: closedByPeer, revents: 0) }
        guard poll(&sockets, nfds_t(sockets.count), 0) > 0 else { return }
        for (socket, (connection, _)) in zip(sockets, waiting) where socket.revents != 0 {
            tickets[connection] = nil
            abandoned.insert(connection)
            MHD_resume_connection(connection)
        }
    }
}
