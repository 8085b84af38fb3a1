import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// What an earlier open left is taken up, and nothing that only looks like it.
@Suite(.timeLimit(.minutes(10))) struct ResumeTests {
    /// Leaves the file as an open that was killed in the middle does.
    private func interrupt(_ file: OneFile, chunks: Int) async throws {
        file.server.faults.add(file.request, times: 1, .cut(at: file.fraction(chunks: chunks)))
        file.server.faults.add(file.request, .drop())
        try await file.openFails(.offline)
        file.server.faults.clear()
    }

    /// Case B1, for what lies in the files; the processes are killed elsewhere.
    @Test func `the next start takes up the verified chunks`() async throws {
        try await withOneFile { file in
            try await interrupt(file, chunks: 6)
            let next = try await file.home.open()
            try await file.open(requests: 1, with: next)
            #expect(file.ranges.last == file.range(from: 6))
        }
    }

    @Test func `a file with its name and without its mark is proved without a request`()
        async throws
    {
        try await withOneFile { file in
            try await file.open()
            // As if the process had died after the rename and before the commit.
            try file.home.execute(
                """
                UPDATE tally SET value = 0 WHERE name = 'blobsHere';
                UPDATE blob SET here_boot = NULL;
                """)
            let next = try await file.home.open()
            let before = try await next.explain(file.key)
            #expect(before.attachment.state == .remote)
            file.server.stop()
            try await file.open(requests: 0, with: next)
            #expect(try await next.explain(file.key).attachment.state == .here)
        }
    }

    @Test func `a complete part without its name is proved without a request`() async throws {
        try await withOneFile { file in
            let opened = try await file.open()
            try FileSystem.setMode(opened.path, 0o600)
            try FileSystem.rename(opened.path, to: file.place.part)
            file.server.stop()
            try await file.open(requests: 0)
        }
    }

    @Test func `a crash leaves no spinner`() async throws {
        try await withOneFile { file in
            try await interrupt(file, chunks: 6)
            let next = try await file.home.open()
            let state = try await next.explain(file.key).attachment.state
            #expect(state == .unavailable(.offline))
            let pending = try await next.status().states["pending"]
            #expect(pending == 0)
        }
    }

    @Test func `somebody who writes into a file that is here gets it back as it should be`()
        async throws
    {
        try await withOneFile { file in
            let path = try await file.open().path
            try FileSystem.setMode(path, 0o600)
            try File(path, for: .readWrite).write([1, 2, 3], at: 70_000)
            try await file.open(requests: 1)
            let chunk = file.geometry.sealedRange(1)
            #expect(file.ranges.last == "bytes=\(chunk.lowerBound)-\(chunk.upperBound - 1)")
        }
    }

    @Test(arguments: ["the file", "its folder", "all of the cache"])
    func `what was removed from the cache comes again`(what: String) async throws {
        try await withOneFile { file in
            let path = try await file.open().path
            let cache = try file.home.accountPlaces.cache
            switch what {
            case "the file": try FileSystem.remove(path)
            case "its folder": try Directory.removeTree(file.place.folder)
            default: try Directory.removeTree(cache)
            }
            // Still marked as here; a retry looks.
            let found = try await file.engine.retry(file.key)
            #expect(found.attachment.state == .here && found.path != nil)
            #expect(file.requests.count == 2)
            try await file.open(requests: 0)
        }
    }

    @Test func `a new boot proves a file again, and needs no network for it`() async throws {
        try await withOneFile { file in
            try await file.open()
            try file.home.execute("UPDATE blob SET here_boot = 'another boot'")
            file.server.stop()
            try await file.open(requests: 0)
        }
    }

    @Test func `only missing chunks are fetched, run by run`() async throws {
        try await withOneFile { file in
            let path = try await file.open().path
            try FileSystem.setMode(path, 0o600)
            let bytes = try File(path, for: .readWrite)
            for chunk in [2, 3, 7] { try bytes.write([0xFF], at: chunk * 65_536 + 9) }
            try await file.open(requests: 2)
            let (first, last) = (file.geometry.sealedRange(2), file.geometry.sealedRange(3))
            let other = file.geometry.sealedRange(7)
            #expect(
                file.ranges.suffix(2) == [
                    "bytes=\(first.lowerBound)-\(last.upperBound - 1)",
                    "bytes=\(other.lowerBound)-\(other.upperBound - 1)",
                ])
        }
    }

    @Test func `holes in a file of the right length are not content`() async throws {
        // Case B13: the end was read, the rest never came.
        try await withOneFile { file in
            try Directory.make(file.place.folder)
            let part = try File(file.place.part, for: .readWriteOrCreate)
            try part.truncate(to: Int64(file.content.count))
            try File(file.place.tags, for: .readWriteOrCreate).truncate(to: 16 * 11)
            try await file.open(requests: 1)
            #expect(file.ranges == [nil])
        }
    }

    /// Case B14.
    @Test func `the request after a resumed one carries nothing over from it`() async throws {
        let account = TestAccount()
        let item = account.add(
            "An item", TestFile("a", size: 700_000), TestFile("b", size: 700_001),
            TestFile("c", size: 10))
        account.push()
        try await withHome(account) { home in
            let engine = try await home.enter()
            _ = try await engine.restore(thumbnails: false)
            home.server.faults.add(
                .get("/v1/blobs/\(known(item.record(0)))"), times: 1, .cut(at: .bytes(300_000)))
            for index in 0..<3 {
                let file = try await engine.materialize(item.key(index))
                #expect(try Whole(at: file.path) == Whole(known(account.content(item.key(index)))))
            }
            try await home.server.log.settled()
            let log = home.blobRequests
            #expect(log.count == 4)
            #expect(log.map { $0.range != nil } == [false, true, false, false])
            #expect(log.map { $0.ifRange != nil } == [false, true, false, false])
            #expect(log[1].connection == log[2].connection, "the same connection")
        }
    }

    /// Case B16: an address that a redirect gave, and that expires.
    @Test func `a redirected address that expires in the middle is asked for anew, once`()
        async throws
    {
        try await withOneFile { file in
            file.server.faults.add(file.request, .redirectToSigned())
            file.server.faults.add(
                .get("/signed/"), times: 1, .cut(at: file.fraction(chunks: 7)), .then(.expireSigned)
            )
            try await file.open(requests: 2)
            let log = file.server.log.entries.filter { $0.path.hasSuffix(file.record) }
            #expect(log.map(\.status) == [302, 200, 302, 206])
            #expect(log.allSatisfy { $0.range == nil || $0.range == file.range(from: 7) })
        }
    }

    @Test func `a fresh redirect that is refused is asked for once more, and then is serverError`()
        async throws
    {
        try await withOneFile { file in
            file.server.faults.add(file.request, .redirectToSigned())
            let refused = file.server.faults.add(.get("/signed/"), times: 1, .html(403))
            try await file.open(requests: 1)
            #expect(file.server.faults.hits(refused) == 1)
        }
        try await withOneFile { file in
            file.server.faults.add(file.request, .redirectToSigned())
            file.server.faults.add(.get("/signed/"), .html(401))
            let evidence = try await file.openFails(.serverError)
            #expect(evidence.status == 401 && evidence.attempts == 8)
            let first = file.server.log.count { $0.path.hasPrefix("/v1/blobs/") }
            #expect(first == 16, "twice a try")
            let status = try await file.engine.status()
            #expect(status.session == "active")
            try await file.mends()
        }
    }

    @Test func `a redirect to another origin gets no token`() async throws {
        try await withOneFile { file in
            file.server.faults.add(
                file.request, .redirectToSigned(origin: "http://localhost:\(file.server.port)"))
            try await file.open(requests: 1)
            let log = file.server.log.entries.filter { $0.path.hasSuffix(file.record) }
            #expect(log.map(\.isAuthorized) == [true, false])
        }
    }

    @Test(arguments: [
        "http://example.com/", "http://127.0.0.1:1/x", "file:///etc/passwd", "//[", "",
    ])
    func `a redirect to nowhere good is serverError or offline, never content`(
        place: String
    ) async throws {
        try await withOneFile { file in
            file.server.faults.add(file.request, .redirect(to: place))
            let isThere = place.hasPrefix("http://127")
            try await file.openFails(isThere ? .offline : .serverError)
            try await file.mends(requests: 1)
        }
    }

    @Test func `redirects that go round end`() async throws {
        try await withOneFile { file in
            file.server.faults.add(file.request, .redirect(to: "/v1/blobs/\(file.record)"))
            try await file.openFails(.serverError)
            #expect(file.requests.count <= 8 * 6)
            try await file.mends(requests: 1)
        }
    }
}
