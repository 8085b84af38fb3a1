import Foundation
import Glibc
import Testing

@testable import SyncPlatform

@Suite(.timeLimit(.minutes(10))) struct `A part of a file as a body` {
    let client = HTTPClient()
    let scratch: Scratch

    init() throws { scratch = try Scratch() }

    /// A file of letters, so that requests can be compared as text.
    private func file(_ count: Int) throws -> (File, [UInt8]) {
        let bytes = pattern(count).map { 0x61 + $0 % 26 }
        let path = scratch("body-\(count)")
        try Data(bytes).write(to: URL(filePath: path))
        return (try File(path, for: .read), bytes)
    }

    private func put(_ server: ScriptedServer, _ body: HTTPBody) throws -> HTTPRequest {
        var request = HTTPRequest(.put, url: try server.url("/p"))
        request.body = body
        return request
    }

    @Test(arguments: [0, 1, 70_000, 600_000, 3_000_000])
    func `it is sent as it stands there, with its length`(size: Int) async throws {
        let server = ScriptedServer(answering: "HTTP/1.1 201 C\r\nContent-Length: 0\r\n\r\n")
        let (file, bytes) = try file(4_000_000)
        let request = try put(server, .file(file, offset: 1234, count: size))
        #expect(try await client.data(request).0.status == 201)
        let sent = try #require(server.requests.first)
        #expect(sent.contains("\r\nContent-Length: \(size)\r\n"))
        #expect(sent.contains("Expect: 100-continue") == (size > 1 << 20))
        let head = try #require(sent.range(of: "\r\n\r\n"))
        #expect(sent[head.upperBound...].utf8.elementsEqual(bytes[1234..<1234 + size]))
    }

    @Test func `it is read piece by piece`() async throws {
        let server = ScriptedServer(answering: ok("x"))
        let (file, _) = try file(5_000_000)
        let steps = Locked<[Int]>([])
        var request = try put(server, .file(file, offset: 0, count: 5_000_000))
        request.onSent = { count in steps.withLock { $0.append(count) } }
        #expect(try await client.text(request) == "x")
        let counts = steps.withLock { $0 }
        #expect(counts.last == 5_000_000)
        #expect(zip([0] + counts, counts).allSatisfy { $1 - $0 <= 512 << 10 && $1 > $0 })
    }

    @Test(arguments: [0, 1, 100_000, 1_999_999])
    func `a file that is shorter ends the transfer, and nothing stands in for it`(
        length: Int
    ) async throws {
        let received = Gate()
        let requests = Locked(0)
        let server = ScriptedServer { connection in
            while connection.readRequest() != nil { requests.withLock { $0 += 1 } }
            received.open()
        }
        let (file, _) = try file(length)
        let request = try put(server, .file(file, offset: 0, count: 2_000_000))
        #expect(await client.failure(of: request) == .source)
        #expect(await received.opened())
        #expect(requests.withLock { $0 } == 0, "the server never has a whole body")
    }

    @Test func `a file that cannot be read ends the transfer`() async throws {
        let server = ScriptedServer(answering: ok("x"))
        let path = scratch("written")
        _ = try File(path, for: .create)
        let file = File(adopting: Glibc.open(path, O_WRONLY | O_CLOEXEC), path: path)
        let request = try put(server, .file(file, offset: 0, count: 5))
        #expect(await client.failure(of: request) == .source)
    }

    @Test func `it is sent once more where a kept connection died`() async throws {
        let server = ScriptedServer { connection in
            guard connection.readRequest() != nil else { return }
            connection.send(ok("x"))
            guard connection.number == 0 else { return connection.awaitEnd() }
            _ = connection.readHead()
            connection.reset()
        }
        let (file, bytes) = try file(300)
        let request = try put(server, .file(file, offset: 7, count: 200))
        _ = try await client.data(request)
        #expect(try await client.text(request) == "x")
        let text = String(decoding: bytes[7..<207], as: UTF8.self)
        #expect(server.requests.map { $0.hasSuffix("\r\n\r\n" + text) } == [true, true])
    }

    @Test(arguments: [412, 413, 507])
    func `a refusal beforehand comes without a byte being read`(status: Int) async throws {
        let server = ScriptedServer { connection in
            guard connection.readHead() != nil else { return }
            connection.send("HTTP/1.1 \(status) No\r\nContent-Length: 4\r\n\r\nmuch")
            #expect(connection.readHead() == nil)
        }
        let (file, _) = try file(2_000_000)
        let isRead = Locked(false)
        var request = try put(server, .file(file, offset: 0, count: 2_000_000))
        request.onSent = { _ in isRead.withLock { $0 = true } }
        let (head, body) = try await client.data(request)
        #expect(head.status == status && body == Array("much".utf8))
        #expect(!isRead.withLock { $0 })
    }

    @Test func `large uploads hold up no small request`() async throws {
        let arrived = Gate()
        let goOn = Gate()
        let slow = ScriptedServer { connection in
            _ = connection.readHead()
            connection.send("HTTP/1.1 100 Continue\r\n\r\n")
            arrived.open()
            goOn.wait()
        }
        let quick = ScriptedServer(answering: ok("quick"))
        let (file, _) = try file(64 << 20)
        let uploads = try (0..<3).map { _ in
            let request = try put(slow, .file(file, offset: 0, count: 64 << 20))
            return Task { await client.failure(of: request) }
        }
        for _ in uploads { #expect(await arrived.opened()) }
        for size in [0, 10, 100_000] {
            let request = try put(quick, .file(file, offset: 0, count: size))
            #expect(try await client.text(request) == "quick")
        }
        for upload in uploads {
            upload.cancel()
            #expect(await upload.value == .cancelled)
            goOn.open()
        }
    }

    @Test(arguments: [400_000, 1_200_000])
    func `it is no faster than the limit`(size: Int) async throws {
        let client = HTTPClient(configuration: HTTPConfiguration(limitRate: 1 << 20))
        let server = ScriptedServer(answering: ok("x"))
        let (file, bytes) = try file(size)
        let start = ContinuousClock.now
        let request = try put(server, .file(file, offset: 0, count: size))
        #expect(try await client.text(request) == "x")
        let least = Double(size - 1 << 18) / Double(1 << 20)
        #expect(ContinuousClock.now - start >= .seconds(least))
        #expect(server.requests.first?.utf8.suffix(size).elementsEqual(bytes) == true)
    }

    @Test func `what is sent once more is no standstill`() {
        let start = ContinuousClock.now
        var clock = StallClock(limit: .seconds(60), now: start)
        let looks = [(1, 1000), (50, 0), (100, 0), (110, 0)]
        let stalls = looks.map { clock.isStalled(now: start + .seconds($0), bytes: $1) }
        #expect(stalls == [false, false, false, true])
    }
}
