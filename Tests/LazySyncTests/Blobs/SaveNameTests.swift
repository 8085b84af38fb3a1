import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import TestSupport

/// A display name as a file's name, whoever chose it.
@Suite struct SaveNameTests {
    static let names: [(String, String)] = [
        ("photo.jpg", "photo.jpg"), ("여행 계획.txt", "여행 계획.txt"), ("", "attachment"),
        (".", "attachment"), ("..", "attachment"), ("...", "attachment"), ("   ", "attachment"),
        ("\u{3000}\u{A0}", "attachment"), (". . .", "attachment"),
        ("../../etc/passwd", "_.._etc_passwd"), ("/etc/passwd", "_etc_passwd"),
        (".bashrc", "bashrc"), (".\u{301}bashrc", "\u{301}bashrc"), ("a\0b", "a_b"),
        ("a\nb\r\tc", "a_b__c"), ("\u{1B}[31mred", "_[31mred"), ("a\\b:c", "a_b_c"),
        ("\u{202E}gpj.exe", "_gpj.exe"), ("a\u{2028}b", "a_b"), ("\u{FEFF}a", "_a"),
        ("a\u{85}b", "a_b"), ("\u{E000}a", "_a"), ("name. ", "name"), (" name", "name"),
        ("👨‍👩‍👧.png", "👨‍👩‍👧.png"), ("-rf", "-rf"), ("a/", "a_"), ("a.jpg/..", "a.jpg_"),
    ]

    @Test(arguments: names.indices)
    func `a name becomes one component, with nothing hidden and nothing a terminal obeys`(
        index: Int
    ) {
        let (name, safe) = Self.names[index]
        #expect(Array(SaveName.safe(name).utf8) == Array(safe.utf8))
    }

    @Test func `no name is empty, hidden, too long or more than one component`() {
        let random = SeededRandom(seed: 5)
        let pieces = [
            ".", "/", " ", "a", "\u{301}", "\u{200D}", "😀", "\0", "..", "\n", "é", "\u{202E}",
            "\u{FE0F}", ".jpg", "한", "\u{1F3FD}",
        ]
        for _ in 0..<400 {
            let count = random.number(below: 400)
            let name = (0..<count).map { _ in pieces[random.number(below: pieces.count)] }.joined()
            let safe = SaveName.safe(name)
            #expect((1...255).contains(safe.utf8.count), "\(name.debugDescription)")
            #expect(safe.utf8.first != UInt8(ascii: "."), "\(name.debugDescription)")
            #expect(!safe.utf8.contains { $0 == UInt8(ascii: "/") || $0 < 0x20 })
        }
    }

    @Test(arguments: [
        String(repeating: "😀", count: 300) + ".jpg", String(repeating: "a", count: 300) + ".jpg",
        "a" + String(repeating: "\u{301}", count: 400) + ".jpg",
        Array(repeating: "👩", count: 100).joined(separator: "\u{200D}") + ".jpg",
    ])
    func `a name that is too long keeps its extension`(name: String) {
        let safe = SaveName.safe(name)
        #expect(safe.hasSuffix(".jpg") && safe.utf8.count <= 255 && safe.utf8.count > 4)
    }

    /// Copies as a save does.
    private static func copy(
        _ source: String, as name: String, to destination: String
    ) throws -> String {
        try SaveName.check(destination)
        let path = try SaveName.path(for: name, in: destination)
        let new = try NewFile(path)
        let bytes = try DurableFile.read(source, limit: 1 << 20)
        try new.file.append(bytes.span)
        try new.publish()
        return path
    }

    private func copies(
        of name: String, to destination: (String) -> String = { $0 }, _ count: Int
    ) throws -> [String] {
        let test = try TestBlob(size: 10)
        let path = try test.publish().path
        let folder = test.folder.path + "/out"
        try Directory.make(folder)
        return try (0..<count).map { _ in
            let copy = try Self.copy(path, as: name, to: destination(folder))
            #expect(try DurableFile.read(copy, limit: 100) == test.content)
            #expect(copy.hasPrefix(folder + "/"))
            return String(copy.dropFirst(folder.utf8.count + 1))
        }
    }

    @Test func `a name that is taken gets a number before its extension`() throws {
        #expect(try copies(of: "a.jpg", 3) == ["a.jpg", "a (2).jpg", "a (3).jpg"])
        #expect(try copies(of: "a.jpg", to: { $0 + "/" }, 2) == ["a.jpg", "a (2).jpg"])
        #expect(try copies(of: "README", 2) == ["README", "README (2)"])
        let long = "a." + String(repeating: "b", count: 253)
        #expect(try copies(of: long, 3).allSatisfy { $0.utf8.count <= 255 })
    }

    @Test func `no other file is ever written over`() throws {
        let test = try TestBlob(size: 10)
        let path = try test.publish().path
        let there = test.folder.path + "/there"
        try DurableFile.write([1, 2, 3].span, to: there)
        let error = #expect(throws: SyncError.self) {
            try Self.copy(path, as: "a", to: there)
        }
        #expect(error?.code == .invalidInput)
        #expect(try DurableFile.read(there, limit: 100) == [1, 2, 3])
        let missing = #expect(throws: SyncError.self) {
            try Self.copy(path, as: "a", to: test.folder.path + "/none/")
        }
        #expect(missing?.code == .invalidInput)
        // A link that leads nowhere is something that is there.
        try FileManager.default.createSymbolicLink(
            atPath: test.folder.path + "/link", withDestinationPath: test.folder.path + "/new")
        #expect(throws: SyncError.self) {
            try Self.copy(path, as: "a", to: test.folder.path + "/link")
        }
        #expect(try FileSystem.facts(test.folder.path + "/new") == nil)
        let copy = try Self.copy(path, as: "a", to: test.folder.path + "/fresh")
        #expect(try FileSystem.facts(copy)?.mode == 0o600)
    }
}
