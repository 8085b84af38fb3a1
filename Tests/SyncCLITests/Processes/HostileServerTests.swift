import Foundation
import Testing

@testable import MockServer

/// A server that lies is found out: exit 7, and what is here stays.
@Suite(.serialized, .timeLimit(.minutes(5))) struct `A server that lies` {
    /// Has the server say something else about the account to whoever wants to log in.
    private func answerKDF(_ device: Device, _ change: (inout [String: Any]) -> Void) throws {
        let file = device.account.folder.appendingPathComponent("account.json")
        let facts = try JSONSerialization.jsonObject(with: Data(contentsOf: file))
        let tree = try #require(facts as? [String: Any])
        var answer = try #require(tree["kdf"] as? [String: Any])
        answer["accountId"] = tree["accountId"]
        change(&answer)
        let body = [UInt8](try JSONSerialization.data(withJSONObject: answer))
        device.server.faults.add(
            .get("/v1/accounts/"),
            .answer(status: 200, headers: [Header("Content-Type", "application/json")], body: body))
    }

    private func expectMismatch(
        _ result: CommandResult, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(result.exit == 7, "\(result)", sourceLocation: sourceLocation)
        #expect(
            result.error.hasPrefix("sync: error: ") && result.error.contains("\nsync: hint: "),
            sourceLocation: sourceLocation)
    }

    @Test(
        arguments: [
            ("mem", "68719476736"), ("mem", "1048576"), ("mem", "67108863"),
            ("mem", "18446744073709551615"), ("ops", 1), ("ops", 1_000_000),
        ] as [(String, any Sendable)])
    func `about the cost of a passphrase gets none of it stretched`(
        key: String, value: any Sendable
    ) async throws {
        let device = try Device()
        try answerKDF(device) { $0[key] = value }
        // More than this much memory is not there to be had, so taking it would end in another way.
        let command = try device.start(device.loginWords())
        let result = try await command.result()
        expectMismatch(result)
        #expect(result.error.contains("out of bounds"))
        #expect(!device.server.log.entries.contains { $0.method == "POST" })
        try device.expectNothingOfTheAccount()
    }

    @Test func `about the account's salt or id is found out before the key is kept`() async throws {
        for key in ["salt", "accountId"] {
            let device = try Device()
            try answerKDF(device) { answer in
                answer[key] =
                    key == "salt" ? "AAAAAAAAAAAAAAAAAAAAAA" : String(repeating: "ab", count: 16)
            }
            // What is stretched with another salt or bound to another account is another authKey;
            // this server takes any.
            device.server.faults.add(
                .post("/v1/sessions"),
                .answer(
                    status: 201, headers: [Header("Content-Type", "application/json")],
                    body: try sessionAnswer(device)))
            let result = try await device.sync(device.loginWords())
            expectMismatch(result)
            try device.expectNothingOfTheAccount()
        }
    }

    private static func edgesHead() throws -> String {
        let file = try PlainAccount.edges().folder.appendingPathComponent("account.json")
        let facts = try JSONSerialization.jsonObject(with: Data(contentsOf: file))
        return try #require((facts as? [String: Any])?["head"] as? String)
    }

    private func sessionAnswer(_ device: Device) throws -> [UInt8] {
        let file = device.account.folder.appendingPathComponent("account.json")
        let facts = try JSONSerialization.jsonObject(with: Data(contentsOf: file))
        let tree = try #require(facts as? [String: Any])
        let answer: [String: Any] = [
            "accountId": device.account.id, "epoch": 1, "token": "t", "expiresIn": 3600,
            "refresh": "r", "keyRecord": try #require(tree["keyRecord"]),
        ]
        return [UInt8](try JSONSerialization.data(withJSONObject: answer))
    }

    @Test(arguments: ["no head", "another account's head", "no entries"])
    func `about what the account holds changes nothing here, and the hint says what to do`(
        how: String
    ) async throws {
        let device = try await Device.restored()
        let file = try device.account.file("notes.md")
        try await device.done("open", file.id)
        let before = try await device.done("list").text
        let edit =
            switch how {
            case "no head": PageEdit(head: PageEdit.Head.none)
            case "another account's head": PageEdit(head: .text(try Self.edgesHead()))
            default: PageEdit.emptyAccount
            }
        let lie = device.server.faults.add(.get("/v1/manifest"), .page(edit))
        for _ in 1...2 {
            let result = try await device.sync("restore")
            expectMismatch(result)
            #expect(result.error.contains("sync trust"), "\(result)")
        }
        #expect(try await device.done("list").text == before)
        #expect(try await sha256([device.done("open", file.id).line]) == [file.sha256])
        let status = try await device.done("status", "--json").object
        #expect(status["verified"] as? Bool == false)
        #expect((status["flags"] as? [String])?.contains("headMismatch") == true)

        device.server.faults.remove(lie)
        try await device.done("restore")
        let healed = try await device.done("status", "--json").object
        #expect(healed["verified"] as? Bool == true)
        #expect((healed["flags"] as? [String])?.isEmpty == true)
    }

    @Test func `in the middle of a login's answers is one line`() async throws {
        let device = try Device()
        let answers: [(FaultAction, Int32)] = [
            (.html(200), 3), (.html(502), 3), (.html(404), 3),
            (
                .answer(
                    status: 200, headers: [Header("Content-Type", "application/json")],
                    body: Array("{".utf8)), 3
            ),
            (.answer(status: 200, body: [UInt8](repeating: UInt8(ascii: "["), count: 100_000)), 3),
            (.cut(at: .bytes(10)), 3), (.drop(.reset), 3),
        ]
        for (answer, exit) in answers {
            for match in [Fault.Match.get("/v1/accounts/"), .post("/v1/sessions")] {
                device.server.faults.clear()
                device.server.faults.add(match, answer)
                let result = try await device.sync(device.loginWords())
                #expect(result.exit == exit, "\(result)")
                #expect(result.error.split(separator: "\n").count <= 2, "\(result)")
                #expect(!result.error.contains("Error(") && !result.error.contains("code:"))
                try device.expectNothingOfTheAccount()
            }
        }
    }
}
