import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// What goes wrong with a range: the same judgement as of a whole, and never a wrong byte.
@Suite(.timeLimit(.minutes(10))) struct ReadFaultTests {
    /// Case B3.
    @Test(arguments: [Delivery.Framing.length, .chunked, .untilClose])
    func `a whole answer to a range is passed over up to what is wanted`(
        framing: Delivery.Framing
    ) async throws {
        try await withOneFile { file in
            file.server.faults.add(file.request, .ignoreRange, .framing(framing))
            let reader = try await file.reader()
            try await file.reads(reader, at: 5 * 65_536 + 3, count: 65_536)
            #expect(file.requests.map(\.status) == [200])
            #expect(try file.kept() == [5, 6])
            try file.checkCache()
        }
    }

    /// Case B4.
    @Test(arguments: [
        "no Content-Range", "multipart", "gzip", "a later part", "an earlier part", "unreadable",
    ])
    func `a part under a wrong head is not handed out, and the tries are bounded`(
        what: String
    ) async throws {
        try await withOneFile { file in
            switch what {
            case "multipart": file.server.faults.add(file.request, .multipart)
            case "gzip": file.server.faults.add(file.request, .header("Content-Encoding", "gzip"))
            case "a later part": file.server.faults.add(file.request, .shiftRange(by: 65_552))
            case "an earlier part": file.server.faults.add(file.request, .shiftRange(by: -65_552))
            case "unreadable":
                file.server.faults.add(file.request, .header("Content-Range", "bytes */*"))
            default: file.server.faults.add(file.request, .header("Content-Range", nil))
            }
            let reader = try await file.reader()
            try await file.readFails(reader, at: 5 * 65_536, count: 9, .unavailable(.serverError))
            #expect(try file.kept().isEmpty && file.requests.count == 8)
            let evidence = try await file.engine.explain(file.key).evidence
            #expect(evidence.status == 206 && evidence.code == "protocol")
            #expect(try await file.state == .unavailable(.serverError))
            // Whole again, it is read, and nothing says that it cannot come.
            file.server.faults.clear()
            try await file.reads(reader, at: 5 * 65_536, count: 9)
            try await until { try await file.state == .remote }
        }
    }

    /// Case B4 b, B6.
    @Test func `another total is wrongSize`() async throws {
        try await withOneFile { file in
            file.server.faults.add(file.request, .truncate(to: file.geometry.sealedLength - 16))
            let reader = try await file.reader()
            try await file.readFails(reader, at: 5 * 65_536, count: 9, .unavailable(.wrongSize))
            #expect(try file.kept().isEmpty && file.requests.count == 1)
            #expect(try await file.state == .unavailable(.wrongSize))
        }
    }

    /// Case B4 c.
    @Test func `a part that is cut keeps its whole chunks, and the rest is asked for`() async throws
    {
        try await withOneFile { file in
            file.server.faults.add(file.request, times: 1, .cut(at: .bytes(3 * 65_552 + 100)))
            let reader = try await file.reader()
            try await file.reads(reader, at: 2 * 65_536, count: 6 * 65_536)
            #expect(file.askedChunks == [2..<8, 5..<8])
            #expect(reader.requests == 2 && reader.bytesFetched == 6 * 65_536)
        }
    }

    /// Case B5.
    @Test func `a chunk that is wrong once comes again, one that stays wrong is corrupt`()
        async throws
    {
        try await withOneFile { file in
            let offset = file.geometry.sealedRange(3).lowerBound + 5
            file.server.faults.add(file.request, times: 1, .flip(at: offset))
            let reader = try await file.reader()
            try await file.reads(reader, at: 2 * 65_536, count: 3 * 65_536)
            #expect(file.askedChunks == [2..<5, 3..<4])

            let other = file.geometry.sealedRange(8).lowerBound
            file.server.faults.add(file.request, .flip(at: other))
            try await file.readFails(
                reader, at: 7 * 65_536, count: 3 * 65_536, .unavailable(.corrupt))
            let evidence = try await file.engine.explain(file.key).evidence
            #expect(evidence.chunk == 8)
            // The others are kept and can be read; the reason stays, for it is still true.
            let before = file.requests.count
            try await file.reads(reader, at: 7 * 65_536, count: 65_536)
            try await file.reads(reader, at: 9 * 65_536, count: 65_536)
            #expect(file.requests.count == before)
            try await file.reads(reader, at: 0, count: 10)
            #expect(try await file.state == .unavailable(.corrupt))
            // When that chunk comes it is over.
            file.server.faults.clear()
            try await file.reads(reader, at: 8 * 65_536, count: 10)
            try await until { try await file.state == .remote }
        }
    }

    /// Case B8.
    @Test(arguments: [true, false])
    func `an object that is replaced under the same name is corrupt, and never mixed`(
        keepsTag: Bool
    ) async throws {
        try await withOneFile { file in
            let reader = try await file.reader()
            try await file.reads(reader, at: 0, count: 100_000)
            let other = file.account.attach(
                TestFile("other", size: file.content.count), to: file.item.id)
            let sealed = known(file.account.blobs[known(other.ref.record)])
            let served = known(file.server.account("demo"))
            if keepsTag {
                try served.replaceBlobKeepingTag(file.record, sealed)
            } else {
                served.putBlob(file.record, sealed)
            }
            try await file.readFails(reader, at: 200_000, count: 9, .unavailable(.corrupt))
            try await file.readFails(reader, at: 0, count: 200_000, .unavailable(.corrupt))
            try await file.reads(reader, at: 0, count: 100_000)
            try file.checkCache()
        }
    }

    /// Case B7, B17.
    @Test(arguments: [(502, 8), (200, 2), (403, 8), (404, 8), (401, 8)])
    func `a page in the place of a range is serverError or wrongSize, never content`(
        status: Int, tries: Int
    ) async throws {
        try await withOneFile { file in
            file.server.faults.add(file.request, .html(status))
            let reader = try await file.reader()
            let reason: UnavailableReason = status == 200 ? .wrongSize : .serverError
            try await file.readFails(reader, at: 300_000, count: 9, .unavailable(reason))
            #expect(try file.kept().isEmpty && file.requests.count == tries)
            #expect(try await file.engine.status().session == "active")
        }
    }

    /// Case B14.
    @Test func `after a range, the whole and another blob are asked for without its leftovers`()
        async throws
    {
        try await withOneFile { file in
            try await file.reads(try await file.reader(), at: 300_000, count: 9)
            let other = file.account.add("Another", TestFile("b", size: 20 * 65_536))
            file.account.push()
            _ = try await file.engine.restore()
            _ = try await file.engine.materialize(other.key())
            try await file.server.log.settled()
            let log = file.home.blobRequests
            #expect(log.map(\.range) == [file.range(of: 4..<5), nil])
            #expect(log.map(\.connection) == [log[0].connection, log[0].connection])
        }
    }

    @Test func `a record that is gone is notFound after one pull, and reads when it is back`()
        async throws
    {
        try await withOneFile { file in
            let manifests = file.home.manifestRequests.count
            file.server.faults.add(file.request, .problem(410, code: "blob-gone"))
            let reader = try await file.reader()
            try await file.readFails(reader, at: 0, count: 9, .unavailable(.notFound))
            #expect(file.requests.count == 1 && file.home.manifestRequests.count > manifests)
            #expect(try await file.state == .unavailable(.notFound))
            #expect(try await file.engine.explain(file.key).evidence.status == 410)
            file.server.faults.clear()
            try await file.reads(reader, at: 0, count: 9)
            try await until { try await file.state == .remote }
        }
    }

    @Test func `a reader stays with its version, and says so when that is gone`() async throws {
        try await withOneFile { file in
            let reader = try await file.reader()
            try await file.reads(reader, at: 0, count: 9)
            let changed = file.account.change(file.item.id) { item in
                item.attachments[0] = file.account.attach(
                    TestFile("report.pdf", size: 123_456), to: item.id, id: item.attachments[0].id)
            }
            file.account.push()
            known(file.server.account("demo")).deleteBlob(file.record)
            let error = try await file.readFails(
                reader, at: 300_000, count: 9, .unavailable(.notFound))
            #expect(error?.detail.contains("replaced") == true)
            // Nothing is said against the new version, and nothing of the old one lies about.
            try await until { try await file.state == .remote }
            let new = OneFile(home: file.home, engine: file.engine, item: changed)
            try await new.reads(try await new.reader(), at: 100_000, count: 50_000)
            try await file.readFails(reader, at: 300_000, count: 9, .unavailable(.notFound))
        }
    }

    @Test func `without a connection it is offline with what is here readable, and then goes on`()
        async throws
    {
        try await withOneFile { file in
            let reader = try await file.reader()
            try await file.reads(reader, at: 0, count: 2 * 65_536)
            file.server.faults.add(file.request, .drop())
            try await file.readFails(reader, at: 300_000, count: 9, .unavailable(.offline))
            #expect(try await file.state == .unavailable(.offline))
            try await file.reads(reader, at: 0, count: 2 * 65_536)
            file.server.faults.clear()
            try await file.reads(reader, at: 300_000, count: 9)
            try await until { try await file.state == .remote }
        }
    }

    @Test func `a range that fails beside a whole that comes says nothing about it`() async throws {
        try await withOneFile(100 * 65_536) { file in
            let gate = FaultGate()
            file.server.faults.add(
                .init(method: "GET", path: "/v1/blobs/\(file.record)", range: false), times: 1,
                .stall(at: file.fraction(chunks: 5), gate))
            file.server.faults.add(
                .init(method: "GET", path: "/v1/blobs/\(file.record)", range: true),
                .problem(403, code: "not-entitled"))
            let (engine, key) = (file.engine, file.key)
            let whole = Task { try await engine.materialize(key) }
            try await gate.reached()
            let reader = try await file.reader()
            try await file.readFails(reader, at: 90 * 65_536, count: 9, .unavailable(.notEntitled))
            #expect(try await file.state == .pending)
            gate.open()
            _ = try await whole.value
            #expect(try await file.state == .here)
        }
    }
}
