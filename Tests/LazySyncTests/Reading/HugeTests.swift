import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// A blob of any length that is sealed chunk by chunk when somebody asks for it.
final class GeneratedBlob: ByteSource {
    let blob: SealedBlob
    let geometry: BlobGeometry
    private let last = Locked<(chunk: Int, sealed: [UInt8])>((-1, []))

    init(_ blob: SealedBlob, length: UInt64) {
        self.blob = blob
        geometry = known(BlobGeometry(length: length))
    }

    var count: UInt64 { geometry.sealedLength }

    /// What the plaintext of a chunk is: bytes that follow from its number.
    func plain(_ chunk: Int) -> [UInt8] {
        SeededRandom(seed: UInt64(chunk) &* 7919 &+ 1).bytes(geometry.plainSize(chunk))
    }

    /// The plaintext of a part.
    func plain(_ range: Range<Int64>) -> [UInt8] {
        let chunks = geometry.chunks(holding: UInt64(range.lowerBound)..<UInt64(range.upperBound))
        let all = chunks.flatMap { plain($0) }
        let start = Int(range.lowerBound) - chunks.lowerBound * BlobGeometry.chunkSize
        return Array(all[start..<start + range.count])
    }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard offset < count else { return 0 }
        if offset < UInt64(BlobGeometry.headerSize) {
            var header: [UInt8] = []
            for index in blob.header.indices { header.append(blob.header[index]) }
            let part = header[Int(offset)...].prefix(buffer.count)
            buffer.copyBytes(from: part)
            return part.count
        }
        let chunk = geometry.chunk(at: offset)
        let part = sealed(chunk)[Int(offset - geometry.sealedRange(chunk).lowerBound)...]
            .prefix(buffer.count)
        buffer.copyBytes(from: part)
        return part.count
    }

    private func sealed(_ chunk: Int) -> [UInt8] {
        last.withLock { last in
            if last.chunk != chunk {
                let plain = plain(chunk)
                var sealed = [UInt8](repeating: 0, count: plain.count + BlobGeometry.tagSize)
                var span = sealed.mutableSpan
                blob.seal(chunk: chunk, of: geometry, plain.span, into: &span)
                last = (chunk, sealed)
            }
            return last.sealed
        }
    }
}

/// Blobs around and beyond 4 GiB, of which only a little is ever made.
@Suite(.timeLimit(.minutes(10))) struct HugeTests {
    private func withHuge(
        _ length: UInt64,
        _ body: (TestHome, SyncEngine, AttachmentKey, GeneratedBlob) async throws -> Void
    ) async throws {
        let account = TestAccount()
        var item = account.add("A film", TestFile("film.mp4", size: 1))
        let (name, key, nonce) = (
            RecordName(random: account.random), account.random.bytes(32), account.random.bytes(24)
        )
        let id = item.attachments[0].id
        item = account.change(item.id) { item in
            item.attachments[0].size = length
            item.attachments[0].ref = account.wrap(key, nonce, name, item.id, id, .original)
        }
        account.push()
        let record = name.description
        let source = GeneratedBlob(
            SealedBlob(
                contentKey: key.span, nonce: nonce.span, recordName: record.utf8Span.span),
            length: length)
        try await withHome(account) { home in
            let engine = try await home.enter()
            _ = try await engine.restore(thumbnails: false)
            known(home.server.account("demo")).change {
                $0.blobs.put(record, source, now: 1_780_000_000)
            }
            try await body(home, engine, item.key(), source)
        }
    }

    /// Case B12.
    @Test(arguments: [(4 << 30) - 1, 4 << 30, (4 << 30) + 1] as [UInt64])
    func `64 KiB anywhere in 4 GiB cost one request and two chunks at the most`(
        length: UInt64
    ) async throws {
        try await withHuge(length) { home, engine, key, source in
            try await engine.setCacheLimit(8 << 30)
            let seed = UInt64.random(in: 0...999_999)
            var random = SeededGenerator(seed: seed)
            let size = Int64(length)
            var offsets: [Int64] = [
                0, size - 65_536, size - 1, size - 65_537, 1 << 31, (1 << 32) - 70_000,
            ]
            for _ in 0..<4 { offsets.append(Int64.random(in: 0..<size, using: &random)) }
            for (index, offset) in offsets.enumerated() {
                let reader = try await engine.reader(for: key)
                let bytes = try await reader.read(at: offset, count: 65_536)
                #expect(
                    Whole(bytes) == Whole(source.plain(offset..<min(offset + 65_536, size))),
                    "seed \(seed), at \(offset)")
                #expect(reader.requests <= 1)
                if index == 0 { #expect(reader.requests == 1) }
            }
            try await home.server.log.settled()
            for request in home.blobRequests {
                // The header comes along with the first chunk.
                #expect(request.status == 206 && request.bytesSent <= 2 * 65_552 + 40)
            }
            let places = try home.accountPlaces
            let facts = try FileSystem.facts(
                BlobPlace(
                    record: known(home.blobRequests[0].path.split(separator: "/").last)
                        .description, under: places.blobs
                ).part)
            #expect(facts?.size == size && known(facts).allocated <= 24 * 65_536)
        }
    }

    @Test func `a server that ignores ranges does not send 4 GiB for the first bytes`()
        async throws
    {
        try await withHuge(4 << 30) { home, engine, key, source in
            home.server.faults.add(.get("/v1/blobs/"), .ignoreRange)
            let reader = try await engine.reader(for: key)
            let bytes = try await reader.read(at: 100_000, count: 65_536)
            #expect(Whole(bytes) == Whole(source.plain(100_000..<165_536)))
            try await home.server.log.settled()
            #expect(home.blobRequests.count == 1 && home.blobRequests[0].ending == .cut)
        }
    }

    /// With the usual limit the film is larger than the cache and stays in memory.
    @Test(arguments: [nil, 8 << 30] as [Int64?])
    func `a film is played from anywhere with the next minutes on their way`(
        limit: Int64?
    ) async throws {
        try await withHuge((4 << 30) + 1) { home, engine, key, source in
            try await engine.setCacheLimit(limit)
            let reader = try await engine.reader(for: key)
            let start: Int64 = 3 << 30
            for step in 0..<100 {
                let offset = start + Int64(step) * 100_000
                let bytes = try await reader.read(at: offset, count: 100_000)
                #expect(Whole(bytes) == Whole(source.plain(offset..<offset + 100_000)))
            }
            // 10 MB, and what is read ahead of them.
            #expect(reader.requests <= 9)
        }
    }
}
