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
                "checked": `is`(10), "proved": `is`(10), "bytes": number, "skipped": `is`(0),
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
