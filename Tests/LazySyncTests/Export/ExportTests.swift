import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// The catalog as a file.
@Suite struct ExportTests {
    @Test func `an export that is imported elsewhere shows the same and exports the same`()
        async throws
    {
        let (account, spoil) = TestAccount.ofAllKinds()
        try await withHome(account) { home in
            let engine = try await home.login()
            _ = try await engine.restore(thumbnails: false)
            spoil()
            _ = try await engine.restore(thumbnails: false)
            let export = try await home.export()
            for word in ["complete", "absent", "invalid", "takenAway", "kept"] {
                #expect(export.lines.contains { $0.contains(#""address":"\#(word)""#) }, "\(word)")
            }
            for key in ["payload", "sealed", "thumb", "created", "modified", "text"] {
                #expect(export.lines.contains { $0.contains("\"\(key)\":") }, "\(key)")
            }
            #expect(export.lines.contains { $0.contains(#""kind":"tombstone""#) })

            let other = try TestHome(beside: home)
            let report = try await other.importing(export.bytes)
            let copy = try await other.open()
            #expect(report.items == 5 && report.head == 3 && report.leftOut == 0)
            #expect(try await copy.everything() == engine.everything())
            #expect(try await other.export().bytes == export.bytes)
            let status = try await copy.status()
            #expect(status.flags == ["imported"] && !status.verified && status.head == 0)
            try other.check()
        }
    }

    @Test func `the same content is the same file, whatever each device did with it`() async throws
    {
        let account = TestAccount()
        let item = account.add("one", .photo("a.jpg"), TestFile("b", size: 70_000))
        account.push()
        try await withHome(account) { home in
            let engine = try await home.login()
            _ = try await engine.restore(thumbnails: false)
            account.change(item.id) { $0.title = "two" }
            account.add("three", TestFile("c", "c"))
            account.push()
            _ = try await engine.restore()
            _ = try await engine.pin(item.key(1))
            try await engine.setCacheLimit(1 << 30)
            let other = try TestHome(beside: home)
            _ = try await other.login().restore(thumbnails: false)
            let first = try await home.export()
            #expect(try await other.export().bytes == first.bytes)
            #expect(try await home.export().bytes == first.bytes)
        }
    }

    @Test func `what a run left that did not add up is not in it`() async throws {
        let account = TestAccount()
        let item = account.add("one", TestFile("a", "a"))
        account.push()
        try await withHome(account) { home in
            let engine = try await home.login()
            _ = try await engine.restore()
            let before = try await home.export().bytes
            account.change(item.id) { $0.title = "two" }
            account.push()
            account.flip(item.id)
            await #expect(throws: SyncError.self) { try await engine.restore() }
            #expect(try home.number("SELECT count(*) FROM staged WHERE verified = 0") == 1)
            let after = try await home.export().bytes
            #expect(after == before)
        }
    }

    @Test func `nothing is written over, and what cannot be written leaves nothing`() async throws {
        try await withHome(TestAccount()) { home in
            let engine = try await home.login()
            let folder = home.folder.appending(path: "out")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
            let path = folder.path + "/file"
            _ = try await engine.export(to: path)
            #expect(try FileSystem.facts(path)?.mode == 0o600)
            let before = try Data(contentsOf: URL(filePath: path))
            for taken in [path, folder.path, folder.path + "/none/file", ""] {
                let failure = await #expect(throws: SyncError.self) {
                    try await engine.export(to: taken)
                }
                #expect(failure?.code == .invalidInput, "\(taken)")
            }
            #expect(try Data(contentsOf: URL(filePath: path)) == before)
            struct Enough: Error {}
            await #expect(throws: SyncError.self) {
                try await engine.export { _ in throw Enough() }
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["file"])
        }
    }

    @Test func `no key and no token is in it`() async throws {
        let (account, _) = TestAccount.ofAllKinds()
        try await withHome(account) { home in
            let engine = try await home.login()
            _ = try await engine.restore()
            let export = try await home.export()
            let text = String(decoding: export.bytes, as: UTF8.self)
            let store = await engine.opened.keyStore
            let master = try #require(try store.read(.masterKey))
            let session = try SessionTokens(JSONObject(#require(try store.read(.session))))
            var secrets = [session.token, session.refresh]
            for key in [master, account.keys.kek.withBytes { [UInt8](copying: $0) }] {
                secrets += [
                    SyncPlatform.Hex.encode(key.span), SyncPlatform.Base64URL.encode(key.span),
                    Data(key).base64EncodedString(),
                ]
            }
            for secret in secrets { #expect(!text.contains(secret)) }
        }
    }

    @Test func `lists do not wait for an export`() async throws {
        let account = TestAccount()
        account.add("one", TestFile("a", "a"))
        account.push()
        try await withHome(account) { home in
            let engine = try await home.login()
            _ = try await engine.restore()
            let listed = Locked(0)
            _ = try await engine.export { _ in
                // While the export holds its snapshot, on a thread that may block.
                let done = DispatchSemaphore(value: 0)
                Task.detached {
                    let count = try? await engine.attachments().count
                    listed.withLock { $0 = count ?? 0 }
                    done.signal()
                }
                #expect(done.wait(timeout: .now() + 30) == .success)
            }
            #expect(listed.withLock { $0 } == 1)
        }
    }
}
