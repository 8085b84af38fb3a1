import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// Tokens that expire, sessions that end, and who gets to see a token.
@Suite(.timeLimit(.minutes(10))) struct SessionEndTests {
    private func refreshes(_ server: Server) -> [LogEntry] {
        server.log.entries.filter { $0.path == "/v1/sessions/refresh" }
    }

    private func account(_ count: Int, size: Int) -> (TestAccount, TestItem) {
        let account = TestAccount()
        let item = account.add("An item", (0..<count).map { TestFile("f\($0)", size: size + $0) })
        account.push()
        return (account, item)
    }

    /// Case B16: one refresh for all workers.
    @Test func `a token that expires while sixteen are at work is refreshed once`() async throws {
        let (account, item) = account(16, size: 200_000)
        try await withHome(account) { home in
            let engine = try await home.enter()
            _ = try await engine.restore(thumbnails: false)
            let gate = FaultGate()
            home.server.faults.add(
                .get("/v1/blobs/"), times: 16, .cut(at: .fraction(0.7)), .hold(gate))
            let tasks = (0..<16).map { index in
                Task { try await engine.materialize(item.key(index)) }
            }
            try await gate.reached(by: 16)
            home.server.expireTokens()
            gate.open()
            for (index, task) in tasks.enumerated() {
                let file = try await task.value
                #expect(try Whole(at: file.path) == Whole(known(account.content(item.key(index)))))
            }
            #expect(refreshes(home.server).count == 1)
            try await home.server.log.settled()
            let log = home.blobRequests
            #expect(log.count { $0.status == 401 } <= 16)
            #expect(log.count { $0.status == 206 } == 16, "each goes on from its chunks")
        }
    }

    @Test func `a token that has expired costs one refresh and one more request`() async throws {
        try await withOneFile { file in
            file.server.expireTokens()
            try await file.open(requests: 1)
            #expect(file.requests.map(\.status) == [401, 200])
            #expect(refreshes(file.server).count == 1)
            // It lasts: the next start uses the new token.
            let next = try await file.home.open()
            _ = try await next.restore()
            #expect(refreshes(file.server).count == 1)
        }
    }

    @Test func `two programs with one expired token refresh it once`() async throws {
        let (account, item) = account(2, size: 1_000)
        try await withHome(account) { home in
            let engine = try await home.enter()
            _ = try await engine.restore(thumbnails: false)
            let other = try await home.open()
            home.server.expireTokens()
            async let first = engine.materialize(item.key(0))
            async let second = other.materialize(item.key(1))
            _ = try await (first, second)
            #expect(refreshes(home.server).count == 1)
        }
    }

    @Test
    func `a server that refuses the token it just gave is serverError, not the session's end`()
        async throws
    {
        try await withOneFile { file in
            file.server.faults.add(file.request, .problem(401, code: "token-expired"))
            try await file.openFails(.serverError)
            #expect(refreshes(file.server).count <= 8)
            let status = try await file.engine.status()
            #expect(status.session == "active")
            try await file.mends(requests: 1)
        }
    }

    /// Case B18.
    @Test(arguments: ["no answer", "half an answer", "reset", "an error page"])
    func `an answer to a refresh that is lost signs nobody out`(how: String) async throws {
        try await withOneFile { file in
            let refresh = Fault.Match.post("/v1/sessions/refresh")
            switch how {
            case "no answer": file.server.faults.add(refresh, times: 1, .drop(.close))
            case "half an answer":
                file.server.faults.add(refresh, times: 1, .cut(at: .fraction(0.5)))
            case "reset": file.server.faults.add(refresh, times: 1, .drop(.reset))
            default: file.server.faults.add(refresh, times: 1, .status(502))
            }
            file.server.expireTokens()
            try await file.open()
            // The old refresh value was still good.
            let log = refreshes(file.server)
            #expect(log.count >= 2)
            #expect(Set(log.map(\.body)).count == 1)
            let status = try await file.engine.status()
            #expect(status.session == "active")
        }
    }

    @Test func `a process that dies before it kept the new token signs nobody out`() async throws {
        try await withOneFile { file in
            let places = try file.home.accountPlaces
            let old = try DurableFile.read(places.keyFile, limit: 1 << 20)
            file.server.expireTokens()
            _ = try await file.engine.restore()
            #expect(refreshes(file.server).count == 1)
            // What a start finds that follows such a death. The new token was used here, so that a
            // server may end the session; one that was never used must not.
            try DurableFile.write(old.span, to: places.keyFile)
            #expect(try DurableFile.read(places.keyFile, limit: 1 << 20) == old)
        }
        try await withOneFile { file in
            let places = try file.home.accountPlaces
            let old = try DurableFile.read(places.keyFile, limit: 1 << 20)
            file.server.expireTokens()
            file.server.faults.add(.get("/v1/blobs/"), .drop(handling: false))
            // The refresh is done, and the new token is never seen by the server.
            file.server.faults.clear()
            file.server.faults.add(file.request, skip: 1, times: 1, .answer(status: 500))
            file.server.faults.add(file.request, .drop(handling: false))
            await #expect(throws: SyncError.self) { try await file.engine.materialize(file.key) }
            file.server.faults.clear()
            try DurableFile.write(old.span, to: places.keyFile)
            let next = try await file.home.open()
            try await file.open(requests: 1, with: next)
        }
    }

    @Test(arguments: [401, 403, 404, 500])
    func `a refresh that a proxy refuses in its own name signs nobody out`(status: Int) async throws
    {
        try await withOneFile { file in
            file.server.faults.add(.post("/v1/sessions/refresh"), .html(status))
            file.server.expireTokens()
            try await file.openFails(.serverError)
            let found = try await file.engine.status()
            #expect(found.session == "active")
            try await file.mends()
        }
    }

    /// Case D2.
    @Test(arguments: [true, false])
    func `when the session has ended the list stays, what is here opens, and the rest is signedOut`(
        isRefreshRefused: Bool
    ) async throws {
        let (account, item) = account(3, size: 5_000)
        try await withHome(account) { home in
            let engine = try await home.enter()
            _ = try await engine.restore(thumbnails: false)
            let here = try await engine.materialize(item.key(0))
            if isRefreshRefused {
                home.server.expireTokens()
                home.server.faults.add(
                    .post("/v1/sessions/refresh"), .problem(401, code: "session-ended"))
            } else {
                home.server.endSessions()
            }
            let list = try await engine.attachments().map(\.key)
            for engine in [engine, try await home.open()] {
                let error = await #expect(throws: SyncError.self) {
                    try await engine.materialize(item.key(1))
                }
                #expect(error?.code == .unavailable(.signedOut))
                let same = try await engine.attachments().map(\.key)
                #expect(same == list)
                let again = try await engine.materialize(item.key(0))
                #expect(again.path == here.path && again.requests == 0)
                let asked = try await engine.explain(item.key(1)).attachment.state
                let other = try await engine.explain(item.key(2)).attachment.state
                #expect(asked == .unavailable(.signedOut) && other == .remote)
                let status = try await engine.status()
                #expect(status.session == "ended" && status.scope == account.id)
                let restore = await #expect(throws: SyncError.self) { try await engine.restore() }
                #expect(restore?.code == .unavailable(.signedOut))
            }
            // Nobody knocks with a session that is known to have ended.
            let before = home.server.log.entries.count
            await #expect(throws: SyncError.self) { try await engine.materialize(item.key(2)) }
            #expect(home.server.log.entries.count == before)
            // A login mends it, and keeps what is here.
            home.server.faults.clear()
            await engine.close()
            let next = try await home.login()
            let opened = try await next.materialize(item.key(1))
            #expect(opened.requests == 1)
            let still = try await next.materialize(item.key(0))
            #expect(still.requests == 0)
        }
    }

    @Test func `blobs on another origin get no token`() async throws {
        let (account, item) = account(1, size: 300_000)
        let store = try Server(serving: [account.serve()])
        try store.start()
        defer { store.stop() }
        let options = ServerOptions(blobOrigin: .server("http://localhost:\(store.port)"))
        try await withHome(account, options: options) { home in
            let engine = try await home.login()
            _ = try await engine.restore(thumbnails: false)
            store.faults.add(.get("/open/"), times: 1, .cut(at: .bytes(100_000)))
            let file = try await engine.materialize(item.key())
            #expect(file.requests == 2)
            #expect(home.blobRequests.isEmpty)
            #expect(store.log.entries.count == 2)
            #expect(store.log.entries.allSatisfy { !$0.isAuthorized })
            #expect(store.log.entries.map { $0.range != nil } == [false, true])
        }
    }

    @Test(arguments: ["session-ended", "token-expired"])
    func `what another origin says about a session is its own trouble`(code: String) async throws {
        let (account, item) = account(1, size: 1_000)
        let store = try Server(serving: [account.serve()])
        try store.start()
        defer { store.stop() }
        let options = ServerOptions(blobOrigin: .server("http://localhost:\(store.port)"))
        try await withHome(account, options: options) { home in
            let engine = try await home.login()
            _ = try await engine.restore(thumbnails: false)
            store.faults.add(.get("/open/"), .problem(401, code: code))
            let error = await #expect(throws: SyncError.self) {
                try await engine.materialize(item.key())
            }
            #expect(error?.code == .unavailable(.serverError))
            let status = try await engine.status()
            #expect(status.session == "active")
            #expect(refreshes(home.server).isEmpty)
            store.faults.clear()
            let found = try await engine.retry(item.key())
            #expect(found.attachment.state == .here)
        }
    }
}
