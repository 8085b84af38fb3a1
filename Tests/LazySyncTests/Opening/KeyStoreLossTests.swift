import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// Case D7: a key store that is locked, empty, gone, or holds another account's key.
@Suite(.timeLimit(.minutes(10))) struct KeyStoreLossTests {
    enum Loss: String, CaseIterable, Sendable {
        case gone, empty, withoutKey, garbage, openToOthers, anotherInstall, anotherKey, link
    }

    private func lose(_ how: Loss, _ home: TestHome) throws {
        let path = try home.accountPlaces.keyFile
        let settings = try #require(try Settings.read(home.places.settings))
        let scope = try #require(settings.active)
        func store(_ install: String) -> SecretFile {
            SecretFile(path: path, accountID: "\(scope.account)", installID: install)
        }
        let ours = store(settings.installID)
        switch how {
        case .gone: try FileSystem.remove(path)
        case .empty:
            for item in try ours.items() where item != "other" { try ours.remove(item: item) }
        case .withoutKey: try ours.remove(item: "amk")
        case .garbage: try DurableFile.write(Array("not ours".utf8).span, to: path)
        case .openToOthers: try FileSystem.setMode(path, 0o644)
        case .anotherInstall:
            try FileSystem.remove(path)
            try store("another").write(item: "amk", [UInt8](repeating: 1, count: 32))
        case .anotherKey: try ours.write(item: "amk", [UInt8](repeating: 1, count: 32))
        case .link:
            try FileSystem.rename(path, to: path + ".moved")
            try FileManager.default.createSymbolicLink(
                atPath: path, withDestinationPath: path + ".moved")
        }
    }

    @Test(arguments: Loss.allCases)
    func `without its key nothing new opens, what is here does, and no key is made`(
        how: Loss
    ) async throws {
        let account = TestAccount()
        let item = account.add(
            "An item", TestFile("a", size: 100_000), TestFile("b", size: 100_000), .photo("c.jpg"))
        account.push()
        try await withHome(account) { home in
            let engine = try await home.enter()
            _ = try await engine.restore(thumbnails: false)
            let here = try await engine.materialize(item.key(0))
            await engine.close()
            try lose(how, home)
            let path = try home.accountPlaces.keyFile
            let before = try? Data(contentsOf: URL(filePath: path))
            let requests = home.server.log.entries.count

            let next = try await home.open()
            let list = try await next.attachments()
            #expect(list.count == 3)
            let again = try await next.materialize(item.key(0))
            #expect(again.path == here.path && again.requests == 0)
            for _ in 0..<2 {
                let error = await #expect(throws: SyncError.self) {
                    try await next.materialize(item.key(1))
                }
                #expect(error?.code == .unavailable(.keyMissing))
            }
            let thumb = await #expect(throws: SyncError.self) {
                try await next.thumbnail(item.key(2))
            }
            #expect(thumb?.code == .unavailable(.keyMissing))
            let restore = await #expect(throws: SyncError.self) { try await next.restore() }
            #expect(restore?.code == .unavailable(.keyMissing))
            let found = try await next.explain(item.key(1))
            #expect(found.attachment.state == .unavailable(.keyMissing))
            let untouched = try await next.explain(item.key(2))
            #expect(untouched.attachment.state == .remote)
            #expect(untouched.attachment.thumbnail != .unavailable(.addressInvalid))
            // No request was sent, no key was made, and nothing took the store's place.
            #expect(home.server.log.entries.count == requests)
            let after = try? Data(contentsOf: URL(filePath: path))
            #expect(after == before)
            let status = try await next.status()
            #expect(status.states["here"] == 1)
            await next.close()

            // With the key back, all of it comes.
            if how == .link || how == .openToOthers { try FileSystem.remove(path) }
            if how == .garbage || how == .anotherInstall { try FileSystem.remove(path) }
            let mended = try await home.login()
            let report = try await mended.restore()
            #expect(report.isComplete && report.thumbnailsHere == 1)
            let opened = try await mended.materialize(item.key(1))
            #expect(opened.requests == 1)
            let state = try await mended.explain(item.key(1)).attachment.state
            #expect(state == .here)
        }
    }

    @Test func `a file that must be proved again is not handed out without the key`() async throws {
        try await withOneFile { file in
            let opened = try await file.open()
            try FileSystem.setMode(opened.path, 0o600)
            try FileSystem.setMode(opened.path, 0o400)
            try lose(.gone, file.home)
            let next = try await file.home.open()
            let error = await #expect(throws: SyncError.self) {
                try await next.materialize(file.key)
            }
            #expect(error?.code == .unavailable(.keyMissing))
        }
    }

    @Test func `a Secret Service that is not there is keyMissing, and no file takes its place`()
        async throws
    {
        try await withOneFile { file in
            try await file.open()
            await file.engine.close()
            var settings = try #require(try Settings.read(file.home.places.settings))
            settings.active?.keyStore = .secretService
            try settings.write(file.home.places.settings)
            let path = try file.home.accountPlaces.keyFile
            try FileSystem.remove(path)
            let next = try await file.home.open()
            try await file.open(requests: 0, with: next)
            let error = await #expect(throws: SyncError.self) { try await next.restore() }
            #expect(error?.code == .unavailable(.keyMissing))
            #expect(try FileSystem.facts(path) == nil)
        }
    }
}
