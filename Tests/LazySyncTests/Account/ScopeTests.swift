import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// A session is not a scope: which catalog the next start opens, after everything that can happen.
@Suite(.timeLimit(.minutes(10))) struct ScopeTests {
    /// The records that the next start shows.
    private func records(_ home: TestHome) async throws -> [AttachmentKey] {
        let engine = try await home.open()
        let keys = try await engine.attachments().map(\.key)
        await engine.close()
        return keys
    }

    private func opening(_ home: TestHome) async throws -> SyncError.Code? {
        let error = await #expect(throws: SyncError.self) { try await home.open() }
        return error?.code
    }

    /// Case D2, over restarts.
    @Test(arguments: ["expired", "revoked"])
    func `a session that ended by itself leaves the same catalog at every start`(
        how: String
    ) async throws {
        try await withOneFile { file in
            try await file.open()
            let more = file.account.add("Another", TestFile("other", size: 10))
            file.account.push()
            _ = try await file.engine.restore()
            let list = try await file.engine.attachments().map(\.key)
            #expect(list.count == 2)
            if how == "expired" {
                file.server.expireTokens()
                file.server.faults.add(
                    .post("/v1/sessions/refresh"), .problem(401, code: "session-ended"))
            } else {
                file.server.endSessions()
            }
            await #expect(throws: SyncError.self) { try await file.engine.restore() }
            await file.engine.close()
            for _ in 0..<2 {
                #expect(try await records(file.home) == list)
                let engine = try await file.home.open()
                let status = try await engine.status()
                #expect(status.session == "ended" && status.scope == file.account.id)
                try await file.open(requests: 0, with: engine)
                let error = await #expect(throws: SyncError.self) {
                    try await engine.materialize(more.key())
                }
                #expect(error?.code == .unavailable(.signedOut))
                await engine.close()
            }
            // A login renews the session, and the scope is what it was.
            file.server.faults.clear()
            let again = try await file.home.login()
            let status = try await again.status()
            #expect(status.session == "active" && status.states["here"] == 1)
            #expect(try await again.attachments().map(\.key) == list)
        }
    }

    @Test func `a logout clears session and scope, and a login begins anew`() async throws {
        try await withOneFile { file in
            _ = try await file.engine.logout()
            #expect(try await opening(file.home) == .notLoggedIn)
            #expect(try await opening(file.home) == .notLoggedIn)
            let again = try await file.home.login()
            #expect(try await again.attachments().isEmpty)
            _ = try await again.restore()
            #expect(try await records(file.home) == [file.key])
        }
    }

    @Test func `another account opens only after a logout, and shows nothing of the first`()
        async throws
    {
        let other = TestAccount("other", seed: 2)
        let theirs = other.add("Theirs", TestFile("theirs", size: 10))
        other.push()
        try await withOneFile { file in
            let server = try Server(serving: [other.serve()])
            try server.start()
            defer { server.stop() }
            var request = file.home.loginRequest
            request.server = "\(server.url)"
            request.account = other.name
            let configuration = file.home.configuration
            let error = await #expect(throws: SyncError.self) {
                try await SyncEngine.login(request, configuration)
            }
            #expect(error?.code == .anotherAccount)
            #expect(try await records(file.home) == [file.key])
            _ = try await file.engine.logout()
            let engine = try await SyncEngine.login(request, configuration)
            _ = try await engine.restore()
            #expect(try await records(file.home) == [theirs.key()])
            _ = try await engine.logout()
        }
    }

    @Test func `settings that are damaged or of a newer version are refused and not touched`()
        async throws
    {
        try await withOneFile { file in
            await file.engine.close()
            let path = file.home.places.settings
            let good = try DurableFile.read(path, limit: 1 << 20)
            let catalog = try Whole(at: file.home.accountPlaces.catalog)
            let catalogPath = try file.home.accountPlaces.catalog
            for (text, code) in [
                ("{", SyncError.Code.storage), ("", .storage), (#"{"version":2}"#, .newerCatalog),
            ] {
                try DurableFile.write(Array(text.utf8).span, to: path)
                #expect(try await opening(file.home) == code)
                let out = await #expect(throws: SyncError.self) {
                    try await SyncEngine.logout(file.home.configuration)
                }
                #expect(out?.code == code)
                #expect(try DurableFile.read(path, limit: 1 << 20) == Array(text.utf8))
                #expect(try Whole(at: catalogPath) == catalog)
            }
            try DurableFile.write(good.span, to: path)
            #expect(try await records(file.home) == [file.key])
        }
    }

    @Test func `without settings nobody is logged in, and a login goes on with what is there`()
        async throws
    {
        try await withOneFile { file in
            try await file.open()
            await file.engine.close()
            try FileSystem.remove(file.home.places.settings)
            let error = await #expect(throws: SyncError.self) { try await file.home.open() }
            #expect(error?.code == .notLoggedIn)
            #expect(error?.detail.contains("\(file.account.id)") == true)
            let engine = try await file.home.login()
            #expect(try await engine.attachments().map(\.key) == [file.key])
            try await file.open(requests: 0, with: engine)
        }
    }

    @Test func `a catalog that is gone keeps the scope, and a login brings a new one`() async throws
    {
        try await withOneFile { file in
            await file.engine.close()
            let catalog = try file.home.accountPlaces.catalog
            for suffix in ["", "-wal", "-shm"] { try FileSystem.remove(catalog + suffix) }
            #expect(try await opening(file.home) == .notACatalog)
            #expect(try FileSystem.facts(catalog) == nil)
            let engine = try await file.home.login()
            _ = try await engine.restore()
            #expect(try await records(file.home) == [file.key])
        }
    }

    @Test func `a key store without the key changes nothing of the scope`() async throws {
        try await withOneFile { file in
            await file.engine.close()
            try FileSystem.remove(try file.home.accountPlaces.keyFile)
            for _ in 0..<2 {
                #expect(try await records(file.home) == [file.key])
                let engine = try await file.home.open()
                let status = try await engine.status()
                #expect(status.session == "keyMissing" && status.scope == file.account.id)
                await engine.close()
            }
        }
    }
}
