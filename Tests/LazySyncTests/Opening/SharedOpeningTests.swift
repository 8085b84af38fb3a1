import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// Many who open the same file, and those who change their mind.
@Suite(.timeLimit(.minutes(10))) struct SharedOpeningTests {
    /// Case B10.
    @Test
    func `sixteen openers share one transfer, though the first is cancelled and it fails once`()
        async throws
    {
        try await withOneFile { file in
            let gate = FaultGate()
            file.server.faults.add(
                file.request, times: 1, .cut(at: file.fraction(chunks: 5)), .hold(gate))
            let first = Openers(1, of: file.key, with: file.engine)
            try await gate.reached()
            let others = Openers(15, of: file.key, with: file.engine)
            try await others.haveJoined()
            first.tasks[0].cancel()
            let error = await #expect(throws: SyncError.self) { try await first.tasks[0].value }
            #expect(error?.code == .cancelled)
            gate.open()
            for other in others.tasks {
                let opened = try await other.value
                #expect(opened.requests == 2)
                #expect(try Whole(at: opened.path) == Whole(file.content))
            }
            #expect(file.requests.count == 2)
        }
    }

    @Test func `sixteen openers of a file that cannot come all learn the same reason, once`()
        async throws
    {
        try await withOneFile { file in
            let gate = FaultGate()
            file.server.faults.add(file.request, .problem(403, code: "not-entitled"), .hold(gate))
            let all = Openers(16, of: file.key, with: file.engine)
            try await all.haveJoined()
            gate.open()
            for one in all.tasks {
                let error = await #expect(throws: SyncError.self) { try await one.value }
                #expect(error?.code == .unavailable(.notEntitled))
            }
            #expect(file.requests.count == 1)
            try await file.mends(requests: 1)
        }
    }

    @Test func `who opens again right after a failure sends a request`() async throws {
        try await withOneFile { file in
            let gate = FaultGate()
            file.server.faults.add(
                file.request, times: 1, .problem(403, code: "not-entitled"), .hold(gate))
            let (engine, key) = (file.engine, file.key)
            let all = Openers(16, of: key, with: engine)
            try await all.haveJoined()
            // Each opens again as soon as the failure reaches it, whoever else still waits.
            let again = all.tasks.map { task in
                Task {
                    do { return try await task.value } catch {
                        return try await engine.materialize(key)
                    }
                }
            }
            gate.open()
            for one in again {
                let opened = try await one.value
                #expect(opened.size == Int64(file.content.count))
            }
            #expect(file.requests.count == 2)
        }
    }

    @Test func `the last who is cancelled ends the transfer, and what was verified stays`()
        async throws
    {
        try await withOneFile(40 * 65_536) { file in
            let gate = FaultGate()
            file.server.faults.add(
                file.request, times: 1, .stall(at: file.fraction(chunks: 35), gate))
            let changes = file.engine.changes()
            let (engine, key) = (file.engine, file.key)
            let openers = (0..<3).map { _ in Task { try await engine.materialize(key) } }
            try await gate.reached()
            var isPending = false
            var last: (BlobState, Int64)?
            for await change in changes {
                guard case .attachment(_, let state, let bytes) = change else { continue }
                if !isPending, state == .pending, bytes >= 32 * 65_536 {
                    isPending = try await engine.explain(key).attachment.state == .pending
                    for opener in openers { opener.cancel() }
                }
                last = (state, bytes)
                if state != .pending { break }
            }
            #expect(isPending)
            for opener in openers {
                let error = await #expect(throws: SyncError.self) { try await opener.value }
                #expect(error?.code == .cancelled)
            }
            #expect(last?.0 == .remote)
            let found = try await engine.explain(key)
            #expect(found.attachment.state == .remote)
            let kept = try file.kept().count
            #expect(kept >= 32 && Int64(kept * 65_536) == last?.1)
            gate.open()
            try await file.open(requests: 1)
            #expect(file.ranges.last == file.range(from: kept))
        }
    }

    @Test func `a cancelled opener does not wait for the others`() async throws {
        try await withOneFile { file in
            let gate = FaultGate()
            file.server.faults.add(file.request, times: 1, .hold(gate))
            let openers = Openers(2, of: file.key, with: file.engine)
            try await openers.haveJoined()
            openers.tasks[0].cancel()
            await #expect(throws: SyncError.self) { try await openers.tasks[0].value }
            gate.open()
            let opened = try await openers.tasks[1].value
            #expect(opened.requests == 1)
        }
    }

    @Test func `who is cancelled before it begins sends nothing`() async throws {
        try await withOneFile { file in
            let (engine, key) = (file.engine, file.key)
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await engine.materialize(key)
            }
            let error = await #expect(throws: SyncError.self) { try await task.value }
            #expect(error?.code == .cancelled)
            #expect(file.requests.isEmpty)
            try await file.open(requests: 1)
        }
    }

    /// Case B11, with two engines in the place of two processes: their locks know no difference.
    @Test func `two programs that open one file fetch it once`() async throws {
        try await withOneFile { file in
            let other = try await file.home.open()
            let gate = FaultGate()
            file.server.faults.add(file.request, times: 1, .hold(gate))
            let (engine, key) = (file.engine, file.key)
            let first = Task { try await engine.materialize(key) }
            try await gate.reached()
            let changes = other.changes()
            let second = Task { try await other.materialize(key) }
            for await change in changes {
                if case .attachment(_, .pending, _) = change { break }
            }
            let seen = try await other.explain(key)
            #expect(seen.attachment.state == .pending)
            gate.open()
            let (fetched, found) = (try await first.value, try await second.value)
            #expect(fetched.requests == 1 && found.requests == 0)
            #expect(file.requests.count == 1)
        }
    }

    @Test func `when the program that fetches ends, the other goes on from its chunks`()
        async throws
    {
        try await withOneFile(40 * 65_536) { file in
            let other = try await file.home.open()
            let gate = FaultGate()
            file.server.faults.add(
                file.request, times: 1, .stall(at: file.fraction(chunks: 35), gate))
            let (engine, key) = (file.engine, file.key)
            let changes = engine.changes()
            let first = Task { try await engine.materialize(key) }
            for await change in changes {
                if case .attachment(_, .pending, let bytes) = change, bytes >= 32 * 65_536 { break }
            }
            let waiting = other.changes()
            let second = Task { try await other.materialize(key) }
            for await change in waiting {
                if case .attachment(_, .pending, _) = change { break }
            }
            first.cancel()
            let opened = try await second.value
            #expect(try Whole(at: opened.path) == Whole(file.content))
            #expect(opened.requests == 1 && opened.bytesFetched <= 8 * 65_536)
            gate.open()
            _ = try? await first.value
        }
    }

    @Test func `two attachments of one record are fetched once, each by its own address`()
        async throws
    {
        let account = TestAccount()
        let item = account.add("An item", TestFile("a.jpg", size: 100_000))
        var copy = account.add("Another", TestFile("b.png", size: 10))
        let ref = account.copy(item.key(), to: copy.id, copy.attachments[0].id)
        copy = account.change(copy.id) { item in
            item.attachments[0].size = 100_000
            item.attachments[0].ref = ref
        }
        account.push()
        try await withHome(account) { home in
            let engine = try await home.enter()
            let report = try await engine.restore(thumbnails: false)
            #expect(report.addressesComplete == 2)
            let (one, other) = (item.key(), copy.key())
            async let first = engine.materialize(one)
            async let second = engine.materialize(other)
            let files = try await [first, second]
            #expect(files[0].path == files[1].path)
            #expect(home.blobRequests.count == 1)
            for key in [one, other] {
                let found = try await engine.explain(key)
                #expect(found.attachment.state == .here && found.path == files[0].path)
            }
        }
    }

    @Test func `a thumbnail that two open at once comes once, for both`() async throws {
        let account = TestAccount()
        let item = account.add("A photo", .photo("a.jpg"))
        account.push()
        try await withHome(account) { home in
            let engine = try await home.enter()
            _ = try await engine.restore(thumbnails: false)
            let gate = FaultGate()
            let record = known(item.thumbRecord())
            home.server.faults.add(.get("/v1/blobs/\(record)"), times: 1, .hold(gate))
            let openers = (0..<4).map { _ in Task { try await engine.thumbnail(item.key()) } }
            try await gate.reached()
            gate.open()
            for opener in openers {
                let file = try await opener.value
                #expect(try DurableFile.read(file.path, limit: 10_000) == account.contents[record])
            }
            #expect(home.blobRequests.count == 1)
        }
    }

    @Test func `who stops looking at a thumbnail takes it from nobody else`() async throws {
        let account = TestAccount()
        let item = account.add("A photo", .photo("a.jpg"))
        account.push()
        try await withHome(account) { home in
            let engine = try await home.enter()
            _ = try await engine.restore(thumbnails: false)
            let gate = FaultGate()
            home.server.faults.add(.get("/v1/blobs/"), times: 1, .hold(gate))
            let first = Task { try await engine.thumbnail(item.key()) }
            try await gate.reached()
            // The restore comes to it and waits for the one who looks.
            let restore = Task { try await engine.restore() }
            let second = Task { try await engine.thumbnail(item.key()) }
            first.cancel()
            let failure = await #expect(throws: SyncError.self) { try await first.value }
            #expect(failure?.code == .cancelled)
            gate.open()
            #expect(try await second.value.size == 3_000)
            #expect(try await restore.value.thumbnailsHere == 1)
            #expect(home.blobRequests.count == 1)
        }
    }

    @Test func `a thumbnail that a cancelled restore was fetching still comes to who looks at it`()
        async throws
    {
        let account = TestAccount()
        let item = account.add("A photo", .photo("a.jpg"))
        account.push()
        try await withHome(account) { home in
            let engine = try await home.enter()
            _ = try await engine.restore(thumbnails: false)
            let gate = FaultGate()
            home.server.faults.add(.get("/v1/blobs/"), times: 1, .hold(gate))
            let restore = Task { try await engine.restore() }
            try await gate.reached()
            let looking = Task { try await engine.thumbnail(item.key()) }
            restore.cancel()
            _ = await #expect(throws: SyncError.self) { try await restore.value }
            #expect(try await looking.value.size == 3_000)
            gate.open()
            #expect(try await engine.explain(item.key()).attachment.thumbnail == .here)
        }
    }
}

/// Tasks that open one file at once; each is known to wait when it was told of the progress.
final class Openers: Sendable {
    private let joined = Watched<Set<Int>>([])
    let tasks: [Task<MaterializedFile, any Error>]

    init(_ count: Int, of key: AttachmentKey, with engine: SyncEngine) {
        tasks = (0..<count).map { [joined] number in
            Task {
                try await engine.materialize(key) { _, _ in
                    joined.change { _ = $0.insert(number) }
                }
            }
        }
    }

    /// Waits until all of them wait for the transfer.
    func haveJoined() async throws {
        try await joined.wait { [count = tasks.count] in $0.count == count }
    }
}

extension TestAccount {
    /// The address of a blob that is there, for another attachment too.
    func copy(_ key: AttachmentKey, to entry: LazySync.EntryID, _ id: AttachmentID) -> TestItem.Ref
    {
        let attachment = items[key.item]?.attachments.first { $0.id == key.id }
        guard case .text(let text)? = attachment?.ref, let ref = CloudBlobRef(text) else {
            preconditionFailure("nothing to copy")
        }
        var opener = RefOpener(keys: keys, account: self.id)
        var contentKey = [UInt8](repeating: 0, count: 32)
        var span = contentKey.mutableSpan
        let isOpen = opener.unwrap(
            ref.packed.span, entry: key.item, attachment: key.id, role: .original, into: &span)
        precondition(isOpen)
        return wrap(
            contentKey, Array(ref.packed[CloudBlobRef.nonceRange]),
            known(RecordName(ref.recordName)), entry, id, .original)
    }
}
