import Testing

@testable import MockServer

@Suite struct AccountCreationTests {
    func create(
        _ test: TestServer, _ members: [(key: String, value: JSONTree)]
    ) async throws -> CurlResult {
        try await test.post("/v1/accounts", .object(members))
    }

    @Test func `a new account is empty, and both keys log in to it`() async throws {
        let test = try TestServer()
        let answer = try await create(test, TestServer.newAccount())
        #expect(answer.status == 201 && answer.body.isEmpty)

        let kdf = try await curl("\(test.server.url)/v1/accounts/new/kdf")
        #expect(
            kdf.json == [
                "accountId": .string(TestServer.id(77)), "kdf": "argon2id13", "ops": 3,
                "mem": "67108864", "salt": "AQEBAQEBAQEBAQEBAQEBAQ",
            ])
        let token = try #require(try await test.token(of: TestServer.id(77)))
        let recovery = try await test.token(
            of: TestServer.id(77), with: "recovery", key: TestServer.recoveryKey)
        #expect(recovery != nil)
        let bearer = "Authorization: Bearer \(token)"
        let page = try await curl("-H", bearer, "\(test.server.url)/v1/manifest")
        #expect(page.text == #"{"entries":[],"next":null,"head":null}"#)
        let keys = try await curl("-H", bearer, "\(test.server.url)/v1/keys")
        #expect(
            keys.json["records"] == [
                ["epoch": 1, "record": .string(TestServer.record(2))],
                ["epoch": 1, "record": .string(TestServer.record(1))],
            ])
    }

    @Test func `an account without a recovery key has none to log in with`() async throws {
        let test = try TestServer()
        let answer = try await create(test, TestServer.newAccount(recovery: false))
        #expect(answer.status == 201)
        #expect(try await test.token(of: "new") != nil)
        let recovery = try await test.token(
            of: "new", with: "recovery", key: TestServer.recoveryKey)
        #expect(recovery == nil)
    }

    @Test func `a name or an id that exists is taken, for the same account too`() async throws {
        let test = try TestServer()
        let taken = [
            TestServer.newAccount("demo"), TestServer.newAccount(id: test.seed.accountId),
        ]
        for members in taken {
            let answer = try await create(test, members)
            #expect(answer.status == 409 && answer.code == "name-taken")
        }
        #expect(try await create(test, TestServer.newAccount()).status == 201)
        #expect(try await create(test, TestServer.newAccount()).code == "name-taken")
        let other = TestServer.newAccount("other", id: TestServer.id(78))
        #expect(try await create(test, other).status == 201)
    }

    @Test func `of two that create the same name at once one succeeds`() async throws {
        let test = try TestServer()
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<6 {
                group.addTask {
                    let members = TestServer.newAccount(id: TestServer.id(80 + number))
                    return try await create(test, members).status
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses.sorted() == [201, 409, 409, 409, 409, 409])
    }

    @Test func `a server can be closed to new accounts`() async throws {
        var options = ServerOptions()
        options.takesAccounts = false
        let test = try TestServer(options: options)
        let answer = try await create(test, TestServer.newAccount())
        #expect(answer.status == 403 && answer.code == "registration-closed")
    }

    @Test(arguments: [
        ("name", ""), ("name", "\"\""), ("name", "\"a\\u0000b\""), ("name", "1"),
        ("accountId", "\"AA\""), ("accountId", "\"\(String(repeating: "A", count: 32))\""),
        ("epoch", "2"), ("epoch", "\"1\""), ("kdf", ""), ("kdf", "{}"),
        ("authKey", "\"AA\""), ("authKey", ""), ("keyRecord", "\"S1dS\""),
        ("keyRecord", "\"\(TestServer.record(1))\""), ("recoveryRecord", ""),
        ("recoveryAuthKey", ""), ("recoveryRecord", "\"\(TestServer.record(2))\""),
        // Below and above what a client accepts, and another salt than kdf has.
        ("keyRecord", "\"\(TestServer.record(2, ops: 2))\""),
        ("keyRecord", "\"\(TestServer.record(2, mebibytes: 63))\""),
        ("keyRecord", "\"\(TestServer.record(2, mebibytes: 1025))\""),
        ("keyRecord", "\"\(TestServer.record(2, salt: 2))\""),
        ("keyRecord", "\"\(TestServer.record(2, ops: 4))\""),
    ])
    func `what does not make an account is a bad request`(key: String, value: String) async throws {
        let test = try TestServer()
        var members = TestServer.newAccount()
        members.removeAll { $0.key == key }
        if !value.isEmpty { members.append((key, try JSONTree(parsing: Array(value.utf8)))) }
        let answer = try await create(test, members)
        #expect(answer.status == 400 && answer.code == "bad-request")
        #expect(test.server.service.accounts.count == 1)
    }

    @Test func `several accounts at once see their own alone`() async throws {
        let test = try TestServer()
        #expect(try await create(test, TestServer.newAccount()).status == 201)
        let token = try #require(try await test.token(of: "new"))
        let mine = try await test.put("mine", TestServer.bytes(10))
        #expect(mine.status == 201)
        for path in ["/v1/blobs/mine", "/v1/blobs/blob"] {
            let answer = try await curl(
                "-H", "Authorization: Bearer \(token)", "\(test.server.url)\(path)")
            #expect(answer.code == "no-such-blob")
        }
        let list = try await curl(
            "-H", "Authorization: Bearer \(token)", "\(test.server.url)/v1/blobs")
        #expect(list.json["blobs"] == [])
    }
}
