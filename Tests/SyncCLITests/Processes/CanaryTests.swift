import Foundation
import Testing

@testable import MockServer

/// Words that nobody but this account has, looked for everywhere.
@Suite(.serialized, .timeLimit(.minutes(10))) struct `Canaries of the whole job` {
    // Lower-case letters and digits, so that no way of writing them down changes them.
    private static let passphrase = "passcanary7f3d91 über zwölf"
    private static let content = "contentcanary52c8e0"
    private static let name = "namecanarya94b17"
    private static let title = "titlecanary6e20fd"

    /// An account of a few files, sealed by the reference.
    private static func account(in scratch: Scratch) async throws -> PlainAccount {
        let files = scratch["files"]
        try FileManager.default.createDirectory(at: files, withIntermediateDirectories: false)
        // The first file of an item gives it its title.
        let contents = [
            "\(title).txt": "A first file.\n",
            "z \(name).txt": String(repeating: "Again: \(content).\n", count: 20_000),
            "z small \(name).md": "\(content)\n",
        ]
        for (name, text) in contents {
            try Data(text.utf8).write(to: files.appendingPathComponent(name))
        }
        try Data(passphrase.utf8).write(to: scratch["secret"])
        return try await .make(of: files, in: scratch, "--passphrase-file", scratch["secret"].path)
    }

    /// Bytes to look for, in every way of writing them down that comes to mind.
    private struct Needle {
        let what: String
        let forms: [[UInt8]]

        init(_ what: String, _ bytes: [UInt8]) {
            self.what = what
            var forms = [bytes]
            let hex = bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
            forms += [Array(hex.utf8), Array(hex.uppercased().utf8)]
            // Base64 of bytes that stand anywhere in others: three ways, without the ends that
            // depend on the neighbours.
            for offset in 0..<3 {
                let padded = Data([UInt8](repeating: 0, count: offset) + bytes)
                let text = Array(padded.base64EncodedString().utf8)
                let inner = Array(
                    text.dropFirst(offset == 0 ? 0 : 4).prefix(bytes.count / 3 * 4 - 4))
                forms.append(inner)
                forms.append(
                    inner.map { $0 == UInt8(ascii: "+") ? 45 : $0 == UInt8(ascii: "/") ? 95 : $0 })
            }
            let escaped = bytes.map { byte -> String in
                let isPlain = byte < 0x80 && (byte > 0x2F)
                return isPlain
                    ? String(decoding: [byte], as: UTF8.self)
                    : "%" + String(byte >> 4, radix: 16, uppercase: true)
                        + String(byte & 15, radix: 16, uppercase: true)
            }
            forms.append(Array(escaped.joined().utf8))
            self.forms = forms
        }

        init(_ what: String, _ text: String) { self.init(what, Array(text.utf8)) }

        func expectNone(
            in place: String, _ bytes: [UInt8], sourceLocation: SourceLocation = #_sourceLocation
        ) {
            let data = Data(bytes)
            let isThere = forms.contains { data.range(of: Data($0)) != nil }
            #expect(!isThere, "\(what) in \(place)", sourceLocation: sourceLocation)
        }
    }

    @Test func `a needle is found in every form`() {
        let needle = Needle("x", Array("passcanary".utf8))
        for offset in 0..<3 {
            let text = String(repeating: "ü", count: offset) + "passcanary and more"
            let forms = [
                text, Data(text.utf8).base64EncodedString(),
                text.utf8.map { String($0, radix: 16) }.joined(),
            ]
            for form in forms {
                let data = Data(form.utf8)
                #expect(needle.forms.contains { data.range(of: Data($0)) != nil }, "\(form)")
            }
        }
    }

    @Test func `reach no request, log, argument, environment or file where they do not belong`()
        async throws
    {
        let scratch = try Scratch()
        let account = try await Self.account(in: scratch)
        let device = try Device(serving: account)
        let large = try #require(account.files.first { $0.size > 100_000 })
        let small = try #require(account.files.first { $0.name.hasSuffix(".md") })
        let copies = device.scratch["copies"]
        try FileManager.default.createDirectory(at: copies, withIntermediateDirectories: false)
        let recordPath = "/v1/blobs/"

        var results: [CommandResult] = []
        func verb(_ words: [String], exit: Int32 = 0) async throws {
            let command = try device.start(words + ["--verbose"], isObserved: true)
            let result = try await command.result()
            #expect(result.exit == exit, "\(result)")
            results.append(result)
        }
        try await verb(device.loginWords())
        try await verb(["restore"])
        try await verb(["list"])
        try await verb(["items"])
        try await verb(["show", account.items[0].id])
        device.server.faults.add(.get(recordPath), times: 1, .problem(404, code: "no-such-blob"))
        try await verb(["open", large.id], exit: 4)
        try await verb(["explain", large.id])
        device.server.faults.add(.get(recordPath), times: 1, .flip(at: 70_000))
        try await verb(["retry", large.id])
        try await verb(["open", large.id])
        try await verb(["open", large.id, "--stdout"])
        try await verb(["save", small.id, "--to", copies.path])
        try await verb(["status"])
        let files = device.files
        let catalog = files.filter { $0.hasPrefix("data/") }
        let settings = files.filter { $0.hasPrefix("config/") }
        #expect(catalog.contains { $0.hasSuffix("catalog.sqlite") })
        var contents: [String: [UInt8]] = [:]
        for path in catalog + settings {
            contents[path] = [UInt8](
                try Data(contentsOf: device.scratch["home"].appendingPathComponent(path)))
        }
        let keys = try KeyFile(
            text: String(decoding: device.contents("keys/\(account.id)"), as: UTF8.self))
        try await verb(["logout"])
        try await device.server.log.settled()

        // One or the other may have been over before it could be looked at.
        let looked = results.count { result in result.observed.contains { !$0.isEmpty } }
        #expect(looked * 2 > results.count)

        let passphrase = Needle("the passphrase", Self.passphrase)
        let word = Needle("a word of the passphrase", "passcanary7f3d91")
        let content = Needle("a file's content", Self.content)
        let name = Needle("a name", Self.name)
        let title = Needle("a title", Self.title)
        let key = Needle("the account's key", keys.masterKey)
        let tokens = keys.tokens.map { Needle("a token", $0) }
        #expect(tokens.count == 2 && keys.masterKey.count == 32)

        // Requests: nothing of it. A token travels in its own header, a refresh value in its call.
        #expect(device.server.log.entries.count >= 8)
        for entry in device.server.log.entries {
            let place = "\(entry.method) \(entry.path)"
            for needle in [passphrase, word, content, name, title, key] {
                needle.expectNone(in: place, Array("\(entry.path)?\(entry.query)".utf8))
                needle.expectNone(in: place, entry.body)
                for header in entry.headers {
                    needle.expectNone(in: place, Array("\(header.name): \(header.value)".utf8))
                }
            }
            for token in tokens {
                token.expectNone(in: place, Array("\(entry.path)?\(entry.query)".utf8))
                for header in entry.headers where !header.isNamed("Authorization") {
                    token.expectNone(in: place, Array(header.value.utf8))
                }
            }
        }

        // Words: secrets nowhere, content only where it was asked for, names only in results.
        for result in results {
            let place = "sync \(result.words.joined(separator: " "))"
            for needle in [passphrase, word, key] + tokens {
                needle.expectNone(in: "output of \(place)", result.output)
                needle.expectNone(in: "error of \(place)", Array(result.error.utf8))
            }
            for needle in [content, name, title] {
                needle.expectNone(in: "error of \(place)", Array(result.error.utf8))
            }
            if !result.words.contains("--stdout") {
                content.expectNone(in: "output of \(place)", result.output)
            }
            let showsNames = ["list", "items", "show", "explain", "retry", "save"]
            if !showsNames.contains(result.words[0]) {
                for needle in [name, title] {
                    needle.expectNone(in: "output of \(place)", result.output)
                }
            }
            for bytes in result.observed {
                for needle in [passphrase, word, content, name, title, key] + tokens {
                    needle.expectNone(in: "argv or environment of \(place)", bytes)
                }
            }
        }

        // Files: names and titles are in the catalog by design, keys and tokens in the key file.
        for (path, bytes) in contents {
            for needle in [passphrase, word, content] { needle.expectNone(in: path, bytes) }
            let isKeyFile = path.contains("/keys/")
            if !isKeyFile { for needle in [key] + tokens { needle.expectNone(in: path, bytes) } }
            if path.hasPrefix("config/") {
                for needle in [name, title] { needle.expectNone(in: path, bytes) }
            }
        }
        try device.expectNothingOfTheAccount()
    }
}

/// What a key file says, read without the code that wrote it.
struct KeyFile {
    let masterKey: [UInt8]
    let tokens: [String]

    init(text: String) throws {
        var items: [String: [UInt8]] = [:]
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ").map(String.init)
            guard words.count == 3, words[0] == "item" else { continue }
            items[String(decoding: Self.bytes(words[1]), as: UTF8.self)] = Self.bytes(words[2])
        }
        masterKey = try #require(items["amk"])
        let session = try #require(items["session"])
        let tree = try JSONSerialization.jsonObject(with: Data(session)) as? [String: Any]
        tokens = ["token", "refresh"].compactMap { tree?[$0] as? String }
    }

    private static func bytes(_ hex: String) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = hex[...]
        while let byte = UInt8(rest.prefix(2), radix: 16) {
            bytes.append(byte)
            rest = rest.dropFirst(2)
        }
        return bytes
    }
}
