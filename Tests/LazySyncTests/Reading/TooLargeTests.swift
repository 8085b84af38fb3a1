import Dispatch
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// A blob that the cache has no room for is read all the same, and nothing is written.
@Suite(.timeLimit(.minutes(10))) struct TooLargeTests {
    private func withoutRoom(
        _ reason: UnavailableReason = .tooLarge, after bytes: Int64 = 0, size: Int = 200 * 65_536,
        _ body: (OneFile) async throws -> Void
    ) async throws {
        let left = Locked(bytes)
        try await withOneFile(
            size,
            configure: { configuration in
                configuration.readingRoom = ReadingRoom(
                    couldHold: { _, _ throws(SyncError) in true },
                    reserve: { _, _, wanted throws(SyncError) in
                        let fits = left.withLock { left in
                            left -= wanted
                            return left >= 0
                        }
                        if !fits { throw SyncError(.unavailable(reason), "make room", "no room") }
                    })
            }, body)
    }

    private func expectNothingWritten(_ file: OneFile) throws {
        #expect(try FileSystem.facts(file.place.folder) == nil, "nothing lies in the cache")
    }

    @Test(arguments: [UnavailableReason.tooLarge, .diskFull])
    func `it is read at any place, each chunk verified, and nothing is kept`(
        reason: UnavailableReason
    ) async throws {
        try await withoutRoom(reason) { file in
            let seed = UInt64.random(in: 0...999_999)
            var random = SeededGenerator(seed: seed)
            let reader = try await file.reader()
            for _ in 0..<20 {
                let offset = Int.random(in: 0..<file.content.count, using: &random)
                try await file.reads(reader, at: offset, count: 65_536)
            }
            #expect(file.askedChunks.allSatisfy { $0.count <= 2 }, "seed \(seed)")
            try expectNothingWritten(file)
            #expect(try await file.state == .remote)
        }
    }

    @Test func `reading on is read ahead of, within 4 MiB of memory`() async throws {
        try await withoutRoom { file in
            let reader = try await file.reader()
            for offset in stride(from: 0, to: file.content.count, by: 100_000) {
                try await file.reads(reader, at: offset, count: 100_000)
                #expect(await reader.windowBytes <= 4 << 20)
            }
            file.expectNothingTwice()
            #expect(file.requests.count <= 12)
            try expectNothingWritten(file)
        }
    }

    @Test func `a chunk that is wrong is not handed out`() async throws {
        try await withoutRoom { file in
            file.server.faults.add(
                file.request, .flip(at: file.geometry.sealedRange(7).lowerBound))
            let reader = try await file.reader()
            try await file.readFails(
                reader, at: 6 * 65_536, count: 200_000, .unavailable(.corrupt))
            file.server.faults.clear()
            try await file.reads(reader, at: 6 * 65_536, count: 200_000)
        }
    }

    @Test func `it is streamed from the start to the end, and is not unavailable`() async throws {
        try await withoutRoom { file in
            let written = Written()
            let streamed = try await file.engine.stream(file.key) { try written.take($0) }
            #expect(Whole(written.bytes) == Whole(file.content))
            #expect(streamed.path.isEmpty && streamed.bytesFetched == Int64(file.content.count))
            #expect(streamed.requests == file.requests.count && streamed.requests <= 8)
            file.expectNothingTwice()
            try expectNothingWritten(file)
            #expect(try await file.state == .remote)
        }
    }

    @Test func `whoever writes slowly holds the transfer up, not the memory`() async throws {
        try await withoutRoom { file in
            let (entered, leave) = (Watched(0), DispatchSemaphore(value: 0))
            let written = Written()
            let (engine, key) = (file.engine, file.key)
            let stream = Task {
                try await engine.stream(key) { bytes in
                    try written.take(bytes)
                    entered.change { $0 += 1 }
                    // A writer may block: it has a thread of its own.
                    if entered.value == 1 { leave.wait() }
                }
            }
            try await entered.wait { $0 == 1 }
            try await file.server.log.settled()
            let asked = file.askedChunks.map(\.count).reduce(0, +)
            #expect(asked <= 64, "4 MiB")
            leave.signal()
            _ = try await stream.value
            #expect(Whole(written.bytes) == Whole(file.content))
        }
    }

    @Test func `when room runs out in the middle it goes on in memory`() async throws {
        try await withoutRoom(.diskFull, after: 70 * 65_536) { file in
            let reader = try await file.reader()
            for offset in stride(from: 0, to: file.content.count, by: 65_536) {
                try await file.reads(reader, at: offset, count: 65_536)
            }
            file.expectNothingTwice()
            let kept = try file.kept()
            #expect(!kept.isEmpty && kept.count <= 70)
            try file.checkCache()
        }
    }

    @Test func `beyond the cache's limit it is read and streamed, and takes nothing of it`()
        async throws
    {
        try await withOneFile(80 * 65_536) { file in
            try await file.engine.setCacheLimit(2 << 20)
            try await file.openFails(.tooLarge)
            let reader = try await file.reader()
            try await file.reads(reader, at: 1_234_567, count: 3 << 20)
            let written = Written()
            let streamed = try await file.engine.stream(file.key) { try written.take($0) }
            #expect(Whole(written.bytes) == Whole(file.content) && streamed.path.isEmpty)
            let use = try await file.engine.cacheUse()
            #expect(use.originals == 0)
            try expectNothingWritten(file)
            // With more room it is here like any other.
            try await file.engine.setCacheLimit(8 << 20)
            try await file.open()
        }
    }

    @Test func `what is being read is not evicted, and what was reserved too much is given back`()
        async throws
    {
        try await withOneFile(80 * 65_536) { file in
            try await file.engine.setCacheLimit(8 << 20)
            var reader: AttachmentReader? = try await file.reader()
            try await file.reads(known(reader), at: 0, count: 65_536)
            await #expect(throws: SyncError.self) { try await file.engine.evict(file.key) }
            try await file.reads(known(reader), at: 0, count: 100)
            #expect(known(reader).requests == 1)
            file.server.faults.add(file.request, .problem(403, code: "not-entitled"))
            try await file.readFails(
                known(reader), at: 10 * 65_536, count: 20 * 65_536, .unavailable(.notEntitled))
            #expect(try await file.engine.cacheUse().originals > 20 * 65_536)
            reader = nil
            try await until { try await file.engine.cacheUse().originals < 3 * 65_536 }
            let gone = try await file.engine.evict(file.key)
            #expect(gone >= 65_536)
            try expectNothingWritten(file)
        }
    }

    @Test func `a file that is here is streamed though there is no more room`() async throws {
        try await withoutRoom(after: 200 * 65_536) { file in
            try await file.open()
            let written = Written()
            let streamed = try await file.engine.stream(file.key) { try written.take($0) }
            #expect(Whole(written.bytes) == Whole(file.content) && streamed.requests == 0)
        }
    }

    @Test func `what a stream reserved is not trimmed before its transfer begins`() async throws {
        let held = Locked<(room: CacheRoom?, bytes: [Int64])>((nil, []))
        try await withOneFile(
            configure: { configuration in
                configuration.readingRoom = ReadingRoom(
                    couldHold: { _, _ throws(SyncError) in true },
                    reserve: { record, row, bytes throws(SyncError) in
                        let room = known(held.withLock { $0.room })
                        try await room.reserve(record, row: row.row, bytes: bytes, whole: bytes)
                        // Another program looks for room at this very moment.
                        try await room.settle(record)
                        let now = try await room.catalog.read("look") {
                            try $0.blobRecord(record)?.held ?? 0
                        }
                        held.withLock { $0.bytes.append(now) }
                    })
            }
        ) { file in
            let room = await file.engine.materializer.room
            held.withLock { $0.room = room }
            let written = Written()
            _ = try await file.engine.stream(file.key) { try written.take($0) }
            #expect(Whole(written.bytes) == Whole(file.content))
            let whole = DiskCost.blob(Int64(file.content.count))
            #expect(held.withLock { $0.bytes } == [whole])
            // Nothing holds it any longer than the stream.
            #expect(try await file.engine.evict(file.key) == whole)
        }
    }

    @Test func `a stream that ends early gives back what it reserved`() async throws {
        try await withOneFile(80 * 65_536) { file in
            file.server.faults.add(file.request, .problem(403, code: "not-entitled"))
            await #expect(throws: SyncError.self) {
                try await file.engine.stream(file.key) { _ in }
            }
            try await until { try await file.engine.cacheUse().originals < 65_536 }
            file.server.faults.clear()
            let gate = FaultGate()
            file.server.faults.add(file.request, .stall(at: file.fraction(chunks: 20), gate))
            let written = Written(limit: 65_536)
            await #expect(throws: SyncError.self) {
                try await file.engine.stream(file.key) { try written.take($0) }
            }
            try await until { try await file.engine.cacheUse().originals < 30 * 65_536 }
            gate.open()
        }
    }

    @Test func `sixteen readers at once are right, each with a window of its own`() async throws {
        try await withoutRoom { file in
            let content = file.content
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<16 {
                    let reader = try await file.reader()
                    group.addTask {
                        for step in 0..<10 {
                            let offset = (number * 700_000 + step * 90_000) % content.count
                            let bytes = try await reader.read(at: Int64(offset), count: 90_000)
                            let end = min(offset + 90_000, content.count)
                            #expect(Whole(bytes) == Whole(content[offset..<end]))
                        }
                    }
                }
                try await group.waitForAll()
            }
            try expectNothingWritten(file)
        }
    }
}
