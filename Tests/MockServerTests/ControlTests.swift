import Foundation
import Testing

@testable import MockServer

@Suite struct ControlTests {
    func server() throws -> TestServer { try TestServer(options: ServerOptions(hasControl: true)) }

    @Test func `faults are added, listed and cleared from a shell`() async throws {
        let test = try server()
        let control = "\(test.server.url)/_mock/faults"
        let fault = #"[{"path":"/v1/keys","times":2,"status":503,"headers":{"Retry-After":"3"}}]"#
        #expect(try await curl("-d", fault, control).json == ["added": [1]])
        let hit = try await test.get("/v1/keys")
        #expect(hit.status == 503 && hit.header("Retry-After") == "3")
        #expect(try await curl(control).json == [["fault": 1, "hits": 1]])
        #expect(try await curl("-X", "DELETE", control).status == 204)
        #expect(try await test.get("/v1/keys").status == 200)
    }

    @Test func `the log is read and cleared from a shell, and does not log that`() async throws {
        let test = try server()
        _ = try await test.get("/v1/keys")
        let lines = try await curl("\(test.server.url)/_mock/log").text.split(separator: "\n")
        #expect(lines.count == 2)
        _ = try await curl("-X", "DELETE", "\(test.server.url)/_mock/log")
        #expect(try await curl("\(test.server.url)/_mock/log").body.isEmpty)
    }

    @Test func `a gate is opened and a token expired from a shell`() async throws {
        let test = try server()
        _ = try await curl(
            "-d", #"{"path":"/v1/blobs/","stall":{"bytes":10,"gate":"g"}}"#,
            "\(test.server.url)/_mock/faults")
        let transfer = try await test.start("/v1/blobs/blob")
        try await test.server.faults.gate("g").reached()
        _ = try await curl("-d", "", "\(test.server.url)/_mock/open?gate=g")
        #expect(try await transfer.result().body == test.seed.blobs["blob"])
        _ = try await curl("-d", "", "\(test.server.url)/_mock/then?effect=expireTokens")
        #expect(try await test.get("/v1/keys").code == "token-expired")
    }

    @Test func `without the option there is no control`() async throws {
        let test = try TestServer()
        #expect(try await curl("\(test.server.url)/_mock/log").code == "not-found")
    }

    @Test func `every fault can be said in JSON`() throws {
        let text = """
            [{"method":"GET","path":"/a","regex":"b","query":"c","range":true,"skip":1,"times":2,
              "delay":0.5,"hold":"h","pace":{"bytes":1,"seconds":0.1},
              "cut":{"fraction":0.6,"ending":"reset"},"stall":{"bytes":3,"gate":"g"},
              "cutBody":{"bytes":9,"ending":"reset"},"stallBody":{"fraction":0.1},
              "framing":"chunked","flip":4,"truncate":5,"serve":"other","ignoreRange":true,
              "shiftRange":{"by":-6,"told":false},"unaskedRange":{"first":7,"last":8},
              "multipart":true,"page":{"empty":true,"next":"again","head":null},
              "then":["expireTokens","expireCursors"]},
             {"status":401,"code":"session-ended"},{"status":200,"body":"x"},
             {"status":200,"bodyBase64":"AAE="},{"html":502},{"redirect":"http://localhost/"},
             {"signed":null},{"drop":{"ending":"reset","handling":false}},{"rate":1000},
             {"framing":{"claimed":9}},{"headers":{"ETag":null,"A":"b"}},{"drop":{}}]
            """
        let script = FaultScript()
        let ids = try script.add(json: Array(text.utf8))
        #expect(ids.count == 12)
        let tree = try JSONTree(parsing: Array(text.utf8))
        let fault = try #require(try FaultReader(gate: script.gate).faults(tree).first)
        #expect(
            fault.match
                == Fault.Match(method: "GET", path: "/a", regex: "b", query: "c", range: true))
        #expect(fault.skip == 1 && fault.times == 2 && fault.actions.count == 18)
    }

    @Test(arguments: [
        #"{"flipp":1}"#, #"{"flip":"1"}"#, #"{"flip":-1}"#, #"{"then":"nothing"}"#, "[1]", "{",
        #"{"page":{"next":1}}"#, #"{"cut":{"ending":"soft","bytes":1}}"#,
    ])
    func `a fault that nobody knows is refused`(text: String) async throws {
        let test = try server()
        let answer = try await curl("-d", text, "\(test.server.url)/_mock/faults")
        #expect(answer.status == 400 && answer.code == "bad-request")
        #expect(throws: SetupError.self) { try FaultScript().add(json: Array(text.utf8)) }
    }

    @Test func `the words of the command are read`() throws {
        let arguments = try Arguments([
            "--account", "a", "--account", "b", "--port", "81", "--faults", "f", "--log", "l",
            "--control", "--token-lifetime", "9", "--blobs", "own", "--data", "d", "--no-fsync",
            "--kill-after", "5", "--largest-blob", "6", "--capacity", "7", "--closed",
        ])
        #expect(arguments.accounts == ["a", "b"] && arguments.port == 81 && arguments.hasControl)
        #expect(arguments.faults == "f" && arguments.log == "l" && arguments.tokenLifetime == 9)
        #expect(arguments.blobs == .own && arguments.data == "d" && !arguments.syncs)
        #expect(arguments.limits.blob == 6 && arguments.limits.total == 7)
        #expect(!arguments.takesAccounts && arguments.end == .kill(after: 5))
        #expect(try Arguments(["--data", "d"]).accounts.isEmpty)
        let wrong = [
            [], ["--port", "1"], ["--account"], ["--account", "a", "--port", "x"],
            ["--account", "a", "--no-fsync"], ["--account", "a", "--kill-after", "1"],
            ["--data"], ["--data", "d", "--capacity", "-1"],
            ["--account", "a", "--token-lifetime", "0"], ["x"],
        ]
        for words in wrong {
            #expect(throws: SetupError.self) { try Arguments(words) }
        }
    }

    @Test(arguments: [
        "", "nul", "[1,]", "{\"a\":1,\"a\":2}", "\"\u{1}\"", "01", "1.", "-", "\"\\x\"", "[1] 2",
        "\"\\ud800\"", "{\"a\"}",
        String(repeating: "[", count: 33) + String(repeating: "]", count: 33),
    ])
    func `what is not strict JSON is refused`(text: String) {
        #expect(throws: JSONTree.Malformed.self) { try JSONTree(parsing: Array(text.utf8)) }
    }

    @Test func `JSON is read and written as it is`() throws {
        let text = #"{"a":[1,-2.5e3,true,false,null],"b":{"c":"é\n\"\\"},"d":[],"e":{}}"#
        let tree = try JSONTree(parsing: Array(text.utf8))
        #expect(tree.text == text)
        let escaped = try JSONTree(parsing: Array(#" "\u00e9\ud83d\ude00\/\b\f\t" "#.utf8))
        #expect(escaped.string == "é😀/\u{8}\u{C}\t")
    }
}
