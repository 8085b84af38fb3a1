import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// What a list that updates itself is told.
@Suite(.timeLimit(.minutes(10))) struct StateChangeTests {
    /// The changes of one attachment up to the first that is not `pending`.
    private func changes(
        of key: AttachmentKey, _ engine: SyncEngine, _ body: () async -> Void
    ) async -> [(BlobState, Int64)] {
        let stream = engine.changes()
        await body()
        var found: [(BlobState, Int64)] = []
        for await change in stream {
            guard case .attachment(key, let state, let bytes) = change else { continue }
            found.append((state, bytes))
            if state != .pending { break }
        }
        return found
    }

    @Test func `an open is pending with rising bytes, and then here with all of them`() async throws
    {
        try await withOneFile(50 * 65_536 + 5) { file in
            let found = await changes(of: file.key, file.engine) { _ = try? await file.open() }
            #expect(found.count >= 4)
            #expect(found.first?.0 == .pending && found.first?.1 == 0)
            #expect(zip(found, found.dropFirst()).allSatisfy { $0.1 <= $1.1 })
            #expect(found.last?.0 == .here && found.last?.1 == Int64(file.content.count))
        }
    }

    @Test func `an open that fails ends in its reason, with the bytes that are here`() async throws
    {
        try await withOneFile { file in
            file.server.faults.add(file.request, .flip(at: file.geometry.sealedRange(4).lowerBound))
            let found = await changes(of: file.key, file.engine) { _ = try? await file.open() }
            #expect(found.last?.0 == .unavailable(.corrupt))
            #expect(found.last?.1 == Int64(file.content.count - 65_536))
        }
    }

    @Test func `a failure that cannot be noted is told all the same`() async throws {
        try await withOneFile { file in
            try file.home.execute(
                """
                CREATE TRIGGER refuse BEFORE UPDATE OF here_boot ON blob BEGIN
                    SELECT RAISE(ABORT, 'no room for this');
                END;
                """)
            file.server.faults.add(file.request, .problem(403, code: "not-entitled"))
            let found = await changes(of: file.key, file.engine) {
                let error = await #expect(throws: SyncError.self) {
                    try await file.engine.materialize(file.key)
                }
                #expect(error?.code == .unavailable(.notEntitled))
            }
            #expect(found.last?.0 == .unavailable(.notEntitled))
            try file.home.execute("DROP TRIGGER refuse")
        }
    }

    @Test func `a file that cannot be marked is told as not here, and costs no request later`()
        async throws
    {
        try await withOneFile { file in
            try file.home.execute(
                """
                CREATE TRIGGER refuse BEFORE UPDATE OF here_boot ON blob BEGIN
                    SELECT RAISE(ABORT, 'no room for this');
                END;
                """)
            let found = await changes(of: file.key, file.engine) {
                await #expect(throws: SyncError.self) {
                    try await file.engine.materialize(file.key)
                }
            }
            #expect(found.last?.0 == .remote)
            try file.home.execute("DROP TRIGGER refuse")
            try await file.open(requests: 0)
        }
    }

    @Test func `what is here at once changes nothing`() async throws {
        try await withOneFile { file in
            try await file.open()
            let stream = file.engine.changes()
            try await file.open(requests: 0)
            await file.engine.close()
            for await change in stream { Issue.record("\(change)") }
        }
    }

    @Test func `after a logout nothing can be opened, and a transfer that was on is over`()
        async throws
    {
        try await withOneFile { file in
            let gate = FaultGate()
            file.server.faults.add(file.request, times: 1, .hold(gate))
            let openers = Openers(1, of: file.key, with: file.engine)
            try await gate.reached()
            _ = try await file.engine.logout()
            gate.open()
            await #expect(throws: SyncError.self) { try await openers.tasks[0].value }
            let error = await #expect(throws: SyncError.self) {
                try await file.engine.materialize(file.key)
            }
            #expect(error?.code == .notLoggedIn)
            #expect(try FileSystem.facts(file.home.places.cache + "/\(file.account.id)") == nil)
        }
    }
}
