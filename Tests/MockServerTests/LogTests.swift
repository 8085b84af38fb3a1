import Foundation
import TestSupport
import Testing

@testable import MockServer

@Suite struct LogTests {
    @Test func `a request is logged with all that a test may ask for`() async throws {
        let test = try TestServer()
        _ = try await test.get(
            "/v1/blobs/blob?x=1&y", "-H", "Range: bytes=0-9", "-H", "If-Range: \"no\"")
        try await test.server.log.settled()
        let entry = try #require(test.server.log.entries.last)
        #expect(entry.method == "GET" && entry.path == "/v1/blobs/blob" && entry.query == "x=1&y")
        #expect(entry.range == "bytes=0-9" && entry.ifRange == "\"no\"" && entry.isAuthorized)
        #expect(entry.header("user-agent")?.hasPrefix("curl/") == true)
        #expect(entry.status == 200 && entry.bytesSent == 1000 && entry.ending == .whole)
        #expect(entry.number == 2 && entry.fault == nil && entry.took != nil)
        let login = try #require(test.server.log.entries.first)
        #expect(login.path == "/v1/sessions" && !login.isAuthorized && !login.body.isEmpty)
    }

    @Test func `requests of one connection show that they shared it`() async throws {
        let test = try TestServer()
        let url = "\(test.server.url)/v1/keys"
        _ = try await test.get("/v1/keys", url, "-o", "/dev/null")
        _ = try await test.get("/v1/keys")
        let connections = test.server.log.entries.filter { $0.path == "/v1/keys" }.map(\.connection)
        #expect(connections.count == 3)
        #expect(connections[0] == connections[1] && connections[1] != connections[2])
    }

    @Test func `a second blob over the same connection has its own range`() async throws {
        let test = try TestServer()
        let url = "\(test.server.url)/v1/blobs/blob"
        let bearer = "Authorization: Bearer \(try await test.token())"
        _ = try await test.get(
            "/v1/blobs/blob", "-r", "5-9", url, "--next", "-sS", "-o", "/dev/null", "-H", bearer)
        #expect(test.blobRequests.map(\.range) == ["bytes=5-9", nil])
        #expect(Set(test.blobRequests.map(\.connection)).count == 1)
    }

    @Test func `a client that breaks off leaves a cut of what it got`() async throws {
        let folder = testsFolder.appendingPathComponent("blobs-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try Data(count: 50 << 20).write(to: folder.appendingPathComponent("large"))
        let seed = TestServer.seed(entries: 0, blobs: [:])
        let account = ServedAccount(
            seed, entries: try EntryLog(), blobs: BlobStore(folder: folder.path))
        let server = try Server(serving: [account], options: ServerOptions(blobOrigin: .own))
        try server.start()
        let answer = try await curl(
            "--limit-rate", "100k", "--max-time", "1",
            "\(server.url)/open/\(seed.accountId)/large")
        #expect(answer.exit == 28)
        try await server.log.settled()
        let entry = try #require(server.log.entries.first)
        #expect(entry.ending == .cut)
        #expect(entry.bytesSent > 0 && entry.bytesSent < 50 << 20)
    }

    @Test func `the log can be waited for, and the wait can end`() async throws {
        let test = try TestServer()
        let log = test.server.log
        async let arrival: Void = log.waitFor(count: 2) { $0.path == "/v1/keys" }
        _ = try await test.get("/v1/keys")
        _ = try await test.get("/v1/keys")
        try await arrival
        #expect(log.count { $0.path == "/v1/keys" } == 2)
        await #expect(throws: (any Error).self) {
            try await log.waitFor(timeout: .milliseconds(20)) { $0.path == "/never" }
        }
        let waiting = Task { try await log.waitFor { $0.path == "/never" } }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
    }

    @Test func `a log file has one object a line, and no secret`() async throws {
        let file = testsFolder.appendingPathComponent("log-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        let test = try TestServer(options: ServerOptions(logFile: file.path))
        let token = try await test.token()
        _ = try await test.get("/v1/blobs/blob", "-r", "0-1")
        try await test.server.log.settled()
        test.server.stop()
        let text = try String(contentsOf: file, encoding: .utf8)
        let lines = text.split(separator: "\n").compactMap {
            try? JSONTree(parsing: Array($0.utf8))
        }
        #expect(lines.count == 2 && !text.contains(token))
        #expect(lines.last?["range"] == "bytes=0-1" && lines.last?["status"] == 206)
        #expect(lines.last?["bytesSent"] == 2 && lines.last?["authorized"] == true)
    }
}
