import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// Bytes at any place of a blob, and only what they need.
@Suite(.timeLimit(.minutes(10))) struct ReaderTests {
    /// Case B12.
    @Test(arguments: [0, 1, 15, 16, 17, 65_535, 65_536, 65_537, 300_000])
    func `a reader gives every byte, less only at the end, and nothing beyond it`(
        size: Int
    ) async throws {
        try await withOneFile(size) { file in
            let reader = try await file.reader()
            #expect(reader.size == Int64(size) && file.requests.isEmpty, "making it reads nothing")
            try await file.reads(reader, at: 0, count: size + 10)
            #expect(file.requests.count == (size == 0 ? 0 : 1))
            for (offset, count) in [
                (0, 0), (0, 1), (size, 1), (size + 1, 10), (max(size - 1, 0), 1),
                (max(size - 1, 0), 100), (size / 2, size), (size, .max), (0, .max),
            ] {
                try await file.reads(reader, at: offset, count: count)
            }
            #expect(file.requests.count == (size == 0 ? 0 : 1))
            #expect(reader.requests == file.requests.count && reader.bytesFetched == Int64(size))
            // The whole takes up what a reader brought.
            try await file.open(requests: size == 0 ? 1 : 0)
        }
    }

    @Test func `a place or a count below zero is told as that`() async throws {
        try await withOneFile { file in
            let reader = try await file.reader()
            try await file.readFails(reader, at: -1, count: 1, .invalidInput)
            try await file.readFails(reader, at: 0, count: -1, .invalidInput)
            #expect(file.requests.isEmpty)
        }
    }

    @Test func `64 KiB at any place cost one request of one or two chunks`() async throws {
        try await withOneFile(200 * 65_536) { file in
            let seed = UInt64.random(in: 0...999_999)
            var random = SeededGenerator(seed: seed)
            var asked: Set<Int> = []
            for _ in 0..<12 {
                let chunk = Int.random(in: 1..<198, using: &random)
                guard asked.isDisjoint(with: [chunk, chunk + 1]) else { continue }
                asked.formUnion([chunk, chunk + 1])
                let isAligned = Bool.random(using: &random)
                let reader = try await file.reader()
                try await file.reads(
                    reader, at: chunk * 65_536 + (isAligned ? 0 : 777), count: 65_536)
                let wanted = chunk..<chunk + (isAligned ? 1 : 2)
                #expect(file.ranges.last == file.range(of: wanted), "seed \(seed)")
                #expect(reader.requests == 1, "seed \(seed)")
            }
            try await file.server.log.settled()
            for request in file.requests {
                #expect(request.status == 206 && request.bytesSent <= 2 * 65_552)
            }
        }
    }

    @Test func `reading makes nothing pending, and nothing wanted`() async throws {
        try await withOneFile { file in
            let gate = FaultGate()
            file.server.faults.add(file.request, times: 1, .hold(gate))
            let (reader, content) = (try await file.reader(), file.content)
            let read = Task { try await reader.read(at: 70_000, count: 10) }
            try await gate.reached()
            #expect(try await file.state == .remote)
            gate.open()
            #expect(try await read.value == Array(content[70_000..<70_010]))
            #expect(try await file.state == .remote)
            #expect(try await file.engine.status().states["pending"] == 0)
        }
    }

    @Test func `a file that is here is read without the key store and without the network`()
        async throws
    {
        try await withOneFile { file in
            try await file.open()
            file.server.stop()
            try FileSystem.remove(try file.home.accountPlaces.keyFile)
            let next = try await file.home.open()
            let reader = try await file.reader(next)
            try await file.reads(reader, at: 0, count: .max)
            try await file.reads(reader, at: 123_456, count: 100_000)
            #expect(reader.requests == 0 && reader.bytesFetched == 0)
        }
    }

    @Test func `a chunk that lies in a part is read without a request`() async throws {
        try await withOneFile { file in
            file.server.faults.add(file.request, times: 1, .cut(at: file.fraction(chunks: 6)))
            file.server.faults.add(file.request, .drop())
            try await file.openFails(.offline)
            let reader = try await file.reader()
            try await file.reads(reader, at: 0, count: 6 * 65_536)
            #expect(reader.requests == 0)
            try await file.readFails(reader, at: 6 * 65_536, count: 1, .unavailable(.offline))
        }
    }

    /// Case B13.
    @Test func `after a range in the middle, reading from 0 fetches only what is missing`()
        async throws
    {
        try await withOneFile(30 * 65_536 + 5) { file in
            try await file.reads(
                try await file.reader(), at: 12 * 65_536 + 100, count: 3 * 65_536)
            #expect(file.ranges == [file.range(of: 12..<16)])
            #expect(try file.kept() == [12, 13, 14, 15])
            // The process is gone; its files are all that is left of it.
            let next = try await file.home.open()
            let reader = try await file.reader(next)
            for offset in stride(from: 0, to: file.content.count, by: 50_000) {
                try await file.reads(reader, at: offset, count: 50_000)
            }
            #expect(reader.bytesFetched == Int64(file.content.count - 4 * 65_536))
            file.expectNothingTwice()
            try file.checkCache()
            try await file.open(requests: 0, with: next)
        }
    }

    @Test func `a read over several holes asks for the holes alone`() async throws {
        try await withOneFile(20 * 65_536) { file in
            let first = try await file.reader()
            for chunk in [4, 3, 9] {
                try await file.reads(first, at: chunk * 65_536, count: 65_536)
            }
            let reader = try await file.reader()
            try await file.reads(reader, at: 2 * 65_536, count: 10 * 65_536)
            #expect(Array(file.askedChunks.dropFirst(3)) == [2..<3, 5..<9, 10..<12])
        }
    }

    @Test func `a byte of the cache that somebody changed is found, and its chunk comes again`()
        async throws
    {
        try await withOneFile { file in
            let path = try await file.open().path
            let reader = try await file.reader()
            try await file.reads(reader, at: 0, count: 100_000)
            try FileSystem.setMode(path, 0o600)
            try File(path, for: .readWrite).write([0xFF, 0xFE], at: 3 * 65_536 + 9)
            // Its facts are others now: every chunk is proved, the same reader's too.
            try await file.reads(reader, at: 3 * 65_536 - 10, count: 65_556)
            #expect(file.askedChunks.dropFirst() == [3..<4])
            try await file.reads(reader, at: 9 * 65_536, count: 65_536)
            #expect(file.askedChunks.dropFirst() == [3..<4])
            #expect(try FileSystem.facts(path) != nil, "whoever opens the whole mends it")
            try await file.open(requests: 1)
        }
    }

    @Test func `only requests that were sent count`() async throws {
        try await withOneFile { file in
            await file.engine.pause()
            let reader = try await file.reader()
            let read = Task { try await reader.read(at: 0, count: 9) }
            try await file.engine.hasWaiting(1)
            #expect(reader.requests == 0)
            await file.engine.resume()
            _ = try await read.value
            #expect(reader.requests == 1)
            // The host asks to wait for long: the second read does not ask again.
            file.server.faults.add(
                file.request, times: 1,
                .problem(429, code: "slow-down", headers: [Header("Retry-After", "600")]))
            for _ in 0..<2 {
                try await file.readFails(
                    reader, at: 300_000, count: 9, .unavailable(.throttled))
                #expect(reader.requests == 2 && file.requests.count == 2)
            }
        }
    }

    @Test func `a reader of what has no address says so`() async throws {
        try await withOneFile { file in
            file.account.change(file.item.id) { $0.attachments[0].ref = .null }
            file.account.push()
            _ = try await file.engine.restore()
            let error = await #expect(throws: SyncError.self) { try await file.reader() }
            #expect(error?.code == .unavailable(.addressMissing))
            let id = known(AttachmentID(String(repeating: "9", count: 32)))
            let none = AttachmentKey(item: file.key.item, id: id)
            let missing = await #expect(throws: SyncError.self) {
                try await file.engine.reader(for: none)
            }
            #expect(missing?.code == .noSuchID)
        }
    }

    @Test func `after a logout a reader gives nothing`() async throws {
        try await withOneFile { file in
            let reader = try await file.reader()
            try await file.reads(reader, at: 0, count: 100)
            _ = try await file.engine.logout()
            try await file.readFails(reader, at: 0, count: 100, .notLoggedIn)
        }
    }

    @Test func `a lost key is keyMissing, and reads again when it is back`() async throws {
        try await withOneFile { file in
            let path = try file.home.accountPlaces.keyFile
            try FileSystem.rename(path, to: path + ".away")
            let next = try await file.home.open()
            let reader = try await file.reader(next)
            try await file.readFails(reader, at: 0, count: 1, .unavailable(.keyMissing))
            #expect(try await next.explain(file.key).attachment.state == .unavailable(.keyMissing))
            try FileSystem.rename(path + ".away", to: path)
            try await file.reads(reader, at: 0, count: 10)
            try await until { try await next.explain(file.key).attachment.state == .remote }
        }
    }

    @Test func `random reads of many tasks give the right bytes, whatever comes between`()
        async throws
    {
        let seed = UInt64.random(in: 0...999_999)
        try await withOneFile(37 * 65_536 + 13) { file in
            var random = SeededGenerator(seed: seed)
            for round in 0..<6 {
                let engine = round % 2 == 0 ? file.engine : try await file.home.open()
                let reader = try await file.reader(engine)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for task in 0..<6 {
                        let plan = (0..<8).map { _ in
                            (
                                Int.random(in: 0...file.content.count + 100, using: &random),
                                Int.random(in: 0...200_000, using: &random)
                            )
                        }
                        let (own, content) = (try await file.reader(engine), file.content)
                        group.addTask {
                            for (offset, count) in plan {
                                let bytes = try await (task % 2 == 0 ? own : reader).read(
                                    at: Int64(offset), count: count)
                                let start = min(offset, content.count)
                                let right = content[start..<min(start + count, content.count)]
                                #expect(Whole(bytes) == Whole(right), "seed \(seed)")
                            }
                        }
                    }
                    // In the last rounds all of it is opened meanwhile.
                    if round == 4 {
                        let key = file.key
                        group.addTask { _ = try await engine.materialize(key) }
                    }
                    try await group.waitForAll()
                }
            }
            try await file.open(requests: 0)
        }
    }
}

/// What reading a part means for the state of the whole.
@Suite struct PartStateTests {
    @Test func `of which a part was read is remote, says what is here, and is not retried`()
        async throws
    {
        try await withOneFile { file in
            let reader = try await file.engine.reader(for: file.key)
            _ = try await reader.read(at: 0, count: 10)
            var known = try await file.engine.explain(file.key)
            #expect(known.attachment.state == .remote)
            let here = known.evidence.bytes
            #expect(here >= 65_536)
            // A connection that is gone is no trouble of it.
            try await file.engine.catalog.setCondition(
                .offline, Evidence(lastAttempt: Timestamp(seconds: 1)))
            known = try await file.engine.explain(file.key)
            #expect(known.attachment.state == .remote && known.evidence.bytes == here)
            #expect(try await file.engine.unavailable().isEmpty)
            #expect(try await file.engine.status().states["unavailable"] == 0)
        }
    }
}
