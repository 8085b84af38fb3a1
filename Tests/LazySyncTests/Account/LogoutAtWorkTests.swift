import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// A logout ends whatever the account's engines are at, and when it is done nothing comes back.
@Suite(.timeLimit(.minutes(10))) struct LogoutAtWorkTests {
    /// Who logs out: the engine that is at work, or another program's.
    enum Who: String, Sendable, CaseIterable, CustomTestStringConvertible {
        case itself, another

        var testDescription: String { rawValue }

        func logOut(_ engine: SyncEngine, _ home: TestHome) async throws {
            switch self {
            case .itself: _ = try await engine.logout()
            case .another: _ = try await SyncEngine.logout(home.configuration)
            }
        }
    }

    /// Expects that a piece of work ended since the account was logged out.
    private func expectLoggedOut<Result: Sendable>(
        _ work: Task<Result, any Error>, _ location: SourceLocation = #_sourceLocation
    ) async throws {
        let error = await #expect(throws: SyncError.self, sourceLocation: location) {
            _ = try await work.value
        }
        #expect(
            error?.code == .notLoggedIn, "\(String(describing: error))", sourceLocation: location)
    }

    // MARK: Readers

    @Test(arguments: Who.allCases) func `a read that waits for its bytes ends`(
        who: Who
    ) async throws {
        try await withOneFile(40 * 65_536) { file in
            let reader = try await file.reader()
            try await file.reads(reader, at: 0, count: 100)
            let gate = FaultGate()
            file.server.faults.add(file.request, .stall(at: .fraction(0.5), gate))
            let reading = Task { try await reader.read(at: 20 * 65_536, count: 10 * 65_536) }
            try await gate.reached()
            try await who.logOut(file.engine, file.home)
            try await expectLoggedOut(reading)
            try file.home.expectNothingLeft()
            gate.open()
            try await file.readFails(reader, at: 0, count: 100, .notLoggedIn)
            let next = await #expect(throws: SyncError.self) { try await file.reader() }
            #expect(next?.code == .notLoggedIn)
            try file.home.expectNothingLeft()
        }
    }

    @Test(arguments: Who.allCases) func `what is read ahead ends, though no read waits for it`(
        who: Who
    ) async throws {
        try await withOneFile(60 * 65_536) { file in
            let reader = try await file.reader()
            let gate = FaultGate()
            file.server.faults.add(
                file.request, skip: 2, times: 1, .stall(at: .fraction(0.5), gate))
            for chunk in 0..<4 { try await file.reads(reader, at: chunk * 65_536, count: 65_536) }
            try await gate.reached()
            #expect(await reader.readsAhead.contains(5..<13))
            try await who.logOut(file.engine, file.home)
            try file.home.expectNothingLeft()
            try await until { await reader.readsAhead.isEmpty }
            gate.open()
            try file.home.expectNothingLeft()
        }
    }

    @Test(arguments: Who.allCases) func `a stream ends, and a writer that blocks holds up nobody`(
        who: Who
    ) async throws {
        try await withOneFile(40 * 65_536) { file in
            try await file.open()
            let (engine, key) = (file.engine, file.key)
            let isStuck = Watched(false)
            let pipe = DispatchSemaphore(value: 0)
            let streaming = Task {
                try await engine.stream(key) { _ in
                    isStuck.change { $0 = true }
                    pipe.wait()
                }
            }
            try await isStuck.wait { $0 }
            try await who.logOut(engine, file.home)
            try file.home.expectNothingLeft()
            // Nothing is asked for after what was being written.
            pipe.signal()
            try await expectLoggedOut(streaming)
            try file.home.expectNothingLeft()
        }
    }

    // MARK: What takes long

    @Test(arguments: Who.allCases) func `a check that repairs is waited for, and ends`(
        who: Who
    ) async throws {
        try await withSmallCache(files: 4) { cache in
            for index in 0..<4 { try await cache.open(index) }
            let (engine, home) = (cache.engine, cache.home)
            // The last of them that it comes to.
            let last = known((0..<4).map { cache.record($0) }.max())
            var inTheWay = try BlobUses(home.accountPlaces).tryAlone(last)
            #expect(inTheWay != nil)
            let done = Watched(0)
            let checking = Task {
                try await engine.verify(VerifyOptions(sample: 100, repair: true)) { progress in
                    done.change { $0 = progress.done }
                }
            }
            try await done.wait { $0 == 3 }
            let leaving = Task { [configuration = home.configuration] in
                switch who {
                case .itself: _ = try await engine.logout()
                case .another: _ = try await SyncEngine.logout(configuration)
                }
            }
            // It was told to end, and is not left to itself before it has.
            try await until { (try? await engine.catalog.tallies()) == nil }
            #expect(try FileSystem.facts(home.places.account(known(home.account).id).data) != nil)
            withExtendedLifetime(inTheWay) {}
            inTheWay = nil
            try await leaving.value
            try await expectLoggedOut(checking)
            try home.expectNothingLeft()
        }
    }

    @Test(arguments: Who.allCases) func `an export ends, and leaves no file`(
        who: Who
    ) async throws {
        let account = TestAccount()
        for number in 0..<40 {
            account.add("\(number)", text: String(repeating: "text \(number) ", count: 5_000))
        }
        account.push()
        try await withHome(account) { home in
            let engine = try await home.enter()
            _ = try await engine.restore()
            let isStuck = Watched(false)
            let pipe = DispatchSemaphore(value: 0)
            let exporting = Task {
                try await engine.export { _ in
                    isStuck.change { $0 = true }
                    pipe.wait()
                }
            }
            try await isStuck.wait { $0 }
            let leaving = Task { [configuration = home.configuration] in
                switch who {
                case .itself: _ = try await engine.logout()
                case .another: _ = try await SyncEngine.logout(configuration)
                }
            }
            // It was told to end, and is waited for until what blocks is over.
            try await until { (try? await engine.catalog.tallies()) == nil }
            pipe.signal()
            try await leaving.value
            try await expectLoggedOut(exporting)
            let path = home.folder.path + "/catalog.jsonl"
            let error = await #expect(throws: SyncError.self) {
                try await engine.export(to: path)
            }
            #expect(error?.code == .notLoggedIn)
            try home.expectNothingLeft()
        }
    }

    // MARK: What goes on by itself

    @Test(arguments: Who.allCases) func `who keeps trying ends, while it waits and while it tries`(
        who: Who
    ) async throws {
        for isTrying in [false, true] {
            try await withOneFile { file in
                if isTrying {
                    file.server.faults.add(file.request, .answer(status: 500))
                    try await file.openFails(.serverError)
                    file.server.faults.clear()
                }
                let clock = HeldClock()
                file.home.configuration.clock = clock
                let engine = try await file.home.open()
                await file.engine.close()
                let gate = FaultGate()
                file.server.faults.add(file.request, .stall(at: .fraction(0.5), gate))
                let keeping = Task { await engine.keepTrying() }
                try await clock.waitFor { !$0.isEmpty }
                if isTrying {
                    try await until {
                        clock.advance(by: .seconds(30))
                        return gate.arrivals > 0
                    }
                }
                try await who.logOut(engine, file.home)
                await keeping.value
                try file.home.expectNothingLeft()
                gate.open()
                await engine.keepTrying()
                try file.home.expectNothingLeft()
            }
        }
    }

    @Test(arguments: Who.allCases) func `so do those who bring what is pinned, and who follow`(
        who: Who
    ) async throws {
        try await withSmallCache(files: 6) { cache in
            let engine = cache.engine
            try await engine.setAllPinned(true)
            let gate = FaultGate()
            cache.home.server.faults.add(.get("/v1/blobs/"), .stall(at: .fraction(0.5), gate))
            let pinning = Task { try await engine.keepPinned() }
            let following = Task { [key = cache.keys[0]] in
                for await _ in engine.states(of: key) {}
            }
            try await gate.reached(by: 4)
            try await who.logOut(engine, cache.home)
            try await expectLoggedOut(pinning)
            await following.value
            try cache.home.expectNothingLeft()
            gate.open()
            try cache.home.expectNothingLeft()
        }
    }

    @Test(arguments: Who.allCases) func `so do thumbnails, those that are looked at too`(
        who: Who
    ) async throws {
        let account = TestAccount()
        let item = account.add("Photos", (0..<30).map { .photo("\($0).jpg") })
        account.push()
        try await withHome(account) { home in
            let engine = try await home.enter()
            _ = try await engine.restore(thumbnails: false)
            let gate = FaultGate()
            home.server.faults.add(.get("/v1/blobs/"), .hold(gate))
            let looking = Task { try await engine.thumbnail(item.key(0)) }
            try await gate.reached()
            let restoring = Task { try await engine.restore() }
            try await gate.reached(by: 4)
            try await who.logOut(engine, home)
            try await expectLoggedOut(looking)
            try await expectLoggedOut(restoring)
            try home.expectNothingLeft()
            gate.open()
            try home.expectNothingLeft()
        }
    }

    // MARK: Who is only there

    /// What the system emptied is noticed by lists, which makes files.
    @Test func `a look at the cache after a logout makes no file`() async throws {
        try await withOneFile { file in
            try await file.open()
            let places = try file.home.accountPlaces
            let purge = Purge(catalog: await file.engine.catalog, places: places)
            _ = try await file.engine.logout()
            await purge.notice(makesFolders: true)
            try file.home.expectNothingLeft()
        }
    }

    @Test func `a program that is at nothing holds up no logout`() async throws {
        try await withOneFile { file in
            let other = try await file.home.open()
            let reader = try await file.reader(other)
            try await file.reads(reader, at: 0, count: 100)
            _ = try await file.engine.logout()
            try file.home.expectNothingLeft()
            try await file.readFails(reader, at: 0, count: 100, .notLoggedIn)
            try file.home.expectNothingLeft()
        }
    }

    /// What watches for a logout must not keep the account's lock itself.
    @Test func `an engine that is gone leaves the lock to who wants it alone`() async throws {
        try await withOneFile { file in
            await file.engine.close()
            let lock = FileLock(path: try file.home.accountPlaces.locks + "/account")
            do {
                let engine = try await file.home.open()
                _ = try await engine.restore()
                #expect(try lock.tryLock(.exclusive) == nil)
            }
            try await until { try lock.tryLock(.exclusive) != nil }
        }
    }
}
