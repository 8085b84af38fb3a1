import Foundation
import Testing

@testable import MockServer

/// The whole job as a person does it: one process a step, on an account that the reference made.
@Suite(.serialized, .timeLimit(.minutes(10))) struct `The whole job` {
    @Test func `a new device shows every file and opens each as it was uploaded`() async throws {
        let device = try Device()
        try await device.login()
        try await device.done("restore")

        let rows = try await device.done("list", "--json").objects
        #expect(rows.count == device.account.files.count)
        for file in device.account.files {
            let row = try #require(rows.first { $0["id"] as? String == file.id })
            // Byte by byte: Swift's == takes composed and decomposed letters for the same.
            #expect(Array((row["name"] as? String ?? "").utf8) == Array(file.name.utf8))
            #expect(row["type"] as? String == file.type)
            #expect(row["size"] as? Int == file.size)
            #expect(row["state"] as? String == "remote")
            #expect((row["thumb"] as? String == "here") == (file.thumbSha256 != nil))
        }
        let items = try await device.done("items", "--json").objects
        #expect(
            Dictionary(grouping: items) { $0["id"] as? String ?? "" }.mapValues {
                $0.first?["title"] as? String
            } == Dictionary(uniqueKeysWithValues: device.account.items.map { ($0.id, $0.title) }))

        var paths: [String] = []
        for file in device.account.files {
            paths.append(try await device.done("open", file.id).line)
        }
        #expect(try await sha256(paths) == device.account.files.map(\.sha256))
        for path in paths { #expect(path.hasPrefix(device.home + "/cache/")) }

        let photos = device.account.files.filter { $0.thumbSha256 != nil }
        let thumbnails = try await photos.asyncMap { file in
            try await device.done("thumb", file.id).line
        }
        #expect(try await sha256(thumbnails) == photos.map { $0.thumbSha256 })

        let status = try await device.done("status", "--json").object
        let states = try #require(status["states"] as? [String: Int])
        #expect(states == ["remote": 0, "pending": 0, "here": 20, "unavailable": 0])
    }

    @Test func `what is here opens without the server, and offline is said of the rest`()
        async throws
    {
        let device = try await Device.restored()
        let (here, other) = (try device.account.file("notes.md"), try device.account.large)
        let path = try await device.done("open", here.id).line
        device.server.stop()
        #expect(try await device.done("open", here.id).line == path)
        #expect(try await device.done("list").lines.count == 20)
        let offline = try await device.sync("open", other.id)
        #expect(offline.exit == 3, "\(offline)")
        #expect(offline.error.hasPrefix("sync: error: offline: "))
        #expect(offline.error.contains("\nsync: hint: check the connection"))
        try device.server.start()
        try await device.done("open", other.id)
    }

    @Test func `open to standard output writes the bytes and nothing else`() async throws {
        let device = try await Device.restored()
        for name in ["5 MiB.bin", "0.bin", "voice memo.wav"] {
            let file = try device.account.file(name)
            for _ in 1...2 {
                let result = try await device.done("open", file.id, "--stdout", "--verbose")
                let copy = device.scratch["copy"]
                try Data(result.output).write(to: copy)
                #expect(try await sha256([copy.path]) == [file.sha256])
            }
        }
    }

    @Test func `a beginning of an id is enough while only one has it`() async throws {
        let device = try await Device.restored()
        let file = try device.account.file("notes.md")
        let path = try await device.done("open", file.id).line
        let item = try #require(device.account.items.first { $0.attachments[0].id < "f" })
        #expect(try await device.done("open", String(file.id.prefix(4))).line == path)
        #expect(try await device.done("open", file.id.uppercased()).line == path)
        let shown = try await device.done("show", String(item.id.prefix(6)), "--json").object
        #expect(shown["id"] as? String == item.id)
    }

    @Test func `save copies under the attachment's own name, never over another file`()
        async throws
    {
        let device = try await Device.restored()
        let file = try device.account.file("여행 계획.txt")
        let other = try device.account.file("notes.md")
        let folder = device.scratch["saved"]
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        let first = try await device.done("save", file.id, other.id, "--to", folder.path)
        #expect(
            first.lines == ["여행 계획.txt", "notes.md"].map { folder.path + "/" + $0 })
        let second = try await device.done("save", file.id, "--to", folder.path)
        #expect(second.line == folder.path + "/여행 계획 (2).txt")
        #expect(
            try await sha256(first.lines + second.lines) == [
                file.sha256, other.sha256, file.sha256,
            ])
        let large = try device.account.large
        device.server.log.clear()
        let nowhere = device.scratch["nowhere"].path
        for words in [
            ["--to", first.lines[1]], ["--to", nowhere + "/x"], [other.id, "--to", nowhere],
        ] {
            let refused = try await device.sync(["save", large.id] + words)
            #expect(refused.exit == 2, "\(refused)")
        }
        #expect(device.server.log.entries.isEmpty)
        let taken = try await device.sync("save", file.id, "--to", first.lines[1])
        #expect(taken.exit == 2, "\(taken)")
        #expect(try await sha256([first.lines[1]]) == [other.sha256])
    }

    @Test func `what the server lost is unavailable with its reason, until a retry finds it`()
        async throws
    {
        let device = try await Device.restored()
        let file = try device.account.file("voice memo.wav")
        let lost = device.server.faults.add(
            try await device.match(file), .problem(404, code: "no-such-blob"))

        let refused = try await device.sync("open", file.id)
        #expect(refused.exit == 4, "\(refused)")
        #expect(refused.error.hasPrefix("sync: error: notFound: "))
        let listed = try await device.done("list", "--state", "unavailable", "--json").object
        #expect(listed["id"] as? String == file.id)
        #expect(listed["reason"] as? String == "notFound")
        let explained = try await device.done("explain", file.id, "--json").object
        let evidence = try #require(explained["evidence"] as? [String: Any])
        #expect(evidence["status"] as? Int == 404)
        #expect(evidence["lastAttempt"] is String)
        #expect(explained["path"] is NSNull)

        let before = device.server.faults.hits(lost)
        let again = try await device.sync("retry", file.id)
        #expect(again.exit == 4, "\(again)")
        #expect(device.server.faults.hits(lost) == before + 1)

        device.server.faults.clear()
        let retried = try await device.done("retry", "--all", "--json").object
        #expect(retried["id"] as? String == file.id)
        #expect(retried["state"] as? String == "here")
        let path = try await device.done("open", file.id).line
        #expect(try await sha256([path]) == [file.sha256])
        #expect(try await device.done("list", "--state", "unavailable").lines.isEmpty)
        #expect(try await device.done("retry", "--all").lines.isEmpty)
    }

    @Test func `a second restore asks once for the manifest and for nothing else`() async throws {
        let device = try Device()
        try await device.login()
        try await device.done("restore")
        try await device.server.log.settled()
        device.server.log.clear()
        try await device.done("restore")
        try await device.server.log.settled()
        #expect(device.server.log.entries.map(\.path) == ["/v1/manifest"])
    }

    @Test func `the recovery key opens the account as the passphrase does`() async throws {
        let device = try Device()
        let words = [
            "login", "--server", "\(device.server.url)", "--account", device.account.name,
            "--key-store", "file", "--recovery-key-file", "-",
        ]
        // As a person types it: in groups, in lower case, with a line's end.
        let key = device.account.recoveryKey.lowercased()
        let typed = key.prefix(4) + "-" + key.dropFirst(4) + "\n"
        let result = try await device.sync(words, input: String(typed))
        #expect(result.exit == 0, "\(result)")
        try await device.restore()
        let file = try device.account.file("notes.md")
        #expect(try await sha256([device.done("open", file.id).line]) == [file.sha256])
    }

    @Test func `a passphrase comes from standard input too`() async throws {
        let device = try Device()
        let words = [
            "login", "--server", "\(device.server.url)/", "--account", device.account.name,
            "--key-store", "file", "--passphrase-file", "-",
        ]
        let result = try await device.sync(words, input: device.account.passphrase)
        #expect(result.exit == 0, "\(result)")
        #expect(result.line == "logged in as small at \(device.server.url)/")
    }

    @Test func `logging in again keeps the catalog and what is here`() async throws {
        let device = try await Device.restored()
        let file = try device.account.file("notes.md")
        let path = try await device.done("open", file.id).line
        try await device.login()
        #expect(try await device.done("list").lines.count == 20)
        #expect(try await device.done("open", file.id, "--json").object["requests"] as? Int == 0)
        #expect(try await device.done("open", file.id).line == path)
    }

    @Test func `logout leaves no file and no key of the account`() async throws {
        let device = try await Device.restored()
        try await device.done("open", try device.account.file("notes.md").id)
        #expect(device.files.contains { $0.hasPrefix("config/lazysync/keys/") })
        let result = try await device.done("logout", "--json").object
        #expect(result["serverKnows"] as? Bool == true)
        try device.expectNothingOfTheAccount()
        let ended = device.server.log.entries.last { $0.method == "DELETE" }
        #expect(ended?.path == "/v1/sessions/current" && ended?.status == 204)
        let list = try await device.sync("list")
        #expect(list.exit == 6, "\(list)")
        try await device.login()
        #expect(try await device.done("list").lines.isEmpty)
    }

    @Test func `a logout without the server is done all the same, and says what it could not`()
        async throws
    {
        let device = try await Device.restored()
        device.server.stop()
        let result = try await device.done("logout")
        #expect(result.error.contains("its session lives on"))
        try device.expectNothingOfTheAccount()
    }
}

extension Array {
    /// `map` with a body that waits.
    func asyncMap<Result>(_ body: (Element) async throws -> Result) async rethrows -> [Result] {
        var results: [Result] = []
        for element in self { results.append(try await body(element)) }
        return results
    }
}
