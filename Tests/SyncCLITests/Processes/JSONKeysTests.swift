import Foundation
import Testing

@testable import MockServer

/// What programs build on: more keys may come, none may be renamed.
@Suite(.serialized, .timeLimit(.minutes(5))) struct `The keys of --json` {
    /// Whether an object has these keys with values of these kinds.
    private func expect(
        _ object: [String: Any], has keys: [String: (Any) -> Bool],
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        for (key, fits) in keys {
            let value = object[key]
            #expect(
                value.map(fits) == true, "\(key) is \(value.map { "\($0)" } ?? "not there")",
                sourceLocation: sourceLocation)
        }
    }

    private let text: (Any) -> Bool = { $0 is String }
    private let number: (Any) -> Bool = { $0 is NSNumber }
    private let null: (Any) -> Bool = { $0 is NSNull }
    private let list: (Any) -> Bool = { $0 is [Any] }
    private let flag: (Any) -> Bool = { $0 is Bool }

    private func `is`(_ wanted: some Equatable & Sendable) -> (Any) -> Bool {
        { value in
            func same<Value: Equatable>(_ wanted: Value) -> Bool { value as? Value == wanted }
            return same(wanted)
        }
    }

    /// The members that docs/COMMAND.md names, by verb; of those that may be left out, apart.
    private func documented() throws -> [String: (always: Set<String>, maybe: Set<String>)] {
        var rows: [String: (always: Set<String>, maybe: Set<String>)] = [:]
        for line in try Repository.text("docs/COMMAND.md").split(separator: "\n")
        where line.hasPrefix("| ") && line.contains("`") {
            let cells = line.split(separator: "|")
            let verb = cells[0].filter { !"` ".contains($0) }
            // What stands in parentheses is a member's own, or a word about it.
            let outer = cells[1].replacing(try Regex(#"\([^)]*\)"#), with: "")
            let words = outer.split(separator: ";")[0].split(separator: "`").map(String.init)
                .filter { word in word.allSatisfy { $0.isLetter || $0 == "?" } }
            rows[verb] = (
                Set(words.filter { !$0.hasSuffix("?") }),
                Set(words.filter { $0.hasSuffix("?") }.map { String($0.dropLast()) })
            )
        }
        return rows
    }

    @Test func `are those that docs COMMAND lists, for every verb`() async throws {
        let table = try documented()
        let help = try await Command(["help"]).result().lines
        let verbs = help.filter { $0.hasPrefix("  ") && $0.dropFirst(2).first?.isLetter == true }
            .compactMap { $0.split(separator: " ").first.map(String.init) }
        #expect(verbs.count > 20)
        for verb in verbs where verb != "help" { #expect(table[verb] != nil, "\(verb)") }

        let device = try Device()
        let id = try device.account.file("notes.md").id
        let item = try #require(device.account.items.first).id
        func check(_ words: [String], as row: String? = nil) async throws {
            let (always, maybe) = try #require(table[row ?? words[0]])
            let objects = try await device.done(words + ["--json"]).objects
            #expect(!objects.isEmpty)
            for object in objects {
                let keys = Set(object.keys)
                #expect(keys.isSuperset(of: always), "\(words): \(always.subtracting(keys))")
                let known = always.union(maybe)
                #expect(keys.isSubset(of: known), "\(words): \(keys.subtracting(known))")
            }
        }
        try await check(device.loginWords())
        for words in [
            ["restore"], ["list"], ["items"], ["show", item],
            ["save", id, "--to", device.scratch.path],
            ["explain", id], ["unpin", id], ["unpin", "--all"], ["evict", id],
            ["cache"], ["verify"], ["status"], ["export", device.scratch["catalog.json"].path],
            ["version"],
        ] { try await check(words) }
        try await check(["open", id])
        try await check(["retry", id], as: "explain")
        try await check(["thumb", device.account.file("icon.png").id], as: "open")
        try await check(["pin", id], as: "open")
        let pinned = try await device.done("pin", "--all", "--json").object
        #expect(Set(pinned.keys) == ["fetched", "missing", "bytes", "reasons"])
        let error = try await device.sync("evict", id, "--json").errorObject
        let row = try #require(table["anerror"])
        #expect(Set(error.keys) == row.always.union(["id"]))
        #expect(row.maybe == ["id", "nextAttempt"])
        let file = device.scratch["new.txt"]
        try Data("new".utf8).write(to: file)
        for words in [
            ["add", file.path], ["list"], ["edit", item, "--title", "x"], ["push"],
            ["remove", item], ["trash"], ["untrash", item], ["run"], ["trust", "--keep"],
        ] { try await check(words) }
        try await check(["logout"])
    }

    @Test func `of every verb are those that are promised`() async throws {
        let device = try Device()
        let account = device.account
        let login = try await device.done(device.loginWords() + ["--json"]).object
        expect(login, has: ["account": `is`("small"), "server": `is`("\(device.server.url)/")])

        let restore = try await device.done("restore", "--json").object
        expect(
            restore,
            has: [
                "items": `is`(7), "attachments": `is`(20), "addressesComplete": `is`(20),
                "addressesMissing": `is`(0), "thumbnailsHere": `is`(9), "thumbnailsFailed": `is`(0),
                "unreadable": list, "bytes": number, "seconds": number, "head": `is`(3),
                "verified": `is`(true),
            ])

        let photo = try account.file("icon.png")
        let note = try account.file("notes.md")
        let record = device.server.faults.add(
            try await device.match(note), .problem(404, code: "no-such-blob"))
        let refused = try await device.sync("open", note.id, "--json")
        #expect(refused.exit == 4)
        expect(
            try refused.object,
            has: [
                "id": `is`(note.id), "path": null, "size": `is`(note.size),
                "state": `is`("unavailable"), "reason": `is`("notFound"), "bytesFetched": null,
                "requests": null,
            ])
        expect(
            try refused.errorObject,
            has: ["error": text, "code": `is`("notFound"), "exit": `is`(4), "hint": text])
        device.server.faults.remove(record)

        expect(
            try await device.done("open", photo.id, "--json").object,
            has: [
                "id": `is`(photo.id), "path": text, "size": `is`(photo.size), "state": `is`("here"),
                "bytesFetched": `is`(photo.size), "requests": `is`(1),
            ])
        expect(
            try await device.done("thumb", photo.id, "--json").object,
            has: [
                "id": `is`(photo.id), "path": text, "size": number, "state": `is`("here"),
                "bytesFetched": number, "requests": number,
            ])

        let rows = try await device.done("list", "--json").objects
        let keys: [String: (Any) -> Bool] = [
            "id": text, "item": text, "title": text, "name": text, "type": text, "size": number,
            "state": text, "thumb": { $0 is String || $0 is NSNull }, "pinned": flag,
            "upload": null,
        ]
        for row in rows {
            expect(row, has: keys)
            #expect((row["reason"] != nil) == (row["state"] as? String == "unavailable"))
        }

        for id in [photo.id, note.id] {
            let object = try await device.done("explain", id, "--json").object
            expect(object, has: ["id": `is`(id), "state": text, "address": text])
            let evidence = try #require(object["evidence"] as? [String: Any])
            expect(evidence, has: ["bytes": number, "attempts": number])
            for key in ["status", "lastAttempt", "nextAttempt"] { #expect(evidence[key] != nil) }
            #expect((object["path"] is String) == (id == photo.id))
            #expect((object["reason"] as? String) == (id == note.id ? "notFound" : nil))
        }

        let status = try await device.done("status", "--json").object
        expect(
            status,
            has: [
                "account": `is`("small"), "server": text, "head": `is`(3), "verified": `is`(true),
                "session": `is`("active"), "scope": `is`(account.id), "place": `is`("private"),
                "folder": text, "schema": number, "outbox": `is`(0), "flags": list,
            ])
        expect(
            try #require(status["states"] as? [String: Any]),
            has: ["remote": number, "pending": number, "here": number, "unavailable": number])
        let cache = try #require(status["cache"] as? [String: Any])
        for key in ["bytes", "limit", "pinned"] { #expect(cache[key] != nil) }

        expect(
            try await device.done("verify", "--sample", "100", "--json").object,
            has: [
                "checked": `is`(10), "spooled": `is`(0), "proved": `is`(10), "bytes": number,
                "skipped": `is`(0),
                "found": `is`(0), "repaired": `is`(0), "problems": list, "head": `is`(true),
                "resumed": `is`(false),
            ])

        let item = try #require(account.items.first)
        let shown = try await device.done("show", item.id, "--json").object
        expect(shown, has: ["id": `is`(item.id), "title": `is`(item.title), "attachments": list])
        expect(
            try await device.done("logout", "--json").object,
            has: ["account": `is`("small"), "serverKnows": `is`(true)])
    }
}
