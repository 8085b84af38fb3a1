import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// What a check finds wrong with originals, and what it does about it.
@Suite(.timeLimit(.minutes(10))) struct VerifyTests {
    /// Runs a test on a device with so many files, all of them here.
    private func withFiles(
        _ count: Int, _ body: (SmallCache) async throws -> Void
    ) async throws {
        try await withSmallCache(files: count) { cache in
            for index in 0..<count { try await cache.open(index) }
            try await body(cache)
        }
    }

    private func path(_ cache: SmallCache, _ index: Int) throws -> String {
        try #require(try cache.place(index).contentPath())
    }

    private func flip(_ path: String, at offset: Int64) throws {
        try FileSystem.setMode(path, 0o600)
        let file = try File(path, for: .readWrite)
        let byte = try file.read(count: 1, at: offset)[0]
        try file.write([byte ^ 1].span, at: offset)
        try file.setMode(0o400)
    }

    /// Has the catalog believe that a file is still the one that was proved.
    private func mark(_ cache: SmallCache, _ index: Int) throws {
        let facts = try #require(try FileSystem.facts(path(cache, index)))
        try cache.home.execute(
            """
            UPDATE blob SET here_mtime = \(facts.mtimeNs), here_ctime = \(facts.ctimeNs)
            WHERE record = CAST('\(cache.record(index))' AS BLOB)
            """)
    }

    @Test func `what is right is right, and only looked at`() async throws {
        try await withFiles(3) { cache in
            let report = try await cache.engine.verify()
            #expect(report.isRight && report.problems.isEmpty && report.head == true)
            #expect(report.checked == 3 && report.proved == 0 && !report.resumed)
        }
    }

    @Test func `a share of all is all`() async throws {
        try await withFiles(3) { cache in
            let seen = Locked<[Int]>([])
            let report = try await cache.engine.verify(VerifyOptions(sample: 100)) { progress in
                seen.withLock { $0.append(progress.done) }
                #expect(progress.total == 3)
            }
            #expect(report.isRight && report.proved == 3)
            #expect(report.bytes == Int64(3 * cache.size))
            #expect(seen.withLock { $0 } == [1, 2, 3])
        }
    }

    @Test func `a share is chosen by chance`() async throws {
        try await withSmallCache(files: 40, of: 100) { cache in
            for index in 0..<40 { try await cache.open(index) }
            let report = try await cache.engine.verify(VerifyOptions(sample: 50))
            #expect(report.isRight && (5..<35).contains(report.proved))
        }
    }

    /// Case C3.
    @Test func `a flipped byte is named, and only its chunk is fetched again`() async throws {
        try await withFiles(2) { cache in
            _ = try await cache.engine.pin(cache.keys[1])
            let path = try path(cache, 1)
            try flip(path, at: 65_536 + 7)
            let found = try await cache.engine.verify()
            #expect(found.found == 1 && found.repaired == 0 && !found.isRight)
            let problem = try #require(found.problems.first)
            #expect(problem.kind == .damaged && problem.chunks == [1] && problem.path == path)
            #expect(problem.key == cache.keys[1] && !problem.repaired)
            // Without being asked to, it changes nothing.
            #expect(try await cache.engine.verify().problems == found.problems)
            let repaired = try await cache.engine.verify(VerifyOptions(repair: true))
            #expect(repaired.found == 1 && repaired.repaired == 1)
            let attachment = try await cache.engine.explain(cache.keys[1]).attachment
            #expect(attachment.state == .remote && attachment.isPinned)
            try CatalogCheck(cache.home.catalog()).run()
            #expect(try await cache.open(1).bytesFetched == 65_536)
            #expect(try await cache.engine.verify().isRight)
        }
    }

    @Test(arguments: [-70_000, -1, 5])
    func `a file of another length is damaged`(change: Int64) async throws {
        try await withFiles(1) { cache in
            let path = try path(cache, 0)
            try FileSystem.setMode(path, 0o600)
            let size = Int64(cache.size)
            try File(path, for: .readWrite).truncate(to: size + change)
            let report = try await cache.engine.verify(VerifyOptions(repair: true))
            let chunks = change == 5 ? [] : change == -1 ? [3] : [1, 2, 3]
            #expect(report.problems.map(\.kind) == [.damaged] && report.repaired == 1)
            #expect(report.problems.first?.chunks == chunks)
            let missing: Int64 = change == 5 ? 0 : change == -1 ? 9 : 2 * 65_536 + 9
            #expect(try await cache.open(0).bytesFetched == missing)
            #expect(try await cache.engine.verify().isRight)
        }
    }

    @Test func `bytes that rotted unseen are found by proving them`() async throws {
        try await withFiles(2) { cache in
            try flip(path(cache, 0), at: 3)
            try mark(cache, 0)
            #expect(try await cache.engine.verify().isRight)
            let report = try await cache.engine.verify(VerifyOptions(sample: 100, repair: true))
            #expect(report.problems.map(\.chunks) == [[0]] && report.proved == 2)
            #expect(try await cache.open(0).bytesFetched == 65_536)
        }
    }

    @Test func `without its tags a file cannot be proved, and comes again`() async throws {
        try await withFiles(1) { cache in
            try FileSystem.remove(cache.place(0).tags)
            let report = try await cache.engine.verify(VerifyOptions(sample: 100, repair: true))
            #expect(report.problems.map(\.chunks) == [[0, 1, 2, 3]] && report.repaired == 1)
            #expect(try await cache.open(0).bytesFetched == Int64(cache.size))
        }
    }

    @Test(arguments: [true, false])
    func `a file that is gone is forgotten, and stays pinned`(wholeFolder: Bool) async throws {
        try await withFiles(2) { cache in
            cache.home.mayLackFiles = true
            _ = try await cache.engine.pin(cache.keys[0])
            let folder = try cache.place(0).folder
            if wholeFolder {
                try Directory.removeTree(folder)
            } else {
                try FileSystem.remove(path(cache, 0))
            }
            let found = try await cache.engine.verify()
            #expect(found.problems.map(\.kind) == [.missing])
            #expect(found.problems.map(\.key) == [cache.keys[0]])
            let repaired = try await cache.engine.verify(VerifyOptions(repair: true))
            #expect(repaired.repaired == 1)
            #expect(try FileSystem.facts(folder) == nil)
            let attachment = try await cache.engine.explain(cache.keys[0]).attachment
            #expect(attachment.state == .remote && attachment.isPinned)
            #expect(try await cache.engine.cacheUse().originals == cache.cost)
            #expect(try await cache.engine.verify().isRight)
            #expect(try await cache.engine.keepPinned().fetched == 1)
        }
    }

    @Test func `what somebody uses is named and not touched`() async throws {
        try await withFiles(1) { cache in
            try flip(path(cache, 0), at: 0)
            var use: FileLock.Token? = try BlobUses(cache.home.accountPlaces)
                .share(cache.record(0))
            let report = try await cache.engine.verify(VerifyOptions(repair: true))
            #expect(report.found == 1 && report.repaired == 0)
            #expect(try cache.place(0).contentPath() != nil && use != nil)
            use = nil
            #expect(try await cache.engine.verify(VerifyOptions(repair: true)).repaired == 1)
        }
    }

    @Test func `a file that cannot be read now is skipped, and checked the next time`() async throws
    {
        try await withFiles(2) { cache in
            let path = try path(cache, 0)
            let us = System.effectiveUser
            // What root may read all the same is somebody else's.
            try FileSystem.setMode(path, 0)
            if us == 0 { chown(path, 65_534, 65_534) }
            let report = try await cache.engine.verify(VerifyOptions(sample: 100, repair: true))
            #expect(report.skipped == 1 && report.found == 0 && report.proved == 1)
            #expect(!report.isRight)
            if us == 0 { chown(path, us, us) }
            chmod(path, 0o400)
            #expect(try await cache.engine.verify().isRight)
        }
    }

    @Test func `after another start of the machine everything is proved once`() async throws {
        try await withFiles(3) { cache in
            try cache.home.execute("UPDATE blob SET here_boot = 'another'")
            #expect(try await cache.engine.verify().proved == 3)
            #expect(try await cache.engine.verify().proved == 0)
            #expect(try await cache.open(0).requests == 0)
        }
    }

    @Test func `a check of a share that is interrupted goes on where it was`() async throws {
        try await withFiles(6) { cache in
            let all = VerifyOptions(sample: 100)
            let engine = cache.engine
            let interrupted = Task {
                try await engine.verify(all) { progress in
                    if progress.done == 4 { withUnsafeCurrentTask { $0?.cancel() } }
                }
            }
            let error = await #expect(throws: SyncError.self) { try await interrupted.value }
            #expect(error?.code == .cancelled)
            let next = try await cache.engine.verify(all)
            #expect(next.resumed && next.proved == 2 && next.checked == 6 && next.isRight)
            let another = try await cache.engine.verify(all)
            #expect(!another.resumed && another.proved == 6)
        }
    }

    @Test func `a check of another share begins anew`() async throws {
        try await withFiles(2) { cache in
            try await cache.engine.catalog.saveCheckedPlace(Array("zzz".utf8), share: 50)
            let report = try await cache.engine.verify(VerifyOptions(sample: 100))
            #expect(!report.resumed && report.proved == 2)
        }
    }

    @Test func `only to prove something the key is needed`() async throws {
        try await withFiles(1) { cache in
            try FileSystem.remove(cache.home.accountPlaces.keyFile)
            let engine = try await cache.home.open()
            let report = try await engine.verify()
            #expect(report.isRight && report.head == nil)
            let error = await #expect(throws: SyncError.self) {
                try await engine.verify(VerifyOptions(sample: 100))
            }
            #expect(error?.code == .unavailable(.keyMissing))
        }
    }

    @Test func `files are ours alone, read-only once complete, and kept out of backups`()
        async throws
    {
        try await withOneFile { file in
            let place = try file.place
            file.server.faults.add(
                file.request, times: 1, .cut(at: file.fraction(chunks: 3), .reset))
            let gate = file.server.faults.gate("rest")
            file.server.faults.add(file.request, times: 1, .hold(gate))
            let (engine, key) = (file.engine, file.key)
            let opening = Task { try await engine.materialize(key) }
            try await gate.reached()
            #expect(try FileSystem.facts(place.part)?.mode == 0o600)
            #expect(try FileSystem.facts(place.tags)?.mode == 0o600)
            let part = try File(place.part, for: .read)
            let knowsAttributes = part.noted(.backup) != nil
            gate.open()
            let path = try await opening.value.path
            func isRight() throws -> Bool {
                let content = try File(path, for: .read)
                return try content.facts().mode == 0o400
                    && content.noted(.backup) == (knowsAttributes ? "false" : nil)
            }
            #expect(try isRight())
            // Somebody saves into it, and puts another file in its place.
            try FileSystem.setMode(path, 0o644)
            try File(path, for: .readWrite).write([1].span, at: 0)
            try await file.open(requests: 1)
            #expect(try isRight())
            let copy = path + ".copy"
            try Data(contentsOf: URL(filePath: path)).write(to: URL(filePath: copy))
            try FileSystem.rename(copy, to: path)
            try FileSystem.setMode(path, 0o644)
            #expect(try await file.engine.verify().isRight)
            #expect(try isRight())
        }
    }

    @Test func `a part that was left read-only is gone on with`() async throws {
        try await withFiles(1) { cache in
            let place = try cache.place(0)
            try FileSystem.rename(path(cache, 0), to: place.part)
            #expect(try FileSystem.facts(place.part)?.mode == 0o400)
            #expect(try await cache.open(0).requests == 0)
        }
    }
}
