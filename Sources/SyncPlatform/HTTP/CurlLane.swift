/// Queues the transfers to one origin, so that none waits inside libcurl for a connection.
final class CurlLane {
    var waiting = CurlQueue()
    var activeCount = 0
    /// Whether the origin's last answer came over a connection that many can share.
    var multiplexes = false
}

/// Is a first-in-first-out queue whose front is cheap to take.
struct CurlQueue {
    private var items: [CurlTransfer?] = []
    private var front = 0

    var isEmpty: Bool { front == items.count }

    mutating func append(_ transfer: CurlTransfer) { items.append(transfer) }

    /// Takes the front; transfers that were cancelled in the queue are passed over.
    mutating func next() -> CurlTransfer? {
        while front < items.count {
            let transfer = items[front].take()
            front += 1
            if front == items.count || front >= 1024 {
                items.removeFirst(front)
                front = 0
            }
            if let transfer, transfer.phase == .waiting { return transfer }
        }
        return nil
    }
}
