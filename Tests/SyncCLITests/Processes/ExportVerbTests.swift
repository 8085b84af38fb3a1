import Foundation
import Testing

@testable import MockServer

/// `export` and `import`, as a person runs them.
@Suite(.serialized, .timeLimit(.minutes(5))) struct `Export and import` {
    private func contents(_ file: URL) throws -> [UInt8] { [UInt8](try Data(contentsOf: file)) }

    /// What the lists of a device print.
    private func lists(_ device: Device) async throws -> [String] {
        var lists = [try await device.done("list", "--limit", "1000", "--json").text]
        let items = try await device.done("items", "--json")
        lists.append(items.text)
        for item in try items.objects {
            let id = try #require(item["id"] as? String)
            lists.append(try await device.done("show", id, "--json").text)
        }
        return lists
    }

    @Test(arguments: ["small", "edges"])
    func `an exported catalog is the same one elsewhere`(name: String) async throws {
        let account: PlainAccount = try name == "small" ? .small() : .edges()
        let device = try Device(serving: account)
        try await device.login()
        _ = try await device.sync("restore", "--no-thumbnails")
        let file = device.scratch["file"]
        let export = try await device.done("export", file.path, "--json").object
        #expect(export["items"] as? Int == (try await device.done("items", "--json").lines.count))
        #expect(export["bytes"] as? Int == (try contents(file).count))
        for key in ["path", "attachments", "waiting", "unsent"] { #expect(export[key] != nil) }
        #expect(try await device.done("export", "-").output == contents(file))

        let other = try Device(serving: account)
        let report = try await other.done("import", file.path, "--json").object
        #expect(report["account"] as? String == account.name)
        #expect(report["items"] as? Int == export["items"] as? Int)
        #expect(report["leftOut"] as? Int == 0 && report["kept"] is NSNull)
        #expect(try await lists(other) == lists(device))
        #expect(try await other.done("export", "-").output == contents(file))
        let status = try await other.done("status", "--json").object
        #expect(status["flags"] as? [String] == ["imported"])
        #expect(status["session"] as? String == "keyMissing")
    }

    @Test func `bytes are keyMissing until a login, which keeps the catalog`() async throws {
        let device = try await Device.restored()
        let file = device.scratch["file"]
        try await device.done("export", file.path)
        try await device.done("logout")
        #expect(try await device.done("import", file.path).text.contains("not verified"))
        let photo = try device.account.file("icon.png")
        let refused = try await device.sync("open", photo.id, "--json")
        #expect(refused.exit == 6)
        #expect(try refused.object["reason"] as? String == "keyMissing")
        #expect(try await device.sync("restore").exit == 6)
        try await device.login()
        let path = try await device.done("open", photo.id).line
        #expect(try await sha256([path]) == [photo.sha256])
        let restore = try await device.done("restore", "--json").object
        #expect(restore["verified"] as? Bool == true && restore["items"] as? Int == 7)
        #expect(try await device.done("status", "--json").object["flags"] as? [String] == [])
        try await device.done("logout")
        try device.expectNothingOfTheAccount()
    }

    @Test func `what cannot be exported or imported says why in its exit code`() async throws {
        let device = try await Device.restored()
        let file = device.scratch["file"]
        try await device.done("export", file.path)
        let taken = try await device.sync("export", file.path, "--json")
        #expect(taken.exit == 2)
        #expect(try taken.errorObject["code"] as? String == "invalidInput")
        let rows = try await device.sync("import", file.path)
        #expect(rows.exit == 2)
        #expect(rows.error.split(separator: "\n").count == 2)
        #expect(rows.error.contains("the catalog on this device is not empty"))
        #expect(try await device.sync("import", file.path, "--replace").exit == 2)
        #expect(try await device.sync("import", device.scratch["none"].path).exit == 2)

        let other = try Device()
        #expect(try await other.sync("export", "-").exit == 6)
        var lines = String(decoding: try contents(file), as: UTF8.self).split(
            separator: "\n", omittingEmptySubsequences: false)
        lines[2] = lines[2].dropLast(9)
        try Data(lines.joined(separator: "\n").utf8).write(to: other.scratch["wrong"])
        let wrong = try await other.sync("import", other.scratch["wrong"].path)
        #expect(wrong.exit == 2 && wrong.error.contains("line 3: it is not JSON"))
        lines[0] = #"{"format":"lazysync-export","version":2}"#
        try Data(lines.joined(separator: "\n").utf8).write(to: other.scratch["newer"])
        #expect(try await other.sync("import", other.scratch["newer"].path).exit == 8)
        #expect(try await other.sync("list").exit == 6)
        #expect(Set(other.files).isSubset(of: Device.empty))
    }

    @Test func `after a step back to an older program, a file is the way back`() async throws {
        let device = try await Device.restored()
        let file = device.scratch["file"]
        try await device.done("export", file.path)
        let before = try await lists(device)
        let catalog = try device.file("catalog.sqlite")
        try await run("/usr/bin/sqlite3", [catalog.path, "PRAGMA user_version = 99"])
        let bytes = try contents(catalog)
        #expect(try await device.sync("list").exit == 8)
        let refused = try await device.sync("import", file.path)
        #expect(refused.exit == 8 && refused.error.contains("--replace"))
        #expect(try contents(catalog) == bytes)
        let report = try await device.done("import", file.path, "--replace", "--json").object
        let kept = try #require(report["kept"] as? String)
        let version = try await run("/usr/bin/sqlite3", [kept, "PRAGMA user_version"])
        #expect(version == "99\n")
        #expect(try await lists(device) == before)
        #expect(try await device.done("restore", "--json").object["verified"] as? Bool == true)
    }

    @Test func `a file comes through a pipe`() async throws {
        let device = try await Device.restored()
        let other = try Device()
        try await run(
            "/bin/bash", ["-eu", "-o", "pipefail"], in: device.scratch.url,
            input: """
                "$sync" export - --home "$from" | gzip | gunzip | "$sync" import - --home "$to"
                """,
            environment: ["sync": Command.path, "from": device.home, "to": other.home])
        #expect(try await lists(other) == lists(device))
    }

    @Test(arguments: [false, true])
    func `killed in the middle of an import, nothing of it is there`(
        isLoggedIn: Bool
    ) async throws {
        let device = try await Device.restored()
        let file = device.scratch["file"]
        try await device.done("export", file.path)
        let other = try Device()
        if isLoggedIn { try await other.login() }
        let before = other.files
        let pipe = other.scratch["pipe"].path
        #expect(mkfifo(pipe, 0o600) == 0)
        let writer = try #require(FileHandle(forUpdatingAtPath: pipe))
        let text = String(decoding: try contents(file), as: UTF8.self)
        let half = text.split(separator: "\n").prefix(3).joined(separator: "\n")
        try writer.write(contentsOf: Data(half.utf8))
        let command = try other.start(["import", pipe])
        try await eventually { other.files.contains { $0.hasSuffix("catalog.importing") } }
        command.signal(SIGKILL)
        #expect(try await command.result().exit == nil)
        try writer.close()
        #expect(try await other.sync("list").exit == (isLoggedIn ? 0 : 6))
        let left = Set(other.files).subtracting(before)
        #expect(left.isSubset(of: Device.empty), "\(left)")
        try await other.done("import", file.path)
        #expect(try await lists(other).first == lists(device).first)
    }

    @Test func `interrupted, it says so and leaves nothing`() async throws {
        let device = try Device()
        let pipe = device.scratch["pipe"].path
        #expect(mkfifo(pipe, 0o600) == 0)
        let source = try await Device.restored()
        try await source.done("export", source.scratch["file"].path)
        let text = try contents(source.scratch["file"])
        let writer = try #require(FileHandle(forUpdatingAtPath: pipe))
        let command = try device.start(["import", pipe])
        try writer.write(contentsOf: Data(text.prefix { $0 != UInt8(ascii: "\n") } + [10]))
        try await eventually { device.files.contains { $0.hasSuffix("catalog.importing") } }
        command.signal(SIGINT)
        // The rest of the file wakes it up.
        try writer.write(contentsOf: Data(text.drop { $0 != UInt8(ascii: "\n") }.dropFirst()))
        try writer.close()
        #expect(try await command.result().exit == 130)
        #expect(Set(device.files).isSubset(of: Device.empty), "\(device.files)")
    }
}

/// `import-legacy`, as far as it goes.
@Suite(.timeLimit(.minutes(1))) struct `An old store` {
    @Test func `a dry run says what would be imported, and nothing else is done`() async throws {
        let scratch = try Scratch()
        let (old, map) = (scratch["old.plist"], scratch["map.json"])
        let value: [String: Any] = ["notes": [["name": "a", "x": 1], ["body": "b"]]]
        let data = try PropertyListSerialization.data(
            fromPropertyList: value, format: .binary, options: 0)
        try data.write(to: old)
        try Data(#"{"version":1,"arrays":[{"array":"notes","title":"name"}]}"#.utf8).write(to: map)
        let words = ["import-legacy", old.path, "--map", map.path, "--home", scratch["home"].path]
        let report = try await Command(words + ["--dry-run", "--json"]).result()
        #expect(report.exit == 0)
        #expect(try report.object["items"] as? Int == 1)
        #expect(try report.object["imported"] as? Int == 0)
        #expect(try report.object["unmapped"] as? [String: Int] == ["notes.x": 1, "notes.body": 1])
        let refused = try await Command(words).result()
        #expect(refused.exit == 6 && refused.error.contains("nobody is logged in"), "\(refused)")
        #expect(try await Command(Array(words.prefix(2))).result().exit == 2)
        try Data("not a store".utf8).write(to: old)
        #expect(try await Command(words + ["--dry-run"]).result().exit == 2)
        #expect(scratch.files(under: "home") == [])
    }
}
