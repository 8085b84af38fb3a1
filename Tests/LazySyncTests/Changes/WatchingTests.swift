import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// Staying: both ways by itself.
@Suite struct WatchingTests {
    /// Waits for the first value that fits; the test's own time limit is the end of patience.
    private func first<Value: Sendable>(
        _ stream: AsyncStream<Value>, where fits: @Sendable (Value) -> Bool
    ) async throws -> Value {
        for await value in stream where fits(value) { return value }
        throw CancellationError()
    }

    private func watch(_ engine: SyncEngine) -> (Task<Void, any Error>, AsyncStream<WatchEvent>) {
        let (stream, continuation) = AsyncStream.makeStream(of: WatchEvent.self)
        let task = Task {
            defer { continuation.finish() }
            try await engine.watch { continuation.yield($0) }
        }
        return (task, stream)
    }

    private func isDone(_ event: WatchEvent) -> Bool {
        if case .done = event { true } else { false }
    }

    @Test func `what another changes comes, and what is changed here goes, by itself`()
        async throws
    {
        try await withHome(TestAccount()) { home in
            let engine = try await home.login()
            let other = try TestHome(beside: home)
            other.configuration.clock = SystemClock()
            let watcher = try await other.login()
            let (task, events) = watch(watcher)
            let changes = watcher.changes()
            _ = try await first(events, where: isDone)
            // From elsewhere.
            _ = try await engine.add(title: "from elsewhere")
            _ = try await engine.push()
            _ = try await first(changes) { $0 == .catalog }
            #expect(try await Shown(watcher).titles == ["from elsewhere"])
            // By another program of the same device.
            let program = try await other.open()
            _ = try await program.add(title: "from here")
            let sent = try await first(events) { event in
                if case .done(let report) = event { report.push.items == 1 } else { false }
            }
            #expect(isDone(sent))
            _ = try await engine.restore()
            #expect(try await Shown(engine).titles == ["from elsewhere", "from here"])
            task.cancel()
            try await task.value
            try other.check()
        }
    }

    @Test func `what may pass is waited for, and what may not ends it`() async throws {
        try await withHome(TestAccount()) { home in
            let engine = try await home.login()
            home.server.faults.add(.get("/v1/manifest"), times: 12, .status(500))
            let (task, events) = watch(engine)
            let failed = try await first(events) { _ in true }
            if case .done = failed { Issue.record("it cannot have come") }
            _ = try await first(events, where: isDone)
            home.server.endSessions()
            home.server.faults.add(.get("/v1/manifest/head"), times: 1, .status(500))
            let ended = await #expect(throws: SyncError.self) { try await task.value }
            #expect(ended?.code == .unavailable(.signedOut))
        }
    }
}
