import Foundation
import TestSupport
import Testing

@testable import MockServer

@Suite struct BlobTests {
    @Test func `a blob comes whole with a strong tag and says that it takes ranges`() async throws {
        let test = try TestServer(blobs: ["blob": TestServer.bytes(200_000), "empty": []])
        let answer = try await test.get("/v1/blobs/blob")
        #expect(answer.status == 200 && answer.body == test.seed.blobs["blob"])
        #expect(answer.header("Accept-Ranges") == "bytes")
        #expect(answer.header("Content-Length") == "200000")
        #expect(answer.header("Content-Encoding") == nil)
        let etag = try #require(answer.header("ETag"))
        #expect(etag.hasPrefix("\"") && etag.hasSuffix("\""))
        let empty = try await test.get("/v1/blobs/empty")
        #expect(empty.status == 200 && empty.body.isEmpty)
    }

    @Test func `HEAD says what GET would and ignores ranges`() async throws {
        let test = try TestServer()
        let answer = try await test.get("/v1/blobs/blob", "-I", "-H", "Range: bytes=0-1")
        #expect(answer.status == 200 && answer.header("Content-Length") == "1000")
        #expect(answer.header("ETag") != nil)
        #expect(try await test.get("/v1/blobs/nothing", "-I").status == 404)
    }

    @Test(arguments: [
        ("bytes=0-0", 0..<1), ("bytes=10-19", 10..<20), ("bytes=990-", 990..<1000),
        ("bytes=-5", 995..<1000), ("bytes=900-5000", 900..<1000), ("bytes=-5000", 0..<1000),
    ])
    func `a range is 206 with the part that was asked for`(
        range: String, part: Range<Int>
    ) async throws {
        let test = try TestServer()
        let answer = try await test.get("/v1/blobs/blob", "-H", "Range: \(range)")
        #expect(answer.status == 206)
        #expect(
            answer.header("Content-Range") == "bytes \(part.lowerBound)-\(part.upperBound - 1)/1000"
        )
        #expect(answer.header("Content-Length") == "\(part.count)")
        #expect(answer.body == Array(test.seed.blobs["blob"]?[part] ?? []))
    }

    @Test func `a range behind the end is 416 with the length`() async throws {
        let test = try TestServer(blobs: ["blob": TestServer.bytes(1000), "empty": []])
        for range in ["bytes=1000-", "bytes=5000-6000", "bytes=-0"] {
            let answer = try await test.get("/v1/blobs/blob", "-H", "Range: \(range)")
            #expect(answer.status == 416 && answer.header("Content-Range") == "bytes */1000")
        }
        #expect(try await test.get("/v1/blobs/empty", "-H", "Range: bytes=0-").status == 416)
    }

    @Test(arguments: ["bytes=5-1", "bytes=0-1,5-6", "bytes=a-b", "bytes=-", "items=0-1"])
    func `a range that is none, or several, is ignored`(range: String) async throws {
        let test = try TestServer()
        let answer = try await test.get("/v1/blobs/blob", "-H", "Range: \(range)")
        #expect(answer.status == 200 && answer.body.count == 1000)
    }

    @Test func `If-Range with another tag gets the whole`() async throws {
        let test = try TestServer()
        let range = ["-H", "Range: bytes=0-9"]
        let etag = try #require(try await test.get("/v1/blobs/blob", "-I").header("ETag"))
        let same = try await test.start("/v1/blobs/blob", range + ["-H", "If-Range: \(etag)"])
            .result()
        #expect(same.status == 206)
        try test.account.putBlob("blob", TestServer.bytes(1000))
        let other = try await test.start("/v1/blobs/blob", range + ["-H", "If-Range: \(etag)"])
            .result()
        #expect(other.status == 200 && other.body.count == 1000)
    }

    @Test func `a blob that never was is 404, one that was deleted 410`() async throws {
        let test = try TestServer()
        let never = try await test.get("/v1/blobs/nothing")
        #expect(never.status == 404 && never.code == "no-such-blob")
        try test.account.deleteBlob("blob")
        let gone = try await test.get("/v1/blobs/blob")
        #expect(gone.status == 410 && gone.code == "blob-gone")
    }

    @Test func `no name leads out of the folder`() async throws {
        let test = try TestServer()
        for name in ["..%2Faccount.json", "a%2Fb", String(repeating: "a", count: 65)] {
            #expect(try await test.get("/v1/blobs/\(name)").code == "no-such-blob")
        }
    }

    @Test func `a blob can be replaced under its name, with and without a fresh tag`() async throws
    {
        let test = try TestServer()
        let etag = try await test.get("/v1/blobs/blob", "-I").header("ETag")
        let bytes = TestServer.bytes(500)
        try test.account.replaceBlobKeepingTag("blob", bytes)
        let kept = try await test.get("/v1/blobs/blob")
        #expect(kept.body == bytes && kept.header("ETag") == etag)
        try test.account.putBlob("blob", bytes)
        #expect(try await test.get("/v1/blobs/blob").header("ETag") != etag)
    }

    @Test func `the list goes by name, a page at a time`() async throws {
        let names = ["-", "A", "B_1", "a", "b", "z9"]
        let test = try TestServer(
            blobs: Dictionary(uniqueKeysWithValues: names.map { ($0, TestServer.bytes(3)) }))
        let first = try await test.get("/v1/blobs?limit=4")
        #expect(first.json["blobs"]?.array?.map { $0["name"]?.string } == Array(names[..<4]))
        #expect(first.json["next"] == "a")
        #expect(first.json["blobs"]?.array?.first?["size"] == 3)
        #expect(first.json["blobs"]?.array?.first?["created"] == "2026-05-28T20:26:40Z")
        let rest = try await test.get("/v1/blobs?limit=4&after=a")
        #expect(rest.json["blobs"]?.array?.map { $0["name"]?.string } == ["b", "z9"])
        #expect(rest.json["next"] == .null)
    }

    @Test func `an account folder is served as it is, and never written`() async throws {
        let folder = testsFolder.appendingPathComponent("account-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let blobs = folder.appendingPathComponent("blobs")
        try FileManager.default.createDirectory(at: blobs, withIntermediateDirectories: true)
        let large = TestServer.bytes(300_000)
        try Data(large).write(to: blobs.appendingPathComponent("large"))
        try Data([1, 2, 3]).write(to: blobs.appendingPathComponent("small"))
        let hash = Service.blake2b(TestServer.authKey).hex
        let account = """
            {"name":"demo","accountId":"\(TestServer.id(5))","epoch":1,
             "kdf":{"kdf":"argon2id13","ops":3,"mem":"67108864","salt":"AAAAAAAAAAAAAAAAAAAAAA"},
             "authKeyHash":"\(hash)","keyRecord":"S1dS","head":"\(TestServer.head(seq: 2))"}
            """
        try Data(account.utf8).write(to: folder.appendingPathComponent("account.json"))
        // Out of order, and with members in another order than the server would write.
        let lines = """
            {"seq": "2", "sealed": "AA\\\\", "id": "\(TestServer.id(1))", "kind": 0, "version": "1"}
            {"id": "\(TestServer.id(2))", "version": "3", "kind": 1, "seq": "1", "sealed": "BB"}

            """
        try Data(lines.utf8).write(to: folder.appendingPathComponent("entries.jsonl"))

        let server = try Server(accounts: [folder])
        try server.start()
        let login: JSONTree = [
            "account": .string(TestServer.id(5)), "device": "t", "with": "passphrase",
            "authKey": .string(Base64URL.encode(TestServer.authKey)),
        ]
        let token = try await curl("-d", login.text, "\(server.url)/v1/sessions").json["token"]?
            .string
        let bearer = "Authorization: Bearer \(token ?? "")"
        let page = try await curl("-H", bearer, "\(server.url)/v1/manifest")
        #expect(page.json["entries"]?.array?.map { $0["seq"]?.string } == ["1", "2"])
        for (name, bytes) in [("large", large), ("small", [1, 2, 3])] {
            let blob = try await curl("-H", bearer, "\(server.url)/v1/blobs/\(name)")
            #expect(blob.status == 200 && blob.body == bytes)
        }
        let part = try await curl(
            "-H", bearer, "-r", "100000-299999", "\(server.url)/v1/blobs/large")
        #expect(part.status == 206 && part.body == Array(large[100_000...]))
        try #require(server.account("demo")).putBlob("small", [4])
        #expect(try Data(contentsOf: blobs.appendingPathComponent("small")) == Data([1, 2, 3]))
    }
}
