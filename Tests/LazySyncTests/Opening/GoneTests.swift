import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// Records that the store does not have, and what a proxy says in its own name.
@Suite(.timeLimit(.minutes(10))) struct GoneTests {
    private func manifestRequests(_ file: OneFile) -> Int { file.home.manifestRequests.count }

    @Test(arguments: [
        (404, "no-such-blob"), (410, "blob-gone"),
    ])
    func `a record that is gone is notFound once the catalog is up to date`(
        status: Int, code: String
    ) async throws {
        try await withOneFile { file in
            file.server.faults.add(file.request, .problem(status, code: code))
            let before = manifestRequests(file)
            let evidence = try await file.openFails(.notFound)
            #expect(evidence.status == status && evidence.code == code)
            #expect(file.requests.count == 1)
            #expect(manifestRequests(file) > before, "it pulled")
            try await file.mends(requests: 1)
        }
    }

    @Test func `a record that is gone is not notFound while the catalog may be old`() async throws {
        try await withOneFile { file in
            file.server.faults.add(file.request, .problem(404, code: "no-such-blob"))
            file.server.faults.add(.get("/v1/manifest"), .html(500))
            try await file.openFails(.serverError)
            try await file.mends(requests: 1)
        }
    }

    @Test func `an attachment that was replaced opens under its new address`() async throws {
        try await withOneFile { file in
            let old = file.record
            let changed = file.account.change(file.item.id) { item in
                item.attachments[0] = file.account.attach(
                    TestFile("report.pdf", size: 123_456), to: item.id, id: item.attachments[0].id)
            }
            file.account.push()
            known(file.server.account("demo")).deleteBlob(old)
            let new = OneFile(home: file.home, engine: file.engine, item: changed)
            let stream = file.engine.changes()
            try await new.open(requests: 1)
            #expect(file.requests.count == 1 && new.requests.count == 1)
            // Nobody was told that it is not there.
            for await change in stream {
                guard case .attachment(_, let state, _) = change else { continue }
                #expect(state != .unavailable(.notFound))
                if state == .here { break }
            }
            // What was there of the old one is gone.
            #expect(try FileSystem.facts(file.place.folder) == nil)
            let status = try await file.engine.status()
            #expect(status.states["here"] == 1 && status.states["unavailable"] == 0)
        }
    }

    @Test func `an attachment that was taken away is addressMissing after the pull`() async throws {
        try await withOneFile { file in
            file.account.change(file.item.id) { $0.attachments[0].ref = .null }
            file.account.push()
            known(file.server.account("demo")).deleteBlob(file.record)
            let error = await #expect(throws: SyncError.self) {
                try await file.engine.materialize(file.key)
            }
            #expect(error?.code == .unavailable(.addressMissing))
            #expect(file.requests.count == 1)
        }
    }

    @Test func `an attachment whose item was deleted is no attachment after the pull`() async throws
    {
        try await withOneFile { file in
            file.account.remove(file.item.id)
            file.account.push()
            known(file.server.account("demo")).deleteBlob(file.record)
            let error = await #expect(throws: SyncError.self) {
                try await file.engine.materialize(file.key)
            }
            #expect(error?.code == .noSuchID)
            let left = try await file.engine.attachments()
            #expect(left.isEmpty)
        }
    }

    @Test func `many that are gone at once pull together`() async throws {
        let account = TestAccount()
        let files = (0..<12).map { TestFile("f\($0)", size: 100) }
        let item = account.add("An item", files)
        account.push()
        try await withHome(account) { home in
            let engine = try await home.enter()
            _ = try await engine.restore()
            let gate = FaultGate()
            home.server.faults.add(
                .get("/v1/blobs/"), .problem(404, code: "no-such-blob"), .hold(gate))
            let before = home.manifestRequests.count
            await withTaskGroup(of: Void.self) { group in
                for index in files.indices {
                    group.addTask {
                        let error = await #expect(throws: SyncError.self) {
                            try await engine.materialize(item.key(index))
                        }
                        #expect(error?.code == .unavailable(.notFound))
                    }
                }
                try? await gate.reached(by: files.count)
                gate.open()
            }
            #expect(home.manifestRequests.count - before <= files.count)
        }
    }

    @Test func `402 and 403 with their code are notEntitled, at once`() async throws {
        for status in [402, 403] {
            try await withOneFile { file in
                file.server.faults.add(file.request, .problem(status, code: "not-entitled"))
                let evidence = try await file.openFails(.notEntitled)
                #expect(evidence.status == status && file.requests.count == 1)
                try await file.mends(requests: 1)
            }
        }
    }

    /// Case B17.
    @Test(arguments: [401, 402, 403, 404, 410], [true, false])
    func `what a proxy says in its own name is serverError, and signs nobody out`(
        status: Int, isHTML: Bool
    ) async throws {
        try await withOneFile { file in
            let before = manifestRequests(file)
            file.server.faults.add(file.request, isHTML ? .html(status) : .answer(status: status))
            let evidence = try await file.openFails(.serverError)
            #expect(evidence.status == status && evidence.code == nil)
            #expect(evidence.attempts == 8 && file.requests.count == 8)
            #expect(manifestRequests(file) == before, "nothing says that the catalog is old")
            #expect(try await file.engine.status().session == "active")
            #expect(file.server.log.count { $0.path.hasPrefix("/v1/sessions") } == 0)
            try await file.mends(requests: 1)
        }
    }

    @Test func `a thumbnail that was replaced comes under its new address`() async throws {
        let account = TestAccount()
        let item = account.add("A photo", .photo("a.jpg"))
        account.push()
        try await withHome(account) { home in
            let engine = try await home.enter()
            _ = try await engine.restore(thumbnails: false)
            let changed = account.change(item.id) { item in
                item.attachments[0] = account.attach(
                    .photo("b.jpg", thumb: 4_321), to: item.id, id: item.attachments[0].id)
            }
            account.push()
            known(home.server.account("demo")).deleteBlob(known(item.thumbRecord()))
            let file = try await engine.thumbnail(item.key())
            #expect(file.size == 4_321)
            let content = account.contents[known(changed.thumbRecord())]
            #expect(try DurableFile.read(file.path, limit: 10_000) == content)
        }
    }
}
