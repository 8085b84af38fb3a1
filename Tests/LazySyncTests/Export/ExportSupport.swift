import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import TestSupport

/// An export as its lines, to be looked at and to be made wrong.
struct ExportText {
    /// Without their newlines; the last is the one with the digest.
    var lines: [String]

    init(_ bytes: [UInt8]) {
        lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    /// The file as it stands.
    var bytes: [UInt8] { Array((lines.joined(separator: "\n") + "\n").utf8) }

    /// The file with a last line that fits, as somebody would make it who has the source.
    var sealed: [UInt8] {
        let body = Array((lines.dropLast().joined(separator: "\n") + "\n").utf8)
        var end = ExportEnd()
        for line in lines {
            if line.hasPrefix(#"{"entry":"#) { end.entries += 1 }
            if line.hasPrefix(#"{"staged":"#) { end.staged += 1 }
            end.attachments += line.components(separatedBy: #""position":"#).count - 1
        }
        end.digest = [UInt8](copying: Hash.blake2b256(body.span).span)
        return body + ExportLine.end(end).bytes
    }

    /// Changes the line of an entry.
    mutating func change(_ id: LazySync.EntryID, _ edit: (inout String) -> Void) throws {
        let index = try #require(lines.firstIndex { $0.hasPrefix(#"{"entry":"\#(id)""#) })
        edit(&lines[index])
    }
}

extension ExportText {
    /// The file with a few changes, mostly with a last line that fits.
    func mutated(_ random: inout SeededGenerator) -> [UInt8] {
        var file = self
        for _ in 0...Int.random(in: 0...2, using: &random) {
            let index = Int.random(in: 0..<(file.lines.count - 1), using: &random)
            switch Int.random(in: 0..<6, using: &random) {
            case 0: file.lines.remove(at: index)
            case 1: file.lines.insert(file.lines[index], at: index)
            case 2: file.lines.swapAt(index, file.lines.count / 2)
            default: file.lines[index] = Self.mutated(file.lines[index], &random)
            }
        }
        // Mostly with a digest that fits: else nothing behind it is tried.
        guard Int.random(in: 0..<8, using: &random) > 0 else { return file.bytes }
        return file.sealed
    }

    private static func mutated(_ line: String, _ random: inout SeededGenerator) -> String {
        var bytes = Array(line.utf8)
        guard !bytes.isEmpty else { return line }
        let place = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<5, using: &random) {
        case 0:
            bytes[place] = Array("0129aAzZ{}[]\",:-.e\\ ".utf8).randomElement(using: &random) ?? 0
        case 1: bytes.remove(at: place)
        case 2: bytes.insert(bytes[place], at: place)
        case 3:
            // Another digit for a digit: what passes the grammar and may pass the checks.
            let digits = bytes.indices.filter { (0x30...0x39).contains(bytes[$0]) }
            if let digit = digits.randomElement(using: &random) {
                bytes[digit] = UInt8.random(in: 0x30...0x39, using: &random)
            }
        default:
            let end = min(bytes.count, place + Int.random(in: 1...40, using: &random))
            bytes.removeSubrange(place..<end)
        }
        return String(decoding: bytes, as: UTF8.self).replacing("\n", with: " ")
    }
}

extension TestHome {
    /// Exports what is here.
    func export() async throws -> ExportText {
        let path = folder.appending(path: "export-\(UUID().uuidString)").path
        _ = try await open().export(to: path)
        defer { try? FileManager.default.removeItem(atPath: path) }
        return ExportText([UInt8](try Data(contentsOf: URL(filePath: path))))
    }

    /// Imports bytes.
    @discardableResult
    func importing(_ bytes: [UInt8], replacing: Bool = false) async throws -> ImportReport {
        let file = folder.appending(path: "import-\(UUID().uuidString)")
        try Data(bytes).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        return try await SyncEngine.importCatalog(
            from: file.path, replacing: replacing, configuration)
    }

    /// The files of the account's data folder.
    func dataFiles() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: accountPlaces.data).sorted()
    }
}

extension SyncEngine {
    /// Everything that lists show.
    func everything() async throws -> [String] {
        var lines: [String] = []
        for item in try await items(limit: 10_000) {
            lines.append("\(item)")
            lines.append("\(try await self.item(item.id))")
        }
        for row in try await attachments(AttachmentQuery(limit: 10_000)) { lines.append("\(row)") }
        return lines
    }
}

extension TestAccount {
    /// An account with everything that an export has to tell apart.
    ///
    /// The kept address is only there after a restore before and after `spoil`.
    static func ofAllKinds() -> (TestAccount, spoil: () -> Void) {
        let account = TestAccount()
        let photo = account.add(
            "Fotos – \"é\" \u{7} \\", .photo("a.jpg"),
            TestFile("b.png", size: 900, type: "image/png"),
            text: "two\nlines\u{2028}\u{0}", created: "2026-11-01T09:00:00.5+02:00")
        account.add("no time", TestFile("big", size: 70_000), created: "yesterday")
        account.add("nothing attached", text: "")
        let bare = account.add("addresses", TestFile("1", "1"), TestFile("2", "2"), .photo("3.jpg"))
        account.change(bare.id) {
            $0.attachments[0].ref = .absent
            $0.attachments[1].ref = .null
            $0.attachments[2].thumb?.ref = .absent
            $0.modified = "2026-11-02T00:00:00Z"
        }
        account.put(
            Array(
                #"{"title":"newer","color":"red","attachments":[{"id":"x"},{"id":"00112233445566778899aabbccddeeff","name":"n","type":"t","size":5,"ref":"cb1.no","thumb":{"type":"image/png","size":300000,"ref":null}}]}"#
                    .utf8))
        account.put(Array("not JSON".utf8))
        let gone = account.add("gone", TestFile("x", "x"))
        account.push()
        account.remove(gone.id)
        account.push()
        return (
            account,
            {
                account.change(photo.id) { $0.attachments[0].ref = .text("cb1.cut") }
                account.push()
            }
        )
    }
}
