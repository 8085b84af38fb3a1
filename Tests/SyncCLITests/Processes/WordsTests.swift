import Foundation
import Testing

@testable import MockServer

/// What the command says of bytes on demand: to a person, and to a program.
@Suite(.serialized, .timeLimit(.minutes(5))) struct `The words about bytes` {
    private func lines(_ result: CommandResult) throws -> [[String: Any]] {
        try result.error.split(separator: "\n").map { line in
            try #require(
                try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        }
    }

    @Test func `a file over the limit that was streamed says why it is not here`() async throws {
        let device = try await Device.restored()
        let file = try device.account.large
        try await device.done("cache", "--limit", "1M")
        let refused = try await device.sync("open", file.id)
        #expect(refused.exit == 4)
        #expect(refused.error.contains("its 5.0 MiB do not fit into the cache's 1.0 MiB"))
        #expect(refused.error.contains("--stdout") && !refused.error.contains("unpin"))
        let streamed = try await device.done("open", file.id, "--stdout", "--json")
        #expect(streamed.output.count == file.size)
        let object = try streamed.errorObject
        #expect(object["state"] as? String == "unavailable")
        #expect(object["reason"] as? String == "tooLarge")
    }

    @Test func `what is pinned is not evicted, and the error has a code of its own`() async throws {
        let device = try await Device.restored()
        let file = try device.account.file("notes.md")
        try await device.done("pin", file.id)
        let refused = try await device.sync("evict", file.id, "--json")
        #expect(refused.exit == 4)
        let error = try refused.errorObject
        #expect(error["code"] as? String == "pinned" && error["id"] as? String == file.id)
        #expect(error["hint"] as? String == "unpin it first")
        let unpinned = try await device.done("unpin", file.id, "--json").object
        #expect(unpinned["id"] as? String == file.id && unpinned["pinned"] as? Bool == false)
        #expect(try await device.done("evict", file.id).text.hasPrefix("removed  1 file, "))
    }

    @Test func `pins are seen in every place that tells of the bytes`() async throws {
        let device = try await Device.restored()
        let item = try #require(device.account.items.first)
        let file = try #require(item.attachments.first)
        try await device.done("pin", file.id)
        #expect(try await device.done("explain", file.id).text.contains("\npinned        yes\n"))
        let shown = try await device.done("show", item.id).lines
        #expect(shown.count { $0.hasSuffix("\tpinned") } == 1)
        #expect(try await !device.done("status").text.contains("pinned"))
        try await device.done("pin", "--all")
        for verb in ["cache", "status"] {
            let text = try await device.done(verb).text
            #expect(text.contains("all attachments, also those to come"), "\(text)")
        }
        let cache = try await device.done("cache", "--json").object
        #expect(cache["pinsAll"] as? Bool == true && cache["isLimitChosen"] as? Bool == false)
        let unpinned = try await device.done("unpin", "--all", "--json").object
        #expect(unpinned["pinsAll"] as? Bool == false)
    }

    @Test func `pin --all counts what has no address, and says how many and why`() async throws {
        let device = try Device(serving: .edges())
        try await device.login()
        _ = try await device.sync("restore", "--no-thumbnails")
        let pinned = try await device.sync("pin", "--all", "--json")
        #expect(pinned.exit == 5, "\(pinned)")
        let object = try pinned.object
        let reasons = try #require(object["reasons"] as? [String: Int])
        let unavailable = try await device.done("list", "--state", "unavailable", "--json").objects
        #expect(object["missing"] as? Int == unavailable.count)
        for (reason, count) in reasons {
            #expect(count == unavailable.count { $0["reason"] as? String == reason }, "\(reason)")
        }
        #expect((reasons["addressMissing"] ?? 0) > 0 && (reasons["addressInvalid"] ?? 0) > 0)
        let errors = try lines(pinned)
        let ids = try errors.map { try #require($0["id"] as? String) }
        #expect(Set(ids) == Set(unavailable.compactMap { $0["id"] as? String }))
        // The same again is in the same order.
        let again = try await device.sync("pin", "--all", "--json")
        #expect(try lines(again).compactMap { $0["id"] as? String } == ids)
        // A person reads what to do once for each reason.
        let text = try await device.sync("pin", "--all").error
        let hints = text.split(separator: "\n").filter { $0.hasPrefix("sync: hint: ") }
        #expect(Set(hints).count == hints.count, "\(text)")
    }

    @Test func `without a connection pin says that it stays pinned, and each prints an object`()
        async throws
    {
        let device = try await Device.restored()
        let file = try device.account.large
        device.server.stop()
        let one = try await device.sync("pin", file.id)
        #expect(one.exit == 3)
        #expect(one.error.hasPrefix("sync: error: offline: no connection to 127.0.0.1 port "))
        #expect(one.error.contains("it stays pinned"))
        #expect(one.error.count { $0 == "\n" } == 2)
        let all = try await device.sync("pin", "--all", "--json")
        #expect(all.exit == 3)
        #expect(try all.object["fetched"] as? Int == 0)
        #expect(try all.object["missing"] as? Int == device.account.files.count)
        #expect((try all.errorObject["hint"] as? String)?.contains("stays pinned") == true)
        try device.server.start()
        try await device.done("pin", "--all")
    }

    @Test func `save and retry name the attachment by its id, and the hint once`() async throws {
        let device = try await Device.restored()
        let files = [try device.account.file("notes.md"), try device.account.file("budget.csv")]
        for file in files {
            device.server.faults.add(
                try await device.match(file), .problem(404, code: "no-such-blob"))
        }
        let words = files.map(\.id)
        let typed = words.map { "\($0.prefix(8))" }
        let saved = try await device.sync(
            ["save"] + typed + ["--to", device.scratch.path, "--json"])
        #expect(saved.exit == 4)
        #expect(try saved.objects.compactMap { $0["id"] as? String } == words)
        #expect(try saved.objects.allSatisfy { $0["reason"] as? String == "notFound" })
        #expect(try lines(saved).compactMap { $0["id"] as? String } == words)
        let retried = try await device.sync("retry", "--all", "--json")
        #expect(Set(try lines(retried).compactMap { $0["id"] as? String }) == Set(words))
        let explained = try retried.objects
        for key in ["item", "name", "type", "size", "pinned", "thumb", "help"] {
            #expect(explained.allSatisfy { $0[key] != nil }, "\(key)")
        }
        let text = try await device.sync("retry", "--all").error
        #expect(text.components(separatedBy: "sync: hint: ").count == 2, "\(text)")
        for word in words { #expect(text.contains("sync: error: \(word): notFound")) }
    }

    @Test func `a server that asks to wait is quoted with the time`() async throws {
        let device = try await Device.restored()
        let file = try device.account.file("notes.md")
        device.server.faults.add(
            try await device.match(file),
            .problem(429, code: "slow-down", headers: [Header("Retry-After", "600")]))
        let refused = try await device.sync("open", file.id, "--json")
        #expect(refused.exit == 3)
        let next = try #require(try refused.errorObject["nextAttempt"] as? String)
        #expect(
            try refused.errorObject["hint"] as? String == "the server asked to wait until \(next)")
        let help = try await device.done("explain", file.id, "--json").object["help"] as? String
        #expect(help?.hasPrefix("the server asked to wait until 20") == true)
    }

    @Test func `with --verbose a wait is seen while it lasts`() async throws {
        let device = try await Device.restored()
        let file = try device.account.file("notes.md")
        var match = try await device.match(file)
        match.method = "GET"
        device.server.faults.add(
            Fault(
                match, times: 1,
                .problem(429, code: "slow-down", headers: [Header("Retry-After", "2")])))
        let opened = try await device.done("open", file.id, "--verbose")
        #expect(opened.error.contains("sync: the server asks to wait, 2 s\n"), "\(opened)")
    }

    @Test func `a limit that cannot be kept at once says how much stays, and why`() async throws {
        let device = try await Device.restored()
        try await device.done("open", device.account.large.id)
        let set = try await device.done("cache", "--limit", "1M")
        #expect(set.error.contains(" over the limit: what was opened in the last ten minutes"))
        #expect(set.text.contains("originals   5.0 MiB"))
        #expect(try await device.done("cache", "--limit", "1G").error.isEmpty)
    }
}
