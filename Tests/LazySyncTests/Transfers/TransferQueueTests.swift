import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// Who goes next, and that nobody is forgotten or goes twice.
@Suite(.timeLimit(.minutes(10))) struct TransferQueueTests {
    typealias Queue = TransferQueue

    /// One at a time, whatever its priority.
    private static let single = Queue.Limits(total: 1, perHost: 1, slots: [1, 1, 1, 1])

    /// Those who wait in a queue; each gives its slot back as soon as it has noted its name.
    private final class Line: Sendable {
        let queue: Queue
        let names = Watched<[String]>([])

        init(_ queue: Queue) { self.queue = queue }

        /// Puts one in the line, and answers when it stands there.
        @discardableResult
        func add(_ name: String, _ ticket: Queue.Ticket) async -> Task<Void, any Error> {
            let before = await queue.load.waiting
            let task = Task {
                let slot = try await queue.enter(ticket)
                names.change { $0.append(name) }
                await queue.leave(slot)
            }
            while await queue.load.waiting == before {
                // Leaves the processor to the one that is looked at.
                try? await Task.sleep(for: .milliseconds(1))
            }
            return task
        }

        func served(_ count: Int) async throws -> [String] {
            try await names.wait { $0.count >= count }
            return names.value
        }
    }

    @Test func `the most urgent goes first, and of equals who came first`() async throws {
        let queue = Queue(limits: Self.single)
        let first = try await queue.enter(queue.ticket(.background))
        let line = Line(queue)
        let wishes: [(String, Queue.Priority)] = [
            ("background", .background), ("thumbnail", .thumbnail), ("opened", .opened),
            ("visible", .visible), ("thumbnail 2", .thumbnail), ("opened 2", .opened),
        ]
        for (name, priority) in wishes {
            await line.add(name, queue.ticket(priority))
        }
        await queue.leave(first)
        #expect(
            try await line.served(6) == [
                "opened", "opened 2", "visible", "thumbnail", "thumbnail 2", "background",
            ])
    }

    @Test func `each priority has slots of its own, so that no kind holds up another`()
        async throws
    {
        let queue = Queue()
        var slots: [Queue.Slot] = []
        for _ in 0..<4 { slots.append(try await queue.enter(queue.ticket(.background))) }
        let line = Line(queue)
        await line.add("background", queue.ticket(.background))
        for _ in 0..<16 { slots.append(try await queue.enter(queue.ticket(.thumbnail))) }
        await line.add("thumbnail", queue.ticket(.thumbnail))
        // None of these waits.
        for priority in [Queue.Priority.visible, .opened] {
            for _ in 0..<4 { slots.append(try await queue.enter(queue.ticket(priority))) }
        }
        #expect(await queue.load == .init(waiting: 2, running: 28))
        for slot in slots { await queue.leave(slot) }
        #expect(Set(try await line.served(2)) == ["background", "thumbnail"])
        #expect(await queue.load == .init())
    }

    @Test func `a host that is full does not hold up another`() async throws {
        let queue = Queue(limits: .init(total: 8, perHost: 2, slots: [8, 8, 8, 8]))
        let first = try await queue.enter(queue.ticket(.opened, host: "a"))
        let second = try await queue.enter(queue.ticket(.opened, host: "a"))
        let line = Line(queue)
        await line.add("a", queue.ticket(.opened, host: "a"))
        let other = try await queue.enter(queue.ticket(.background, host: "b"))
        #expect(line.names.value.isEmpty)
        await queue.leave(first)
        #expect(try await line.served(1) == ["a"])
        await queue.leave(second)
        await queue.leave(other)
        #expect(await queue.load == .init())
    }

    @Test func `one that is raised goes before those who were before it`() async throws {
        let queue = Queue(limits: Self.single)
        let first = try await queue.enter(queue.ticket(.opened))
        let line = Line(queue)
        await line.add("one", queue.ticket(.thumbnail))
        let ticket = queue.ticket(.thumbnail)
        await line.add("two", ticket)
        await queue.raise(ticket, to: .visible)
        // Nothing makes it less urgent again.
        await queue.raise(ticket, to: .background)
        await queue.leave(first)
        #expect(try await line.served(2) == ["two", "one"])
    }

    @Test func `raising one can give it a slot at once`() async throws {
        let queue = Queue(limits: .init(total: 2, perHost: 2, slots: [1, 1, 1, 1]))
        let first = try await queue.enter(queue.ticket(.background))
        let line = Line(queue)
        let ticket = queue.ticket(.background)
        await line.add("raised", ticket)
        await queue.raise(ticket, to: .opened)
        #expect(try await line.served(1) == ["raised"])
        await queue.leave(first)
    }

    @Test func `who is cancelled while waiting is gone, and the others stay`() async throws {
        let queue = Queue(limits: Self.single)
        let first = try await queue.enter(queue.ticket(.opened))
        let line = Line(queue)
        await line.add("one", queue.ticket(.opened))
        let two = await line.add("two", queue.ticket(.opened))
        await line.add("three", queue.ticket(.opened))
        two.cancel()
        await #expect(throws: CancellationError.self) { try await two.value }
        #expect(await queue.load == .init(waiting: 2, running: 1))
        await queue.leave(first)
        #expect(try await line.served(2) == ["one", "three"])
        #expect(await queue.load == .init())
    }

    @Test func `while it is paused nothing begins, and what runs is told to stop`() async throws {
        let queue = Queue()
        let running = try await queue.enter(queue.ticket(.opened))
        let isStopped = Watched(false)
        await queue.onPause(running) { isStopped.change { $0 = true } }
        await queue.pause()
        #expect(isStopped.value)
        let line = Line(queue)
        await line.add("one", queue.ticket(.opened))
        await queue.leave(running)
        await line.add("two", queue.ticket(.opened))
        #expect(await queue.load == .init(waiting: 2, running: 0))
        await queue.resume()
        #expect(try await line.served(2) == ["one", "two"])
    }

    @Test func `who says too late how it is stopped is stopped at once`() async throws {
        let queue = Queue()
        let running = try await queue.enter(queue.ticket(.opened))
        await queue.pause()
        let isStopped = Watched(false)
        await queue.onPause(running) { isStopped.change { $0 = true } }
        #expect(isStopped.value)
        await queue.leave(running)
    }

    @Test func `a queue that is closed sends all away, also while it is paused`() async throws {
        let queue = Queue()
        await queue.pause()
        let line = Line(queue)
        let one = await line.add("one", queue.ticket(.opened))
        await queue.close()
        await #expect(throws: CancellationError.self) { try await one.value }
        await #expect(throws: CancellationError.self) {
            try await queue.enter(queue.ticket(.opened))
        }
        #expect(await queue.load == .init())
    }

    @Test(arguments: 0..<20)
    func `no limit is passed and no slot is lost, whoever is cancelled or fails`(
        seed: Int
    ) async throws {
        let random = SeededRandom(seed: UInt64(seed))
        let limits = Queue.Limits(total: 5, perHost: 3, slots: [4, 2, 3, 1])
        let queue = Queue(limits: limits)
        let held = Watched<[[String]]>([[], [], [], []])
        let served = Watched(0)
        var tasks: [(task: Task<Void, any Error>, ticket: Queue.Ticket)] = []
        for _ in 0..<200 {
            let priority = Queue.Priority.allCases[random.number(below: 4)]
            let host = "host \(random.number(below: 3))"
            let ticket = queue.ticket(priority, host: host)
            let (turns, fails) = (random.number(below: 5), random.number(below: 4) == 0)
            let task = Task {
                let slot = try await queue.enter(ticket)
                // It counts as what it was when it was let in, and may have been raised since.
                held.change { $0[slot.priority.rawValue].append(host) }
                for _ in 0..<turns { await Task.yield() }
                held.change { held in
                    let index = held[slot.priority.rawValue].firstIndex(of: host)
                    held[slot.priority.rawValue].remove(at: known(index))
                }
                served.change { $0 += 1 }
                await queue.leave(slot)
                if fails { throw SyncError(.cancelled, "a test", "it fails") }
            }
            tasks.append((task, ticket))
            switch random.number(below: 6) {
            case 0: tasks[random.number(below: tasks.count)].task.cancel()
            case 1:
                let other = tasks[random.number(below: tasks.count)].ticket
                let higher = Queue.Priority.allCases[random.number(below: 4)]
                await queue.raise(other, to: higher)
            case 2: await Task.yield()
            default: break
            }
            if random.number(below: 20) == 0 {
                await queue.pause()
                await Task.yield()
                await queue.resume()
            }
            let now = held.value
            for (priority, hosts) in now.enumerated() {
                #expect(hosts.count <= limits.slots[priority], "seed \(seed)")
            }
            let hosts = now.flatMap { $0 }
            #expect(hosts.count <= limits.total, "seed \(seed)")
            for host in Set(hosts) {
                #expect(hosts.count { $0 == host } <= limits.perHost, "seed \(seed)")
            }
        }
        for (task, _) in tasks { _ = await task.result }
        #expect(await queue.load == .init(), "seed \(seed)")
        #expect(held.value.allSatisfy { $0.isEmpty }, "seed \(seed)")
        #expect(served.value > 50, "seed \(seed)")
    }
}
