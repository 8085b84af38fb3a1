import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// A logout leaves nothing but what stands on the short list, whatever comes in between.
@Suite(.timeLimit(.minutes(10))) struct ForgettingTests {
    /// Logs in, restores, opens, pins, adds, pushes, removes, and leaves a transfer half done and
    /// changes unsent: all that a device can have.
    private func fullRun(_ home: TestHome, _ item: TestItem) async throws -> SyncEngine {
        let engine = try await home.login()
        _ = try await engine.restore()
        _ = try await engine.materialize(item.key(0))
        _ = try await engine.pin(item.key(1))
        try await change(home, engine)
        let record = known(item.record(2))
        home.server.faults.add(.get("/v1/blobs/\(record)"), .cut(at: .fraction(0.5)))
        await #expect(throws: SyncError.self) { try await engine.materialize(item.key(2)) }
        home.server.faults.clear()
        return engine
    }

    private func change(_ home: TestHome, _ engine: SyncEngine) async throws {
        home.addsFiles = true
        let paths = try (1...3).map {
            try home.file("added \($0)", TestHome.bytes(70_000, seed: UInt64($0)))
        }
        let added = try await engine.add(files: Array(paths.prefix(2)))
        _ = try await engine.push()
        for key in added.attachments { _ = try await engine.materialize(key) }
        // An item and an attachment go to the trash, with their bytes.
        try await engine.remove(added.items[0])
        try await engine.remove(added.attachments[1])
        _ = try await engine.add(files: [paths[2]])
        for path in paths { try FileSystem.remove(path) }
        try Directory.remove(home.folder.path + "/files")
    }

    private func account() -> (TestAccount, TestItem) {
        let account = TestAccount("somebody-special")
        let item = account.add(
            "An item", TestFile("a", size: 300_000), TestFile("b", size: 10),
            TestFile("c", size: 700_000), .photo("d.jpg"))
        account.push()
        return (account, item)
    }

    /// The list of what stays is the only thing that keeps anything: no test knows the rest.
    @Test(arguments: [false, true])
    func `after a full run a logout leaves nothing that is not on the list`(
        inContainer: Bool
    ) async throws {
        let (account, item) = account()
        try await withHome(account) { home in
            if inContainer { try home.useContainer() }
            let engine = try await fullRun(home, item)
            let places = try home.accountPlaces
            let keys = SecretFile(
                path: places.keyFile, accountID: "\(account.id)",
                installID: try #require(try Settings.read(home.places.settings)).installID)
            #expect(try keys.items() == ["amk", "head", "session"])
            for path in [
                places.catalog, places.locks, places.blobs, places.thumbnails, places.keyFile,
                places.trash, places.data + "/spool", places.locks + "/spool",
            ] {
                #expect(try FileSystem.facts(path) != nil, "\(path)")
            }
            for table in ["outbox", "spool", "trash", "trash_record"] {
                #expect(try home.number("SELECT count(*) FROM \(table)") > 0, "\(table)")
            }
            // As parts to come would add: a table, a folder, a file, a key.
            try home.execute("CREATE TABLE newcomer(x); INSERT INTO newcomer VALUES (1)")
            for folder in [places.data, places.cache] {
                try Directory.make(folder + "/newcomer/in it")
                try DurableFile.write([1].span, to: folder + "/newcomer/in it/file")
            }
            try keys.write(item: "newcomer", [1])
            _ = try await engine.logout(discardingUnsent: true)
            try home.expectNothingLeft()
            #expect(try keys.items() == [])
        }
    }

    @Test(arguments: [
        "marked as forgotten", "keys forgotten", "folder forgotten", "all forgotten",
    ])
    func `a logout that is killed is finished by the next start before it opens anything`(
        point: String
    ) async throws {
        let (account, item) = account()
        try await withHome(account) { home in
            await (try fullRun(home, item)).close()
            let path = home.folder.path
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [path = path as String, point = point as String] in
                var configuration = EngineConfiguration(home: path)
                configuration.reached = { if $0 == point { kill(getpid(), SIGKILL) } }
                _ = try await SyncEngine.logout(configuration, discardingUnsent: true)
            }
            let error = await #expect(throws: SyncError.self) { try await home.open() }
            #expect(error?.code == .notLoggedIn)
            try home.expectNothingLeft()
        }
    }

    @Test func `a logout without a network is done on this device`() async throws {
        let (account, item) = account()
        try await withHome(account) { home in
            let engine = try await fullRun(home, item)
            home.server.faults.add(.all, .drop(.reset))
            let isTold = try await engine.logout(discardingUnsent: true)
            #expect(!isTold)
            try home.expectNothingLeft()
        }
    }

    /// Case D10: the other one is in the middle of a transfer.
    @Test func `another program sees the logout and stops, and nothing comes back`() async throws {
        let (account, item) = account()
        try await withHome(account) { home in
            await (try fullRun(home, item)).close()
            let other = try await home.open()
            let gate = FaultGate()
            home.server.faults.add(
                .get("/v1/blobs/\(known(item.record(2)))"), .stall(at: .fraction(0.7), gate))
            let opening = Task { try await other.materialize(item.key(2)) }
            try await gate.reached()
            let changes = other.changes()
            _ = try await SyncEngine.logout(home.configuration, discardingUnsent: true)
            let error = await #expect(throws: SyncError.self) { try await opening.value }
            #expect(error?.code == .notLoggedIn)
            // Its listeners learn of it, and it does nothing any more.
            for await _ in changes {}
            gate.open()
            let list = await #expect(throws: SyncError.self) { try await other.attachments() }
            #expect(list?.code == .notLoggedIn)
            let restore = await #expect(throws: SyncError.self) { try await other.restore() }
            #expect(restore?.code == .notLoggedIn)
            try home.expectNothingLeft()
        }
    }

    @Test func `another program's restore stops too`() async throws {
        let (account, _) = account()
        try await withHome(account) { home in
            let engine = try await home.login()
            let other = try await home.open()
            let gate = FaultGate()
            home.server.faults.add(.get("/v1/manifest"), .hold(gate))
            let restoring = Task { try await other.restore() }
            try await gate.reached()
            _ = try await engine.logout(discardingUnsent: true)
            let error = await #expect(throws: SyncError.self) { try await restoring.value }
            #expect(error?.code == .notLoggedIn)
            gate.open()
            try home.expectNothingLeft()
        }
    }

    @Test func `an account whose files are in use is closed at once, and goes when they are free`()
        async throws
    {
        let (account, item) = account()
        try await withHome(account) { home in
            await (try fullRun(home, item)).close()
            // A program that does not see the mark.
            let lock = FileLock(path: try home.accountPlaces.locks + "/account")
            var held = try lock.tryLock(.shared)
            let error = await #expect(throws: SyncError.self) {
                try await SyncEngine.logout(home.configuration, discardingUnsent: true)
            }
            #expect(error?.code == .busy)
            let closed = await #expect(throws: SyncError.self) { try await home.open() }
            #expect(closed?.code == .notLoggedIn)
            let login = await #expect(throws: SyncError.self) { try await home.login() }
            #expect(login?.code == .busy)
            withExtendedLifetime(held) {}
            held = nil
            _ = try? await home.open()
            try home.expectNothingLeft()
        }
    }

    /// Case D1.
    @Test func `what comes for an account that was logged out meanwhile is dropped`() async throws {
        let (first, item) = account()
        let second = TestAccount("second", seed: 2)
        var theirs = second.add("Theirs", TestFile("theirs", size: 2_000))
        let content = known(second.content(theirs.key()))
        // The same name of a record in both accounts, each with its own bytes.
        let record = known(item.record(2))
        theirs = second.rename(theirs, to: record)
        second.push()
        try await withHome(first) { home in
            let server = try Server(serving: [second.serve()])
            try server.start()
            defer { server.stop() }
            let engine = try await fullRun(home, item)
            let old = try home.accountPlaces
            let gate = FaultGate()
            home.server.faults.add(
                .get("/v1/blobs/\(record)"), .stall(at: .fraction(0.7), gate))
            let opening = Task { try await engine.materialize(item.key(2)) }
            try await gate.reached()
            _ = try await engine.logout(discardingUnsent: true)
            var request = home.loginRequest
            request.server = "\(server.url)"
            request.account = second.name
            let next = try await SyncEngine.login(request, home.configuration)
            _ = try await next.restore()
            // Now the first account's answer arrives.
            gate.open()
            let error = await #expect(throws: SyncError.self) { try await opening.value }
            #expect(error?.code == .notLoggedIn)
            for path in [old.data, old.cache, old.keyFile] {
                #expect(try FileSystem.facts(path) == nil)
            }
            let list = try await next.attachments().map(\.key)
            #expect(list == [theirs.key()])
            let missing = await #expect(throws: SyncError.self) {
                try await next.materialize(item.key(2))
            }
            #expect(missing?.code == .noSuchID)
            let file = try await next.materialize(theirs.key())
            #expect(try Whole(at: file.path) == Whole(content))
            for word in ["\(first.id)", first.name] {
                #expect(!home.names.contains { $0.contains(word) })
            }
            let places = try home.accountPlaces
            #expect(
                BlobPlace(record: record, under: places.blobs).folder
                    != BlobPlace(record: record, under: old.blobs).folder)
            _ = try await next.logout()
        }
    }

    @Test func `what somebody left behind by removing the settings is shown, and goes when told`()
        async throws
    {
        let (account, item) = account()
        try await withHome(account) { home in
            await (try fullRun(home, item)).close()
            try FileSystem.remove(home.places.settings)
            let error = await #expect(throws: SyncError.self) { try await home.open() }
            #expect(error?.code == .notLoggedIn && error?.hint?.contains("log out") == true)
            _ = try await SyncEngine.logout(home.configuration, discardingUnsent: true)
            try home.expectNothingLeft()
            let none = await #expect(throws: SyncError.self) {
                try await SyncEngine.logout(home.configuration, discardingUnsent: true)
            }
            #expect(none?.code == .notLoggedIn)
        }
    }
}

extension TestAccount {
    /// Has the one file of an item lie at the store under another name.
    fileprivate func rename(_ item: TestItem, to record: String) -> TestItem {
        let key = item.key()
        let ref = upload(
            known(content(key)), key.item, key.id, .original, named: known(RecordName(record)))
        return change(item.id) { $0.attachments[0].ref = ref }
    }
}
