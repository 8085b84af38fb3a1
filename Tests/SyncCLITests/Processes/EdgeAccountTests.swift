import Foundation
import Testing

@testable import MockServer

/// The account of what no healthy first device would have written: what can come, comes, and of the
/// rest it is said why.
@Suite(.serialized, .timeLimit(.minutes(5))) struct `An account with faults` {
    @Test func `is restored as far as it goes, and each file comes or says why not`() async throws {
        let device = try Device(serving: .edges())
        try await device.login()
        let restored = try await device.sync("restore", "--json")
        #expect(restored.exit == 5, "\(restored)")
        let report = try restored.object
        #expect(report["items"] as? Int == 13)
        #expect(report["attachments"] as? Int == 27)
        #expect(report["addressesComplete"] as? Int == 23)
        #expect(report["addressesMissing"] as? Int == 3)
        #expect((report["unreadable"] as? [String])?.count == 1)
        #expect(report["verified"] as? Bool == true)
        let failure = try restored.errorObject
        #expect(failure["exit"] as? Int == 5)
        #expect((failure["error"] as? String)?.contains("addresses missing: 3") == true)

        let rows = try await device.done("list", "--json").objects
        #expect(rows.count == 27)
        for file in device.account.files {
            let row = rows.first { $0["id"] as? String == file.id }
            guard file.expect != "leftOut" else {
                #expect(row == nil)
                continue
            }
            let listed = try #require(row)
            #expect(Array((listed["name"] as? String ?? "").utf8) == Array(file.name.utf8))
            let result = try await device.sync("open", file.id, "--json")
            if file.expect == "here" {
                #expect(result.exit == 0, "\(result)")
                let path = try #require(try result.object["path"] as? String)
                #expect(try await sha256([path]) == [file.sha256])
                // A name is never a path.
                #expect(path.hasPrefix(device.home + "/cache/lazysync/\(device.account.id)/blobs/"))
                let last = path.split(separator: "/").last
                #expect(last == "content" || last?.hasPrefix("content.") == true)
            } else {
                #expect(result.exit == 4, "\(result)")
                #expect(try result.object["reason"] as? String == file.expect, "\(file.name)")
                #expect(try result.errorObject["code"] as? String == file.expect)
            }
        }
        // The same once more: what cannot come did not take what can along.
        let again = try await device.sync("restore", "--json")
        #expect(again.exit == 5)
        let here = device.account.files.filter { $0.expect == "here" }
        #expect(try await device.done("list", "--state", "here").lines.count == here.count)
    }

    @Test func `shows names that act on a terminal as text, and saves under names that are safe`()
        async throws
    {
        let device = try Device(serving: .edges())
        try await device.login()
        _ = try await device.sync("restore", "--no-thumbnails")
        let item = try #require(device.account.items.first { $0.title.contains("\u{1B}") })
        for words in [
            ["list"], ["items"], ["show", item.id], ["explain", item.attachments[4].id],
        ] {
            let result = try await device.done(words)
            let acting = result.text.unicodeScalars.filter { scalar in
                let isLayout = scalar == "\n" || scalar == "\t"
                return !isLayout
                    && (scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
                        || (0x202A...0x202E).contains(scalar.value))
            }
            #expect(acting.isEmpty, "\(words)")
        }
        let folder = device.scratch["saved"]
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        try Data("mine".utf8).write(to: device.scratch["etc"])
        let saved = try await device.done(
            ["save"] + item.attachments.map(\.id) + ["--to", folder.path, "--json"]
        ).objects
        #expect(saved.count == item.attachments.count)
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(names.count == item.attachments.count)
        for name in names {
            #expect(!name.hasPrefix(".") && name.utf8.count <= 255)
            #expect(!name.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x202E })
        }
        let paths = saved.compactMap { $0["path"] as? String }
        #expect(try await sha256(paths) == item.attachments.map(\.sha256))
    }

    @Test func `one bad id does not stop the others, and the exit code says that some is missing`()
        async throws
    {
        let device = try Device(serving: .edges())
        try await device.login()
        _ = try await device.sync("restore", "--no-thumbnails")
        let folder = device.scratch["saved"]
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        let good = [try device.account.file("kept.txt"), try device.account.file("zone.txt")]
        let bad = try device.account.file("without.txt")
        let result = try await device.sync(
            "save", good[0].id, bad.id, good[1].id, "--to", folder.path)
        #expect(result.exit == 5, "\(result)")
        #expect(result.lines == good.map { "\(folder.path)/\($0.name)" })
        #expect(result.error.contains("\(bad.id): addressMissing"))
        let none = try await device.sync("save", bad.id, "--to", folder.path)
        #expect(none.exit == 4, "\(none)")
    }
}
