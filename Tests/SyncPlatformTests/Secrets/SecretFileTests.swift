import Foundation
import Testing

@testable import SyncPlatform

struct SecretFileTests {
    private let scratch: Scratch
    private let path: String
    private let store: SecretFile

    init() throws {
        scratch = try Scratch()
        path = scratch("keys/secrets")
        store = SecretFile(path: path, accountID: "a", installID: "i")
    }

    @Test func `a secret comes back byte for byte until it is removed`() throws {
        #expect(try store.read(item: "key") == nil)
        try store.remove(item: "key")
        #expect(scratch.names == [])
        for secret in [[0, 255, 10], [], Array(0...255)] as [[UInt8]] {
            try store.write(item: "the key", secret)
            #expect(try store.read(item: "the key") == secret)
        }
        try store.write(item: "token", [1])
        #expect(try store.items() == ["the key", "token"])
        #expect(try FileSystem.facts(path)?.mode == 0o600)
        #expect(try FileSystem.facts(scratch("keys"))?.mode == 0o700)
        try store.remove(item: "the key")
        #expect(try store.items() == ["token"])
        try store.remove(item: "token")
        #expect(try FileSystem.facts(path) == nil)
    }

    private func expect(_ code: SecretError.Code, _ store: SecretFile) {
        let calls: [() throws -> Void] = [
            { _ = try store.read(item: "key") }, { try store.write(item: "key", [2]) },
            { try store.remove(item: "key") }, { _ = try store.items() },
        ]
        for call in calls {
            let error = #expect(throws: SecretError.self) { try call() }
            #expect(error?.code == code)
        }
    }

    @Test func `another account's file is denied and stays as it is`() throws {
        try store.write(item: "key", [1])
        expect(.denied, SecretFile(path: path, accountID: "b", installID: "i"))
        expect(.denied, SecretFile(path: path, accountID: "a", installID: "j"))
        #expect(try store.read(item: "key") == [1])
    }

    @Test(arguments: [0o640, 0o604, 0o660])
    func `a file that others may open is denied`(mode: Int) throws {
        try store.write(item: "key", [1])
        chmod(path, mode_t(mode))
        expect(.denied, store)
    }

    @Test func `a link, also to a good file, and an open folder are denied`() throws {
        try store.write(item: "key", [1])
        symlink(path, scratch("keys/link"))
        expect(.denied, SecretFile(path: scratch("keys/link"), accountID: "a", installID: "i"))
        #expect(try store.read(item: "key") == [1])
        chmod(scratch("keys"), 0o770)
        expect(.denied, store)
    }

    @Test func `what is not understood is refused and not replaced`() throws {
        try store.write(item: "key", [1])
        let good = String(decoding: try DurableFile.read(path, limit: 1_000), as: UTF8.self)
        let bad = [
            "", "hello\n", good.replacing("secrets 1", with: "secrets 2"),
            String(good.dropLast(2)), good + good, good.replacing(" 01", with: " 0"),
            good.replacing(" 01", with: " 0G"), good.replacing(" 01", with: ""),
            good.replacing("end", with: "item 6b6579 02\nend"),
            good.replacing("end", with: "later 1\nend"),
        ]
        for text in bad {
            try DurableFile.write([UInt8](text.utf8).span, to: path)
            expect(.other, store)
            #expect(try DurableFile.read(path, limit: 1_000) == [UInt8](text.utf8))
        }
    }
}
