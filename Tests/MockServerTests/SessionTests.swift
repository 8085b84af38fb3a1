import Foundation
import Testing

@testable import MockServer

@Suite struct SessionTests {
    @Test func `the kdf call needs no token and says what the account says`() async throws {
        let test = try TestServer()
        let answer = try await curl("\(test.server.url)/v1/accounts/demo/kdf")
        #expect(answer.status == 200)
        #expect(answer.header("Content-Type") == "application/json")
        #expect(
            answer.json == [
                "accountId": .string(test.seed.accountId), "kdf": "argon2id13", "ops": 3,
                "mem": "67108864", "salt": .string(test.seed.kdf.salt),
            ])
    }

    @Test func `a name that does not exist gets values of its own that never change`() async throws
    {
        let test = try TestServer()
        let other = try TestServer()
        let first = try await curl("\(test.server.url)/v1/accounts/nobody%20here/kdf")
        let again = try await curl("\(other.server.url)/v1/accounts/nobody%20here/kdf")
        let third = try await curl("\(test.server.url)/v1/accounts/somebody/kdf")
        #expect(first.status == 200 && first.body == again.body && first.body != third.body)
        #expect(first.json["accountId"]?.string.flatMap { EntryID($0) } != nil)
        #expect(first.json["salt"]?.string.flatMap { Base64URL.decode($0) }?.count == 16)
        #expect(first.json["mem"] == "67108864" && first.json["ops"] == 3)
    }

    @Test(arguments: [("passphrase", TestServer.authKey), ("recovery", TestServer.recoveryKey)])
    func `a login answers with the record of its kind`(kind: String, key: [UInt8]) async throws {
        let test = try TestServer()
        let answer = try await test.login(with: kind, key: key)
        let credential = kind == "recovery" ? test.seed.recovery : test.seed.passphrase
        #expect(answer.status == 201)
        #expect(answer.json["keyRecord"] == JSONTree(credential?.record))
        #expect(answer.json["accountId"]?.string == test.seed.accountId)
        #expect(answer.json["epoch"] == 1 && answer.json["expiresIn"] == 3600)
        #expect(answer.json["token"]?.string != nil && answer.json["refresh"]?.string != nil)
        #expect(answer.json["blobs"] == nil)
    }

    @Test func `a wrong key, another kind's key and an unknown account are bad credentials`()
        async throws
    {
        let test = try TestServer()
        let wrong = try await test.login(key: [UInt8](repeating: 9, count: 32))
        #expect(wrong.status == 401 && wrong.code == "bad-credentials")
        #expect(try await test.login(key: TestServer.recoveryKey).code == "bad-credentials")
        let unknown = try await test.post(
            "/v1/sessions",
            [
                "account": .string(TestServer.id(1)), "device": "test", "with": "passphrase",
                "authKey": .string(Base64URL.encode(TestServer.authKey)),
            ])
        #expect(unknown.code == "bad-credentials")
    }

    @Test(arguments: [
        "", "[]", "{", #"{"account":"a","account":"b"}"#, #"{"account":"a"}"#,
        #"{"account":"a","authKey":"AA","device":"d","with":"passphrase"}"#,
    ])
    func `a login that is not one is a bad request`(body: String) async throws {
        let test = try TestServer()
        let answer = try await curl("-d", body, "\(test.server.url)/v1/sessions")
        #expect(answer.status == 400 && answer.code == "bad-request")
    }

    @Test func `a body without a length is 411, one too large 413, before it is sent`() async throws
    {
        let test = try TestServer()
        let bare = try await curl("-X", "POST", "\(test.server.url)/v1/sessions")
        #expect(bare.status == 411 && bare.code == "length-required")
        let large = try await curl(
            "-X", "POST", "-H", "Content-Length: 1048577", "-H", "Expect: 100-continue", "-d", "x",
            "\(test.server.url)/v1/sessions")
        #expect(large.status == 413 && large.code == "too-large")
    }

    @Test func `a missing or unknown token is an ended session, an old one has expired`()
        async throws
    {
        let clock = ManualClock()
        let test = try TestServer(options: ServerOptions(tokenLifetime: 60, clock: { clock.now }))
        let missing = try await curl("\(test.server.url)/v1/keys")
        #expect(missing.status == 401 && missing.code == "session-ended")
        let unknown = try await curl(
            "-H", "Authorization: Bearer nothing", "\(test.server.url)/v1/keys")
        #expect(unknown.status == 401 && unknown.code == "session-ended")
        #expect(try await test.get("/v1/keys").status == 200)
        clock.advance(by: 59)
        #expect(try await test.get("/v1/keys").status == 200)
        clock.advance(by: 1)
        let expired = try await test.get("/v1/keys")
        #expect(expired.status == 401 && expired.code == "token-expired")
    }

    @Test func `an old refresh value gives the same answer until the new token is used`()
        async throws
    {
        let test = try TestServer()
        let value: JSONTree = ["refresh": .string(try await test.refreshValue())]
        let first = try await test.post("/v1/sessions/refresh", value)
        let again = try await test.post("/v1/sessions/refresh", value)
        #expect(first.status == 200 && first.json["expiresIn"] == 3600)
        #expect(first.body == again.body)

        let token = try #require(first.json["token"]?.string)
        let use = try await curl(
            "-H", "Authorization: Bearer \(token)", "\(test.server.url)/v1/keys")
        #expect(use.status == 200)
        let late = try await test.post("/v1/sessions/refresh", value)
        #expect(late.status == 401 && late.code == "session-ended")
        let next: JSONTree = ["refresh": first.json["refresh"] ?? .null]
        #expect(try await test.post("/v1/sessions/refresh", next).status == 200)
    }

    @Test func `an old refresh value is good for 10 minutes at most`() async throws {
        let clock = ManualClock()
        let test = try TestServer(options: ServerOptions(clock: { clock.now }))
        let value: JSONTree = ["refresh": .string(try await test.refreshValue())]
        let first = try await test.post("/v1/sessions/refresh", value)
        clock.advance(by: 600)
        #expect(try await test.post("/v1/sessions/refresh", value).body == first.body)
        clock.advance(by: 1)
        #expect(try await test.post("/v1/sessions/refresh", value).code == "session-ended")
    }

    @Test func `a logout ends the token and the refresh value`() async throws {
        let test = try TestServer()
        let refresh = try await test.refreshValue()
        let answer = try await test.get("/v1/sessions/current", "-X", "DELETE")
        #expect(answer.status == 204 && answer.body.isEmpty)
        #expect(try await test.get("/v1/keys").code == "session-ended")
        let late = try await test.post("/v1/sessions/refresh", ["refresh": .string(refresh)])
        #expect(late.code == "session-ended")
    }

    @Test func `tokens expire and sessions end at a word`() async throws {
        let test = try TestServer()
        let refresh = try await test.refreshValue()
        test.server.expireTokens()
        #expect(try await test.get("/v1/keys").code == "token-expired")
        let grant = try await test.post("/v1/sessions/refresh", ["refresh": .string(refresh)])
        #expect(grant.status == 200)
        test.server.endSessions()
        #expect(try await test.get("/v1/keys").code == "session-ended")
    }

    @Test func `the session's answer can name another address for blobs`() async throws {
        let test = try TestServer(options: ServerOptions(blobOrigin: .own))
        let address = try #require(try await test.login().json["blobs"]?.string)
        #expect(address == "\(test.server.url)/open/\(test.seed.accountId)/")
        let blob = try await curl("\(address)blob")
        #expect(blob.status == 200 && blob.body == test.seed.blobs["blob"])

        let second = try TestServer(
            options: ServerOptions(blobOrigin: .server(test.server.url.absoluteString)))
        #expect(try await second.login().json["blobs"]?.string == address)
    }

    @Test func `the keys come all at once with an entity tag`() async throws {
        let test = try TestServer()
        let answer = try await test.get("/v1/keys")
        let records = [test.seed.passphrase.record, test.seed.recovery?.record]
        #expect(answer.header("ETag") == "\"keys-1\"")
        #expect(answer.json["records"]?.array?.map { $0["record"]?.string } == records)
        #expect(answer.json["records"]?.array?.map { $0["epoch"] } == [1, 1])
    }

    @Test(arguments: [
        ("POST", "/v1/keys"), ("PUT", "/v1/manifest"), ("PATCH", "/v1/blobs/blob"),
        ("PUT", "/v1/accounts"), ("GET", "/v1/uploads/blob"), ("PUT", "/v1/uploads/blob"),
        ("POST", "/v1/blobs/blob"), ("DELETE", "/v1/manifest"), ("DELETE", "/v1/sessions"),
    ])
    func `what is not there to be called is 405`(method: String, path: String) async throws {
        let test = try TestServer()
        let answer = try await test.get(path, "-X", method, "-d", "{}")
        #expect(answer.status == 405 && answer.code == "method-not-allowed")
    }

    @Test func `an unknown path is a problem that means nothing to a client`() async throws {
        let test = try TestServer()
        let answer = try await test.get("/v1/nothing")
        #expect(answer.status == 404 && answer.code == "not-found")
    }
}
