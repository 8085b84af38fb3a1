import Foundation
import Testing

@testable import MockServer

/// What stays in use when the server ends the session, or when the key is gone.
@Suite(.serialized, .timeLimit(.minutes(5))) struct `Without a session or a key` {
    /// A device that has one small file here, and one that is not.
    private func device() async throws -> (
        Device, here: PlainAccount.File, other: PlainAccount.File
    ) {
        let device = try await Device.restored()
        let here = try device.account.file("notes.md")
        try await device.done("open", here.id)
        return (device, here, try device.account.file("voice memo.wav"))
    }

    @Test func `a session that ended for good leaves the list and what is here in use`()
        async throws
    {
        let (device, here, other) = try await device()
        let before = try await device.done("list").text
        device.server.endSessions()
        for round in 1...2 {
            let refused = try await device.sync("open", other.id)
            #expect(refused.exit == 6, "\(refused)")
            #expect(refused.error.hasPrefix("sync: error: signedOut: "))
            #expect(refused.error.contains("\nsync: hint: log in again"))
            // The same records, of which one is now known not to come.
            let list = try await device.done("list").text
            #expect(list.replacing("unavailable(signedOut)", with: "remote") == before)
            let path = try await device.done("open", here.id).line
            #expect(try await sha256([path]) == [here.sha256])
            let restore = try await device.sync("restore")
            #expect(restore.exit == 6, "\(restore)")
            let status = try await device.done("status", "--json").object
            #expect(status["session"] as? String == "ended")
            #expect(status["scope"] as? String == device.account.id)
            // Once known, it is known: nobody asks the server over and over.
            if round == 2 {
                try await device.server.log.settled()
                device.server.log.clear()
                _ = try await device.sync("open", other.id)
                #expect(device.server.log.entries.isEmpty)
            }
        }
        try await device.login()
        #expect(try await sha256([device.done("open", other.id).line]) == [other.sha256])
        let status = try await device.done("status", "--json").object
        #expect(status["session"] as? String == "active")
        #expect(
            status["states"] as? [String: Int] == [
                "remote": 18, "pending": 0, "here": 2, "unavailable": 0,
            ])
    }

    @Test func `a token that expired is refreshed once and nobody notices`() async throws {
        let (device, _, other) = try await device()
        device.server.expireTokens()
        try await device.done("open", other.id)
        #expect(device.server.log.count { $0.path == "/v1/sessions/refresh" } == 1)
    }

    @Test(arguments: ["gone", "emptied", "another account's", "open to others"])
    func `without the key what is here opens, and nothing makes a new one`(how: String)
        async throws
    {
        let (device, here, other) = try await device()
        let file = try device.file("keys/\(device.account.id)")
        let good = try Data(contentsOf: file)
        switch how {
        case "gone": try FileManager.default.removeItem(at: file)
        case "emptied": try Data().write(to: file)
        case "another account's":
            let stranger = try await Device.restored()
            try stranger.contents("keys/\(stranger.account.id)").withUnsafeBytes {
                try Data($0).write(to: file)
            }
        default: chmod(file.path, 0o644)
        }
        let bad = try? Data(contentsOf: file)
        device.server.log.clear()
        for words in [["open", other.id], ["restore"]] {
            let result = try await device.sync(words)
            #expect(result.exit == 6, "\(result)")
            #expect(result.error.hasPrefix("sync: error: keyMissing: "), "\(result)")
            #expect(result.error.contains("\nsync: hint: "))
        }
        #expect(device.server.log.entries.isEmpty)
        // Neither a key nor a file of keys was made, and what was there stayed as it was.
        #expect((try? Data(contentsOf: file)) == bad)
        #expect(try await device.done("list").lines.count == 20)
        #expect(try await sha256([device.done("open", here.id).line]) == [here.sha256])
        let status = try await device.done("status", "--json").object
        #expect(status["session"] as? String == "keyMissing")

        chmod(file.path, 0o600)
        try good.write(to: file)
        chmod(file.path, 0o600)
        try await device.done("open", other.id)
        #expect(try await device.done("list", "--state", "unavailable").lines.isEmpty)
    }

    @Test(arguments: ["gone", "emptied"])
    func `logging in again brings a lost key back`(how: String) async throws {
        let (device, here, other) = try await device()
        let file = try device.file("keys/\(device.account.id)")
        try FileManager.default.removeItem(at: file)
        if how == "emptied" {
            try Data().write(to: file)
            chmod(file.path, 0o600)
        }
        let login = try await device.sync(device.loginWords())
        // A file that is not understood is not replaced; the message names it.
        if how == "emptied" {
            #expect(login.exit == 6, "\(login)")
            #expect(login.error.contains(device.account.id))
            try FileManager.default.removeItem(at: file)
            try await device.login()
        }
        try await device.done("open", other.id)
        #expect(try await device.done("open", here.id, "--json").object["requests"] as? Int == 0)
    }

    @Test func `logout works without the key`() async throws {
        let (device, _, _) = try await device()
        try Data().write(to: try device.file("keys/\(device.account.id)"))
        let logout = try await device.sync("logout")
        #expect(logout.exit == 0, "\(logout)")
        try device.expectNothingOfTheAccount()
    }
}
