import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// Reads that follow each other are read ahead of; reads that jump about are not.
@Suite(.timeLimit(.minutes(10))) struct ReadAheadTests {
    @Test func `reading on asks for more each time, up to 4 MiB, and for nothing twice`()
        async throws
    {
        try await withOneFile(320 * 65_536) { file in
            let reader = try await file.reader()
            for offset in stride(from: 0, to: file.content.count, by: 65_536) {
                try await file.reads(reader, at: offset, count: 65_536)
            }
            let sizes = file.askedChunks.map(\.count)
            #expect(sizes.prefix(6) == [1, 4, 8, 16, 32, 64] && sizes.max() == 64)
            #expect(sizes.count <= 10)
            file.expectNothingTwice()
            #expect(reader.requests == sizes.count)
            #expect(reader.bytesFetched == Int64(file.content.count))
        }
    }

    @Test func `small reads in one chunk cost one request and are no reason to hurry`()
        async throws
    {
        try await withOneFile(40 * 65_536) { file in
            let reader = try await file.reader()
            for offset in stride(from: 20 * 65_536, to: 21 * 65_536, by: 4_096) {
                try await file.reads(reader, at: offset, count: 4_096)
            }
            #expect(file.askedChunks == [20..<21])
            try await file.reads(reader, at: 21 * 65_536, count: 4_096)
            #expect(file.askedChunks.dropFirst().first == 21..<25)
        }
    }

    @Test func `reads that jump about bring what they need and nothing ahead`() async throws {
        try await withOneFile(100 * 65_536) { file in
            let reader = try await file.reader()
            for chunk in [50, 10, 90, 30, 31 + 20, 5] {
                try await file.reads(reader, at: chunk * 65_536 + 1, count: 65_536 - 1)
            }
            #expect(file.askedChunks.allSatisfy { $0.count == 1 })
        }
    }

    @Test func `a jump ends what was read ahead for nobody`() async throws {
        try await withOneFile(300 * 65_536) { file in
            let gate = FaultGate()
            file.server.faults.add(file.request, skip: 2, times: 1, .hold(gate))
            let reader = try await file.reader()
            for chunk in 0..<4 { try await file.reads(reader, at: chunk * 65_536, count: 65_536) }
            try await gate.reached()
            // The one before it has brought all of its chunks, and ends a moment later.
            try await until { await reader.readsAhead == [5..<13] }
            try await file.reads(reader, at: 250 * 65_536, count: 65_536)
            let left = await reader.readsAhead
            #expect(!left.contains(5..<13))
            gate.open()
            #expect(file.askedChunks.last == 250..<251)
        }
    }

    @Test func `a reader that goes away ends what it read ahead`() async throws {
        try await withOneFile(300 * 65_536) { file in
            let gate = FaultGate()
            file.server.faults.add(file.request, skip: 2, times: 1, .hold(gate))
            var reader: AttachmentReader? = try await file.reader()
            for chunk in 0..<4 {
                try await file.reads(known(reader), at: chunk * 65_536, count: 65_536)
            }
            try await gate.reached()
            let fetch = WeakFetch(await known(reader).ahead.last)
            reader = nil
            try await until { fetch.isOver }
            gate.open()
        }
    }

    private struct WeakFetch {
        weak var fetch: RangeFetch?
        init(_ fetch: RangeFetch?) { self.fetch = fetch }
        var isOver: Bool { fetch?.isOpen != true }
    }

    @Test func `what is read ahead waits behind all else until a read gets there`() async throws {
        try await withOneFile(
            100 * 65_536,
            // Nothing that nobody waits for is ever let in.
            configure: { $0.limits = .init(total: 4, perHost: 4, slots: [4, 4, 4, 0]) }
        ) { file in
            let reader = try await file.reader()
            for chunk in 0..<4 { try await file.reads(reader, at: chunk * 65_536, count: 65_536) }
            try await file.engine.hasWaiting(1)
            #expect(await file.engine.opened.lane.queue.mostUrgent == .background)
            #expect(file.askedChunks == [0..<1, 1..<5])
            for chunk in 4..<6 { try await file.reads(reader, at: chunk * 65_536, count: 65_536) }
            #expect(file.askedChunks == [0..<1, 1..<5, 5..<13])
        }
    }

    @Test func `what is read ahead and fails says nothing until a read needs it`() async throws {
        try await withOneFile(100 * 65_536) { file in
            file.server.faults.add(file.request, skip: 2, .problem(403, code: "not-entitled"))
            let reader = try await file.reader()
            for chunk in 0..<4 { try await file.reads(reader, at: chunk * 65_536, count: 65_536) }
            try await until { await reader.readsAhead.isEmpty && file.requests.count == 3 }
            let found = try await file.engine.explain(file.key)
            #expect(found.attachment.state == .remote && found.evidence.status == nil)
            try await file.reads(reader, at: 4 * 65_536, count: 65_536)
            #expect(try await file.state == .remote)
            // Now somebody asks: it is asked again, and counts.
            try await file.readFails(
                reader, at: 5 * 65_536, count: 65_536, .unavailable(.notEntitled))
            #expect(try await file.state == .unavailable(.notEntitled))
            #expect(file.askedChunks.last?.lowerBound == 5)
            file.server.faults.clear()
            try await file.reads(reader, at: 5 * 65_536, count: 65_536)
            try await until { try await file.state == .remote }
        }
    }

    @Test func `a failed read-ahead is the failure of the read that waits for it`() async throws {
        try await withOneFile(100 * 65_536) { file in
            let gate = FaultGate()
            file.server.faults.add(
                file.request, skip: 2, times: 1, .hold(gate), .problem(403, code: "not-entitled"))
            let reader = try await file.reader()
            for chunk in 0..<5 { try await file.reads(reader, at: chunk * 65_536, count: 65_536) }
            try await gate.reached()
            let ahead = try #require(await reader.ahead.last)
            let read = Task { try await reader.read(at: 5 * 65_536, count: 65_536) }
            try await until { ahead.isNeeded }
            gate.open()
            await #expect(throws: SyncError.self) { try await read.value }
            #expect(try await file.state == .unavailable(.notEntitled))
            #expect(file.requests.count == 3)
        }
    }

    @Test func `a part that is read to its end is asked for at once, and nothing behind it`()
        async throws
    {
        try await withOneFile(300 * 65_536) { file in
            let written = Written()
            let bytes = Int64(10 * 65_536 + 5)..<Int64(40 * 65_536 + 9)
            let read = try await file.engine.stream(file.key, bytes) { try written.take($0) }
            #expect(
                Whole(written.bytes)
                    == Whole(file.content[Int(bytes.lowerBound)..<Int(bytes.upperBound)]))
            #expect(file.askedChunks == [10..<41])
            #expect(read.requests == 1 && read.bytesFetched == 31 * 65_536 && read.path.isEmpty)
            // What is beyond the end is left out.
            let rest = Written()
            let size = Int64(file.content.count)
            _ = try await file.engine.stream(file.key, size - 3..<Int64.max) { try rest.take($0) }
            #expect(rest.bytes == Array(file.content.suffix(3)))
        }
    }

    @Test func `a pattern is as long as its reads follow each other`() {
        var pattern = ReadPattern()
        func reaches(_ count: Int) -> [Int] {
            (0..<count).map { _ in
                defer { pattern.asked() }
                return pattern.nextReach
            }
        }
        pattern.note(0..<100)
        #expect(!pattern.isSequential && reaches(2) == [1, 1])
        pattern.note(100..<200)
        #expect(pattern.isSequential && pattern.nextReach == pattern.nextReach)
        #expect(reaches(7) == [4, 8, 16, 32, 64, 64, 64])
        pattern.note(100..<200)
        #expect(!pattern.isSequential && pattern.reach == 0 && pattern.nextReach == 1)
        pattern.note(500..<600, isCertain: true)
        #expect(pattern.isSequential && pattern.nextReach == 64)
    }
}
