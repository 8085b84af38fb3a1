import Testing

@testable import MockServer

@Suite struct KeyReplacementTests {
    static let newKey = [UInt8](repeating: 21, count: 32)
    let passphrase = TestServer.record(2)
    let recovery = TestServer.record(1)
    let other = TestServer.record(2, ops: 4, salt: 9)

    /// A server whose account has real records.
    func server() throws -> TestServer {
        let test = try TestServer()
        try test.account.change { state in
            state.keys.records = [
                .init(epoch: 1, record: passphrase), .init(epoch: 1, record: recovery),
            ]
            state.keys.credentials["passphrase"]?.record = passphrase
            state.keys.credentials["recovery"]?.record = recovery
        }
        return test
    }

    func replace(
        _ test: TestServer, _ records: [String], _ authKeys: JSONTree = [:],
        tag: String? = "\"keys-1\"", epoch: Int = 1
    ) async throws -> CurlResult {
        let body: JSONTree = [
            "records": .array(
                records.map { ["epoch": JSONTree(epoch), "record": .string($0)] }),
            "authKeys": authKeys,
        ]
        return try await test.send(
            "PUT", "/v1/keys", Array(body.text.utf8), tag.map { ["-H", "If-Match: \($0)"] } ?? [])
    }

    func key(_ bytes: [UInt8]) -> JSONTree { .string(Base64URL.encode(bytes)) }

    @Test func `a new passphrase logs in, the old one no longer, and kdf follows`() async throws {
        let test = try server()
        let answer = try await replace(
            test, [other, recovery], ["passphrase": key(Self.newKey)])
        #expect(answer.status == 204 && answer.header("ETag") == "\"keys-2\"")
        #expect(try await test.token(of: "demo") == nil)
        #expect(try await test.token(of: "demo", key: Self.newKey) != nil)
        let recovered = try await test.token(
            of: "demo", with: "recovery", key: TestServer.recoveryKey)
        #expect(recovered != nil)
        let kdf = try await curl("\(test.server.url)/v1/accounts/demo/kdf").json
        #expect(kdf["ops"] == 4 && kdf["salt"] == "CQkJCQkJCQkJCQkJCQkJCQ")
        let login = try await test.login(key: Self.newKey)
        #expect(login.json["keyRecord"] == .string(other))
        // Who is logged in stays so.
        let keys = try await test.get("/v1/keys")
        #expect(keys.header("ETag") == "\"keys-2\"")
        #expect(keys.json["records"]?.array?.map { $0["record"]?.string } == [other, recovery])
    }

    @Test func `a new recovery key replaces the old one, and a missing one is none`() async throws {
        let test = try server()
        let second = TestServer.record(1, salt: 7)
        let answer = try await replace(
            test, [passphrase, second], ["recovery": key(Self.newKey)])
        #expect(answer.status == 204)
        let old = try await test.token(of: "demo", with: "recovery", key: TestServer.recoveryKey)
        #expect(old == nil)
        #expect(try await test.token(of: "demo", with: "recovery", key: Self.newKey) != nil)
        #expect(try await replace(test, [passphrase], tag: "\"keys-2\"").status == 204)
        #expect(try await test.token(of: "demo", with: "recovery", key: Self.newKey) == nil)
        #expect(try await test.token(of: "demo") != nil)
    }

    @Test func `records that have changed meanwhile are 412, and no If-Match is 400`()
        async throws
    {
        let test = try server()
        let new: JSONTree = ["passphrase": key(Self.newKey)]
        for tag in ["\"keys-0\"", "\"keys-2\"", "*", "W/\"keys-1\""] {
            let answer = try await replace(test, [other, recovery], new, tag: tag)
            #expect(answer.status == 412 && answer.code == "keys-changed")
        }
        let bare = try await replace(test, [other, recovery], new, tag: nil)
        #expect(bare.status == 400 && bare.code == "bad-request")
        #expect(try await replace(test, [other, recovery], new).status == 204)
        #expect(try await replace(test, [other, recovery], new).code == "keys-changed")
    }

    @Test func `of two that replace at once one succeeds`() async throws {
        let test = try server()
        _ = try await test.token()
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<5 {
                group.addTask {
                    let record = TestServer.record(2, salt: UInt8(number + 10))
                    return try await replace(
                        test, [record], ["passphrase": key(Self.newKey)]
                    ).status
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses.sorted() == [204, 412, 412, 412, 412])
    }

    @Test func `an authKey is needed for a record that is new`() async throws {
        let test = try server()
        for records in [[other, recovery], [passphrase, TestServer.record(1, salt: 7)]] {
            #expect(try await replace(test, records).code == "bad-request")
        }
        #expect(try await replace(test, [passphrase, recovery]).status == 204)
    }

    @Test func `what is no set of records is a bad request, and changes nothing`() async throws {
        let test = try server()
        let new: JSONTree = ["passphrase": key(Self.newKey)]
        let wrong: [([String], JSONTree)] = [
            ([], [:]), ([recovery], [:]), ([passphrase, passphrase], [:]), ([other, "S1dS"], new),
            ([other, recovery], ["passphrase": "AA"]), ([passphrase], ["recovery": key([1])]),
            ([passphrase], ["recovery": key(Self.newKey)]),
            ([passphrase, recovery], new), ([TestServer.record(2, ops: 17), recovery], new),
        ]
        for (records, keys) in wrong {
            let answer = try await replace(test, records, keys)
            #expect(answer.status == 400 && answer.code == "bad-request")
        }
        #expect(try await replace(test, [passphrase, recovery], epoch: 0).status == 400)
        #expect(try await test.get("/v1/keys").header("ETag") == "\"keys-1\"")
        #expect(try await test.token(of: "demo") != nil)
    }

    @Test func `records of the epoch before stay beside the new ones`() async throws {
        let test = try server()
        let before = TestServer.record(3)
        let answer = try await replace(test, [passphrase, recovery, before])
        #expect(answer.status == 204)
        let records = try await test.get("/v1/keys").json["records"]?.array
        #expect(records?.map { $0["record"]?.string } == [passphrase, recovery, before])
    }
}
