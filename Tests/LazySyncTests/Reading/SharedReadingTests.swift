import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// Many readers of one blob, and readers beside those who bring all of it.
@Suite(.timeLimit(.minutes(10))) struct SharedReadingTests {
    @Test func `sixteen readers of one chunk share one request`() async throws {
        try await withOneFile { file in
            let gate = FaultGate()
            file.server.faults.add(file.request, times: 1, .hold(gate))
            var reads: [Task<[UInt8], any Error>] = []
            for number in 0..<16 {
                let reader = try await file.reader()
                reads.append(
                    Task { try await reader.read(at: Int64(200_000 + number), count: 1_000) })
            }
            try await gate.reached()
            gate.open()
            for (number, read) in reads.enumerated() {
                let bytes = try await read.value
                #expect(bytes == Array(file.content[200_000 + number..<201_000 + number]))
            }
            #expect(file.askedChunks == [3..<4])
        }
    }

    @Test func `a reader that is cancelled leaves the others alone, the last one ends it`()
        async throws
    {
        try await withOneFile { file in
            let gate = FaultGate()
            file.server.faults.add(file.request, times: 1, .hold(gate))
            let readers = [try await file.reader(), try await file.reader()]
            let reads = readers.map { reader in
                Task { try await reader.read(at: 200_000, count: 1_000) }
            }
            try await gate.reached()
            // Each is known by what it holds.
            try await until {
                let (one, other) = (await readers[0].readsAhead, await readers[1].readsAhead)
                return one == [3..<4] && other == [3..<4]
            }
            let fetch = try #require(await readers[0].ahead.first)
            reads[0].cancel()
            let error = await #expect(throws: SyncError.self) { try await reads[0].value }
            #expect(error?.code == .cancelled && fetch.isOpen)
            gate.open()
            let bytes = try await reads[1].value
            #expect(bytes == Array(file.content[200_000..<201_000]))
            #expect(file.requests.count == 1)

            let second = FaultGate()
            file.server.faults.add(file.request, times: 1, .hold(second))
            let last = Task { try await readers[0].read(at: 500_000, count: 1_000) }
            try await second.reached()
            last.cancel()
            let end = await #expect(throws: SyncError.self) { try await last.value }
            #expect(end?.code == .cancelled)
            second.open()
            // Nothing is noted, and it is asked for again.
            #expect(try await file.state == .remote)
            try await file.reads(readers[0], at: 500_000, count: 1_000)
        }
    }

    @Test func `a reader waits for a whole transfer that is near, and goes past one that is far`()
        async throws
    {
        try await withOneFile(200 * 65_536) { file in
            let gate = FaultGate()
            file.server.faults.add(
                .init(method: "GET", path: "/v1/blobs/\(file.record)", range: false), times: 1,
                .stall(at: file.fraction(chunks: 20), gate))
            let (engine, key) = (file.engine, file.key)
            let whole = Task { try await engine.materialize(key) }
            try await gate.reached()
            // What the whole has brought is read from the disk.
            try await until { try file.kept().count >= 16 }
            let reader = try await file.reader()
            try await file.reads(reader, at: 3 * 65_536, count: 100_000)
            #expect(reader.requests == 0)
            let near = try await file.reader()
            let read = Task { try await near.read(at: 40 * 65_536, count: 100_000) }
            try await file.reads(reader, at: 150 * 65_536, count: 100)
            #expect(file.askedChunks.last == 150..<151 && file.requests.count == 2)
            gate.open()
            let bytes = try await read.value
            #expect(Whole(bytes) == Whole(file.content[40 * 65_536..<40 * 65_536 + 100_000]))
            _ = try await whole.value
            #expect(near.requests == 0 && file.requests.count == 2)
            try await file.open(requests: 0)
        }
    }

    @Test func `who waited for a whole transfer that ends asks by itself`() async throws {
        try await withOneFile(200 * 65_536) { file in
            let gate = FaultGate()
            file.server.faults.add(
                .init(method: "GET", path: "/v1/blobs/\(file.record)", range: false), times: 1,
                .stall(at: file.fraction(chunks: 20), gate))
            let (engine, key) = (file.engine, file.key)
            let whole = Task { try await engine.materialize(key) }
            try await gate.reached()
            try await until { try file.kept().count >= 16 }
            let reader = try await file.reader()
            let read = Task { try await reader.read(at: 40 * 65_536, count: 100) }
            whole.cancel()
            let bytes = try await read.value
            #expect(bytes == Array(file.content[40 * 65_536..<40 * 65_536 + 100]))
            #expect(file.askedChunks.last == 40..<41)
            gate.open()
            _ = try? await whole.value
            try await until { try await file.state == .remote }
        }
    }

    @Test func `two programs read one file, and what one brought the other has`() async throws {
        try await withOneFile(40 * 65_536) { file in
            let other = try await file.home.open()
            let (one, two) = (try await file.reader(), try await file.reader(other))
            // Not in their order: who reads on reads ahead, each program for itself.
            for chunk in (0..<20).reversed() {
                try await file.reads(
                    chunk % 2 == 0 ? one : two, at: chunk * 65_536, count: 2 * 65_536)
            }
            file.expectNothingTwice()
            // Both read on while one of them brings all of it and gives the file its name.
            let key = file.key
            async let whole = other.materialize(key)
            for chunk in 20..<38 {
                try await file.reads(one, at: chunk * 65_536, count: 65_536)
                try await file.reads(two, at: chunk * 65_536, count: 65_536)
            }
            let opened = try await whole
            #expect(try Whole(at: opened.path) == Whole(file.content))
            for reader in [one, two] { try await file.reads(reader, at: 0, count: .max) }
            try file.checkCache()
            try await file.open(requests: 0)
            #expect(try await file.state == .here)
        }
    }

    @Test func `reading goes on while the file gets its name, from its own descriptor or anew`()
        async throws
    {
        try await withOneFile(40 * 65_536) { file in
            let reader = try await file.reader()
            try await file.reads(reader, at: 10 * 65_536, count: 100)
            try await file.open()
            let before = file.requests.count
            try await file.reads(reader, at: 0, count: .max)
            #expect(file.requests.count == before)
            // The whole asked for all but the chunk that was here.
            #expect(file.askedChunks == [10..<11, 0..<10, 11..<40])
            // Not a byte was written after the file was marked.
            try await file.open(requests: 0)
        }
    }

    @Test func `a range beside a whole is written once and both are right`() async throws {
        // It is held while all of the whole comes.
        try await withOneFile(100 * 65_536, configure: { $0.stallSeconds = 300 }) { file in
            let gate = FaultGate()
            file.server.faults.add(
                .init(method: "GET", path: "/v1/blobs/\(file.record)", range: false), times: 1,
                .stall(at: file.fraction(chunks: 20), gate))
            let (engine, key) = (file.engine, file.key)
            let whole = Task { try await engine.materialize(key) }
            try await gate.reached()
            let reader = try await file.reader()
            let hold = FaultGate()
            file.server.faults.add(
                .init(method: "GET", path: "/v1/blobs/\(file.record)", range: true), times: 1,
                .hold(hold))
            let read = Task { try await reader.read(at: 90 * 65_536, count: 2 * 65_536) }
            try await hold.reached()
            gate.open()
            let opened = try await whole.value
            // The range comes when the file has its name already: it must not touch it.
            let facts = try FileSystem.facts(opened.path)
            hold.open()
            let bytes = try await read.value
            #expect(Whole(bytes) == Whole(file.content[90 * 65_536..<92 * 65_536]))
            #expect(try FileSystem.facts(opened.path) == facts)
            try await file.open(requests: 0)
        }
    }
}
