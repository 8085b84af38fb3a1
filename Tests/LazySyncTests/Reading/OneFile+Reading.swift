import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// What tests of readers ask of a device with one file.
extension OneFile {
    /// A fresh reader.
    func reader(_ other: SyncEngine? = nil) async throws -> AttachmentReader {
        try await (other ?? engine).reader(for: key)
    }

    /// Reads with a reader and checks every byte.
    func reads(
        _ reader: AttachmentReader, at offset: Int, count: Int,
        _ location: SourceLocation = #_sourceLocation
    ) async throws {
        let bytes = try await reader.read(at: Int64(offset), count: count)
        let start = min(offset, content.count)
        let right = content[start...].prefix(count)
        #expect(
            Whole(bytes) == Whole(right), "\(count) bytes at \(offset)", sourceLocation: location)
    }

    /// Reads with a reader, expecting that it cannot, and answers why.
    @discardableResult
    func readFails(
        _ reader: AttachmentReader, at offset: Int, count: Int, _ code: SyncError.Code,
        _ location: SourceLocation = #_sourceLocation
    ) async throws -> SyncError? {
        let error = await #expect(throws: SyncError.self, sourceLocation: location) {
            try await reader.read(at: Int64(offset), count: count)
        }
        #expect(error?.code == code, sourceLocation: location)
        return error
    }

    /// The header of a request for chunks, without the blob's own header unless that is asked for.
    func range(of chunks: Range<Int>, withHeader: Bool = false) -> String {
        let range = geometry.request(for: chunks, withHeader: withHeader)
        return "bytes=\(range.lowerBound)-\(range.upperBound)"
    }

    /// The chunks that were asked for so far, request by request.
    var askedChunks: [Range<Int>] {
        ranges.map { text in
            let ends = (text ?? "").dropFirst(6).split(separator: "-").compactMap { UInt64($0) }
            guard ends.count == 2 else { return 0..<geometry.chunkCount }
            return geometry.chunk(at: ends[0])..<geometry.chunk(at: ends[1]) + 1
        }
    }

    /// Checks that no chunk was asked for twice.
    func expectNothingTwice(_ location: SourceLocation = #_sourceLocation) {
        var seen: Set<Int> = []
        for chunk in askedChunks.joined() {
            #expect(
                seen.insert(chunk).inserted, "chunk \(chunk) twice: \(askedChunks)",
                sourceLocation: location)
        }
    }

    /// The state as the list shows it.
    var state: BlobState {
        get async throws { try await engine.explain(key).attachment.state }
    }
}

/// Waits until something is so that has no sign of its own.
func until(
    _ location: SourceLocation = #_sourceLocation, _ isMet: () async throws -> Bool
) async throws {
    let clock = TestClock()
    for _ in 0..<20_000 {
        if try await isMet() { return }
        try await clock.wait(.zero)
    }
    Issue.record("it did not come to that", sourceLocation: location)
}
