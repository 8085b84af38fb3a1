import Foundation
import SyncPlatform

@testable import LazySync
@testable import TestSupport

extension RandomSource {
    /// A number from 0 to below `limit`.
    func number(below limit: Int) -> Int { Int(number() % UInt64(limit)) }
}

/// One blob with fixed keys, sealed, and a folder of its own to bring it to.
final class TestBlob {
    let record: String
    let content: [UInt8]
    let blob: SealedBlob
    let geometry: BlobGeometry
    let sealed: [UInt8]
    let folder: URL

    init(size: Int, record: String = "record", seed: UInt64 = 1) throws {
        let random = SeededRandom(seed: seed)
        self.record = record
        let content = random.bytes(size)
        self.content = content
        blob = SealedBlob(
            contentKey: random.bytes(32).span, nonce: random.bytes(24).span,
            recordName: record.utf8Span.span)
        geometry = known(BlobGeometry(length: UInt64(size)))
        var sealer = BlobSealer(blob, geometry: geometry)
        var sealed: [UInt8] = []
        try sealer.append(content.span, to: &sealed)
        try sealer.finish(to: &sealed)
        self.sealed = sealed
        folder = testsFolder.appending(path: "lazysync-\(UUID().uuidString)")
        try Directory.make(folder.path)
    }

    deinit {
        removeFolder(folder)
    }

    var place: BlobPlace { BlobPlace(record: record, under: folder.path) }

    func open() throws -> (BlobFile, ChunkSet) { try BlobFile.open(place, blob, geometry) }

    /// The plaintext of a chunk.
    func plain(_ chunk: Int) -> [UInt8] {
        let range = geometry.plainRange(chunk)
        return Array(content[Int(range.lowerBound)..<Int(range.upperBound)])
    }

    /// The tag of a chunk.
    func tag(_ chunk: Int) -> [UInt8] {
        Array(sealed[..<Int(geometry.sealedRange(chunk).upperBound)].suffix(16))
    }

    /// Chunks that are in a set, as numbers.
    func numbers(_ chunks: ChunkSet) -> [Int] {
        (0..<geometry.chunkCount).filter { chunks.contains($0) }
    }

    /// Brings all of it, as an answer would, and gives it its name.
    @discardableResult
    func publish(_ suffix: String = "") throws -> (path: String, facts: FileFacts) {
        let (file, present) = try open()
        let store = ChunkStore(file, blob, geometry, present: present) { _ in }
        _ = store.take(all: sealed)
        return try file.publish(extension: suffix)
    }

    /// The names in the record's folder.
    func names() throws -> [String] { try Directory.list(place.folder).sorted() }
}

// The span of a property cannot leave it; that of a parameter can go on to a call.

extension ChunkStore {
    /// Takes sealed bytes as they would come.
    func take(all sealed: [UInt8], at start: UInt64 = 0) -> Problem {
        take(sealed.span, at: start)
    }
}

extension BlobFile {
    func write(_ plaintext: [UInt8], tags: [UInt8], from chunk: Int) throws {
        try write(plaintext.span, tags: tags.span, from: chunk)
    }
}

extension File {
    func write(_ bytes: some Collection<UInt8>, at offset: Int) throws {
        try write(Array(bytes).span, at: Int64(offset))
    }
}

extension ThumbnailStore {
    func write(_ bytes: some Collection<UInt8>, to path: String) throws {
        try write(Array(bytes).span, to: path)
    }

    static func tags(of test: TestBlob) -> [UInt8] {
        let sealed = test.sealed
        return tags(of: sealed.span, test.geometry)
    }
}
