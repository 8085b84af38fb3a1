import Foundation
import SyncPlatform
import Testing

struct SecretFileLockTests {
    @Test func `two who change the file at once lose nothing of each other's`() async throws {
        let scratch = try Scratch()
        let path = scratch("keys/secrets")
        func store() -> SecretFile {
            SecretFile(
                path: path, accountID: "a", installID: "i", lock: FileLock(path: scratch("lock")))
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for item in ["head", "session", "key"] {
                let store = store()
                group.addTask {
                    for round in 0..<30 {
                        try store.write(item: item, [UInt8(round)])
                        #expect(try store.read(item: item) == [UInt8(round)])
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try store().items() == ["head", "key", "session"])
    }

    @Test func `what a write left that was killed goes with the next one`() throws {
        let scratch = try Scratch()
        let lock = FileLock(path: scratch("lock"))
        let store = SecretFile(
            path: scratch("keys/secrets"), accountID: "a", installID: "i", lock: lock)
        try store.write(item: "key", [1])
        try Data("secret".utf8).write(to: URL(fileURLWithPath: scratch("keys/.tmp-abc")))
        try store.write(item: "token", [2])
        #expect(try Directory.list(scratch("keys")) == ["secrets"])
        #expect(try store.read(item: "key") == [1])
    }
}
