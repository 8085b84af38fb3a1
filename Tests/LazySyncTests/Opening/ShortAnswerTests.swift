import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// Answers that end early, are of another length, or of another part than was asked for.
@Suite(.timeLimit(.minutes(10))) struct ShortAnswerTests {
    /// Case B2: 60 % of the body and an end that looks clean.
    @Test(arguments: [
        "no length", "a length that is not kept", "chunks without their end", "reset",
    ])
    func `a body that was cut is asked for again from the first missing chunk`(
        how: String
    ) async throws {
        try await withOneFile { file in
            let cut = file.fraction(chunks: 6)
            switch how {
            case "no length":
                file.server.faults.add(
                    file.request, times: 1, .framing(.untilClose), .cut(at: cut))
            case "chunks without their end":
                file.server.faults.add(file.request, times: 1, .framing(.chunked), .cut(at: cut))
            case "reset": file.server.faults.add(file.request, times: 1, .cut(at: cut, .reset))
            default: file.server.faults.add(file.request, times: 1, .cut(at: cut))
            }
            let opened = try await file.open()
            #expect(opened.requests == 2 && opened.bytesFetched == opened.size)
            #expect(file.ranges == [nil, file.range(from: 6)])
            try file.checkCache()
        }
    }

    @Test func `a shorter body under a length that agrees is asked for once more`() async throws {
        try await withOneFile { file in
            let short = file.geometry.sealedRange(6).lowerBound + 100
            file.server.faults.add(file.request, times: 1, .framing(.claimed(short)))
            let opened = try await file.open()
            #expect(opened.requests == 2)
            #expect(file.ranges == [nil, file.range(from: 6)])
        }
    }

    @Test func `a blob that is always cut at the same place ends in offline with its chunks`()
        async throws
    {
        try await withOneFile { file in
            file.server.faults.add(
                .init(method: "GET", path: "/v1/blobs/\(file.record)", range: false),
                .cut(at: file.fraction(chunks: 4)))
            file.server.faults.add(
                .init(method: "GET", path: "/v1/blobs/\(file.record)", range: true),
                .cut(at: .bytes(10)))
            let evidence = try await file.openFails(.offline)
            #expect(evidence.bytes == 4 * 65_536 && evidence.code == "cut")
            // The first brought something; from it on, three in a row, which use up nothing.
            #expect(file.requests.count == 3 && evidence.attempts == 0)
            try await file.mends(requests: 1)
            #expect(file.ranges.last == file.range(from: 4))
        }
    }

    /// Case B3.
    @Test(arguments: ["length", "chunked", "untilClose"])
    func `a whole answer to a ranged request is passed over up to what is missing`(
        framing: String
    ) async throws {
        try await withOneFile { file in
            file.server.faults.add(file.request, times: 1, .cut(at: file.fraction(chunks: 5)))
            let how: [String: Delivery.Framing] = [
                "length": .length, "chunked": .chunked, "untilClose": .untilClose,
            ]
            file.server.faults.add(
                file.request, times: 1, .ignoreRange, .framing(known(how[framing])))
            let opened = try await file.open()
            #expect(opened.requests == 2)
            #expect(file.ranges == [nil, file.range(from: 5)])
            #expect(file.requests.map(\.status) == [200, 200])
            try file.checkCache()
        }
    }

    @Test func `a whole answer also brings a first chunk that alone was wrong`() async throws {
        try await withOneFile { file in
            file.server.faults.add(file.request, times: 1, .flip(at: 50))
            file.server.faults.add(file.request, times: 1, .ignoreRange)
            try await file.open(requests: 2)
            #expect(file.ranges == [nil, "bytes=40-65591"])
        }
    }

    @Test(arguments: [true, false])
    func `a server that always cuts and ignores ranges still gets nowhere forever`(
        isTold: Bool
    ) async throws {
        try await withOneFile { file in
            let cut = file.fraction(chunks: 3)
            file.server.faults.add(
                file.request, .ignoreRange, .framing(isTold ? .length : .untilClose), .cut(at: cut))
            let evidence = try await file.openFails(.offline)
            #expect(evidence.bytes == 3 * 65_536)
            #expect(file.requests.count == 3)
            try await file.mends(requests: 1)
        }
    }

    /// Case B4 a, d, e, and their kind: nothing that follows such a head is written.
    @Test(arguments: [
        "no Content-Range", "multipart", "gzip", "a later part", "an earlier part", "unreadable",
    ])
    func `a part under a wrong head is not written, and the tries are bounded`(
        what: String
    ) async throws {
        try await withOneFile { file in
            file.server.faults.add(file.request, times: 1, .cut(at: file.fraction(chunks: 5)))
            switch what {
            case "multipart": file.server.faults.add(file.request, .multipart)
            case "gzip": file.server.faults.add(file.request, .header("Content-Encoding", "gzip"))
            case "a later part": file.server.faults.add(file.request, .shiftRange(by: 65_552))
            case "an earlier part": file.server.faults.add(file.request, .shiftRange(by: -65_552))
            case "unreadable":
                file.server.faults.add(file.request, .header("Content-Range", "bytes */*"))
            default: file.server.faults.add(file.request, .header("Content-Range", nil))
            }
            let evidence = try await file.openFails(.serverError)
            #expect(evidence.status == 206 && evidence.code == "protocol")
            #expect(evidence.bytes == 5 * 65_536)
            #expect(try file.kept() == Array(0..<5))
            // The first was cut, which is no try of the blob.
            #expect(file.requests.count == 9 && evidence.attempts == 8)
            try await file.mends(requests: 1)
        }
    }

    @Test(arguments: ["a part", "gzip"])
    func `a whole request that is answered wrongly brings nothing`(what: String) async throws {
        try await withOneFile { file in
            if what == "gzip" {
                file.server.faults.add(file.request, .header("Content-Encoding", "gzip"))
            } else {
                file.server.faults.add(file.request, .unaskedRange(first: 0, last: 200_000))
            }
            let evidence = try await file.openFails(.serverError)
            #expect(evidence.bytes == 0 && evidence.code == "protocol")
            #expect(try file.kept().isEmpty)
            #expect(file.requests.count == 8)
            try await file.mends(requests: 1)
        }
    }

    /// Case B4 b.
    @Test func `another total in a Content-Range is wrongSize at once`() async throws {
        try await withOneFile { file in
            file.server.faults.add(file.request, times: 1, .cut(at: file.fraction(chunks: 5)))
            let first = file.geometry.sealedRange(5).lowerBound
            let last = file.geometry.sealedLength - 1
            file.server.faults.add(
                file.request, .header("Content-Range", "bytes \(first)-\(last)/\(last + 2)"))
            let evidence = try await file.openFails(.wrongSize)
            #expect(evidence.status == 206 && evidence.bytes == 5 * 65_536)
            #expect(file.requests.count == 2)
            #expect(try file.kept() == Array(0..<5))
            try await file.mends(requests: 1)
        }
    }

    /// Case B4 c: whole chunks are kept, whichever way it is short.
    @Test(arguments: ["cut", "a length that agrees", "chunks"])
    func `of a part that is a byte short the whole chunks are kept`(how: String) async throws {
        try await withOneFile { file in
            let from = file.geometry.sealedRange(5).lowerBound
            let part = file.geometry.sealedLength - from
            let ranged = Fault.Match(method: "GET", path: "/v1/blobs/\(file.record)", range: true)
            file.server.faults.add(file.request, times: 1, .cut(at: file.fraction(chunks: 5)))
            switch how {
            case "cut": file.server.faults.add(ranged, times: 1, .cut(at: .bytes(part - 1)))
            case "chunks":
                file.server.faults.add(
                    ranged, times: 1, .framing(.chunked), .cut(at: .bytes(part - 1)))
            default: file.server.faults.add(ranged, times: 1, .framing(.claimed(part - 1)))
            }
            try await file.open(requests: 3)
            #expect(file.ranges == [nil, file.range(from: 5), file.range(from: 10)])
        }
    }

    @Test func `a part that is always a byte short ends after a bounded number of tries`()
        async throws
    {
        try await withOneFile { file in
            let last = UInt64(file.geometry.plainSize(10) + 16)
            let cut = file.geometry.sealedRange(10).lowerBound + 10
            file.server.faults.add(file.request, times: 1, .cut(at: .bytes(cut)))
            file.server.faults.add(file.request, .framing(.claimed(last - 1)))
            let evidence = try await file.openFails(.serverError)
            #expect(evidence.bytes == 10 * 65_536 && evidence.code == "protocol")
            #expect(file.requests.count == 9 && evidence.attempts == 8)
            try await file.mends(requests: 1)
        }
    }

    @Test func `less than was asked for is taken as far as it goes`() async throws {
        try await withOneFile { file in
            let first = file.geometry.sealedRange(5).lowerBound
            let last = file.geometry.sealedRange(7).lowerBound + 10
            file.server.faults.add(file.request, times: 1, .cut(at: file.fraction(chunks: 5)))
            file.server.faults.add(
                file.request, times: 1,
                .header("Content-Range", "bytes \(first)-\(last)/\(file.geometry.sealedLength)"),
                .framing(.claimed(last - first + 1)))
            try await file.open(requests: 3)
            #expect(file.ranges == [nil, file.range(from: 5), file.range(from: 7)])
        }
    }

    /// Case B6.
    @Test(arguments: [0, 3])
    func `a stored blob that was cut at a chunk is wrongSize at the second look`(
        chunks: Int
    ) async throws {
        try await withOneFile { file in
            let length = file.geometry.sealedRange(chunks).lowerBound
            file.server.faults.add(file.request, .truncate(to: length))
            let evidence = try await file.openFails(.wrongSize)
            #expect(file.requests.count == 2)
            #expect(try file.kept() == Array(0..<chunks))
            if chunks > 0 {
                #expect(evidence.status == 416 && file.ranges == [nil, file.range(from: chunks)])
            }
            try await file.mends(requests: 1)
        }
    }

    @Test(arguments: [true, false])
    func `a stored blob that was cut within a chunk is wrongSize too`(
        ignoresRange: Bool
    ) async throws {
        try await withOneFile { file in
            let length = file.geometry.sealedRange(3).lowerBound + 1_000
            if ignoresRange {
                file.server.faults.add(file.request, .truncate(to: length), .ignoreRange)
            } else {
                file.server.faults.add(file.request, .truncate(to: length))
            }
            let evidence = try await file.openFails(.wrongSize)
            #expect(evidence.status == (ignoresRange ? 200 : 206))
            #expect(file.requests.count == 2)
            #expect(try file.kept() == [0, 1, 2])
            try await file.mends(requests: 1)
        }
    }

    @Test(arguments: [true, false])
    func `a stored blob that is longer is wrongSize, and no byte beyond the end is written`(
        isTold: Bool
    ) async throws {
        try await withOneFile { file in
            let sealed = known(file.account.blobs[file.record])
            home(file).putBlob(file.record, sealed + [UInt8](repeating: 7, count: 3_000))
            if !isTold { file.server.faults.add(file.request, .framing(.chunked)) }
            try await file.openFails(.wrongSize)
            #expect(file.requests.count <= 2)
            home(file).putBlob(file.record, sealed)
            try await file.mends(requests: 1)
        }
    }

    private func home(_ file: OneFile) -> ServedAccount { known(file.server.account("demo")) }

    /// Case B12, as far as files go.
    @Test(arguments: [0, 1, 15, 16, 17, 65_535, 65_536, 65_537, 5 << 20])
    func `a file of any size comes whole, in one request without a range`(size: Int) async throws {
        try await withOneFile(size) { file in
            let progress = Locked<[(Int64, Int64)]>([])
            let opened = try await file.engine.materialize(file.key) { done, all in
                progress.withLock { $0.append((done, all)) }
            }
            #expect(opened.requests == 1 && opened.bytesFetched == Int64(size))
            #expect(file.ranges == [nil])
            let steps = progress.withLock { $0 }
            #expect(steps.allSatisfy { $0.0 <= $0.1 && $0.1 == Int64(size) })
            #expect(zip(steps, steps.dropFirst()).allSatisfy { $0.0 <= $1.0 })
            #expect(steps.last?.0 == Int64(size))
            try await file.open(requests: 0)
        }
    }

    @Test(arguments: [0, 1, 15, 16, 17, 65_535, 65_536, 65_537])
    func `a file of any size comes whole behind a cut after its header`(size: Int) async throws {
        try await withOneFile(size) { file in
            file.server.faults.add(file.request, times: 1, .cut(at: .bytes(41)))
            try await file.open(requests: 2)
            // Without a chunk here the header has to come again.
            #expect(file.ranges == [nil, nil])
        }
    }
}
