import Foundation
import Testing

@testable import MockServer

/// What a server that cannot be trusted would show.
@Suite struct LieTests {
    /// Five entries, then a change of one and a new one: seqs 3, 4 and 5.
    func server(control: Bool = false) async throws -> (test: TestServer, heads: [String]) {
        var options = ServerOptions()
        options.hasControl = control
        let test = try TestServer(entries: 5, options: options)
        let first = TestServer.head(after: test.seed.head, count: 5)
        let second = TestServer.head(after: first, count: 6)
        #expect(try await test.push(first, (0, 2)).status == 200)
        #expect(try await test.push(second, (9, 1)).status == 200)
        return (test, [try #require(test.seed.head), first, second])
    }

    @Test func `an old head stands over the entries of now`() async throws {
        let (test, heads) = try await server()
        try test.account.tell(.oldHead(4))
        #expect(try await test.head() == heads[1])
        #expect(try await test.listed().count == 6)
        #expect(try await test.get("/v1/manifest/head?after=4").status == 204)
        try test.account.tellTheTruth()
        #expect(try await test.head() == heads[2])
        #expect(throws: SetupError.self) { try test.account.tell(.oldHead(2)) }
    }

    @Test func `an account rolled back is as it was, and goes on from there`() async throws {
        let (test, heads) = try await server()
        try test.account.tell(.rolledBack(3))
        #expect(try await test.head() == heads[0])
        let old = (0..<5).map { (TestServer.id($0), "1") }
        #expect(try await test.listed() == Dictionary(uniqueKeysWithValues: old))
        #expect(try await test.listed(3).isEmpty)
        let next = TestServer.head(after: heads[2], count: 6)
        #expect(try await test.push(next, (0, 3)).json["head"] == .string(heads[0]))
        let other = TestServer.head(after: heads[0], count: 5, salt: 9)
        #expect(try await test.push(other, (0, 2)).status == 200)
        #expect(try await test.head() == other)
        try test.account.tellTheTruth()
        #expect(try await test.head() == heads[2])
        try test.account.tell(.rolledBack(0))
        let page = try await test.get("/v1/manifest?after=0")
        #expect(page.text == #"{"entries":[],"next":null,"head":null}"#)
    }

    @Test func `a missing entry is missing everywhere, under the same head`() async throws {
        let (test, heads) = try await server()
        let id = try #require(EntryID(TestServer.id(0)))
        try test.account.tell(.withheld([id]))
        let listed = try await test.listed()
        #expect(listed.count == 5 && listed[TestServer.id(0)] == nil)
        #expect(try await test.head() == heads[2])
        let asked = try await test.get("/v1/manifest/entries?id=\(TestServer.id(0))")
        #expect(asked.text == #"{"entries":[]}"#)
        // The truth takes pushes all the while.
        let next = TestServer.head(after: heads[2], count: 6)
        #expect(try await test.push(next, (0, 3)).status == 200)
        #expect(try await test.listed()[TestServer.id(0)] == nil)
        try test.account.tellTheTruth()
        #expect(try await test.listed()[TestServer.id(0)] == "3")
    }

    @Test func `a fork shows two devices two truths, and takes the pushes of both`() async throws {
        let (test, heads) = try await server()
        let token = try #require(try await test.token(of: "demo", device: "phone"))
        let bearer = ["-H", "Authorization: Bearer \(token)"]
        let phone = { (path: String) in
            try await Curl(bearer + ["\(test.server.url)\(path)"]).result()
        }
        try test.account.tell(.fork, to: .device("phone"))
        #expect(try await phone("/v1/manifest").json["head"] == .string(heads[2]))

        let wait = try Curl(bearer + ["\(test.server.url)/v1/manifest/head?after=5&wait=25"])
        try await test.server.log.waitFor { $0.path == "/v1/manifest/head" }
        let mine = TestServer.head(after: heads[2], count: 6, salt: 1)
        #expect(try await test.push(mine, (9, 2)).status == 200)
        let theirs = TestServer.head(after: heads[2], count: 7, salt: 2)
        let body = TestServer.push(theirs, [(10, 1)])
        let push = try await Curl(
            bearer + ["-d", body.text, "\(test.server.url)/v1/manifest"]
        ).result()
        #expect(push.status == 200 && push.json == ["seq": "6"])

        #expect(try await test.head() == mine)
        #expect(try await phone("/v1/manifest").json["head"] == .string(theirs))
        #expect(try await wait.result().json["head"] == .string(theirs))
        #expect(try await test.listed()[TestServer.id(10)] == nil)
        let after = try await phone("/v1/manifest?after=5").json["entries"]?.array
        #expect(after?.map { $0["id"]?.string } == [TestServer.id(10)])
        try test.account.tellTheTruth()
        #expect(try await phone("/v1/manifest").json["head"] == .string(mine))
    }

    @Test func `one session can be lied to among those of a device`() async throws {
        let (test, heads) = try await server()
        let token = try #require(try await test.token(of: "demo"))
        // The test's own login was the first.
        try test.account.tell(.rolledBack(4), to: .session(2))
        let other = try await curl(
            "-H", "Authorization: Bearer \(token)", "\(test.server.url)/v1/manifest")
        #expect(other.json["head"] == .string(heads[1]))
        #expect(try await test.head() == heads[2])
    }

    @Test func `an entry of another account is among the own ones`() async throws {
        let (test, heads) = try await server()
        let foreign = TestServer.entry(77, seq: 1)
        try test.account.tell(.foreign(foreign))
        #expect(try await test.listed(4).keys.contains(TestServer.id(77)))
        #expect(try await test.listed().count == 7)
        #expect(try await test.head() == heads[2])
    }

    @Test func `everything is deleted, in four ways`() async throws {
        let (test, heads) = try await server()
        let account = try test.account
        try account.tell(.allRemoved)
        let entries = try await test.get("/v1/manifest").json["entries"]?.array
        #expect(entries?.count == 6 && entries?.allSatisfy { $0["kind"] == 1 } == true)
        #expect(try await test.head() == heads[2])
        account.tellTheTruth()

        try account.tell(.noEntries)
        #expect(try await test.listed().isEmpty)
        #expect(try await test.head() == heads[2])
        account.tellTheTruth()

        try account.tell(.neverUsed)
        let page = try await test.get("/v1/manifest?after=3")
        #expect(page.text == #"{"entries":[],"next":null,"head":null}"#)
        #expect(try await test.get("/v1/manifest/head?after=0").status == 204)
        account.tellTheTruth()

        try account.tell(.noBlobs)
        #expect(try await test.get("/v1/blobs/blob").code == "blob-gone")
        #expect(try await test.get("/v1/blobs").json["blobs"] == [])
        account.tellTheTruth()
        #expect(try await test.get("/v1/blobs/blob").status == 200)
        #expect(try await test.listed().count == 6)
    }

    @Test func `a shell can have it lie`() async throws {
        let (test, heads) = try await server(control: true)
        let control = "\(test.server.url)/_mock/lies"
        let lies = [
            #"{"account":"demo","lie":"oldHead","seq":"4"}"#,
            #"{"account":"demo","lie":"rolledBack","seq":"4","device":"other"}"#,
            #"{"account":"demo","lie":"withheld","ids":["\#(TestServer.id(1))"],"session":7}"#,
            #"{"account":"demo","lie":"foreign","from":"demo"}"#,
            #"{"account":"demo","lie":"fork"}"#, #"{"account":"demo","lie":"allRemoved"}"#,
            #"{"account":"demo","lie":"noEntries"}"#, #"{"account":"demo","lie":"neverUsed"}"#,
            #"{"account":"demo","lie":"noBlobs"}"#,
        ]
        for (index, lie) in lies.enumerated() {
            #expect(try await curl("-d", lie, control).status == 204, "\(lie)")
            if index == 0 { #expect(try await test.head() == heads[1]) }
        }
        #expect(try await test.get("/v1/blobs/blob").status == 410)
        #expect(try await curl("-X", "DELETE", control).status == 204)
        #expect(try await test.head() == heads[2])
        let wrong = [
            "{", #"{"account":"demo","lie":"white"}"#, #"{"account":"x","lie":"fork"}"#,
            #"{"account":"demo","lie":"oldHead"}"#,
            #"{"account":"demo","lie":"oldHead","seq":"9"}"#,
            #"{"account":"demo","lie":"withheld","ids":[]}"#,
        ]
        for lie in wrong {
            #expect(try await curl("-d", lie, control).code == "bad-request", "\(lie)")
        }
    }
}
