import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// Collects what a stream writes, and can stop it.
final class Written: Sendable {
    struct Full: Error {}

    private let state = Watched<[UInt8]>([])
    private let limit: Int

    init(limit: Int = .max) {
        self.limit = limit
    }

    var bytes: [UInt8] { state.value }
    var count: Int { state.value.count }

    func take(_ bytes: Span<UInt8>) throws {
        let piece = [UInt8](copying: bytes)
        let isFull = state.change { state in
            state += piece
            return state.count >= limit
        }
        if isFull { throw Full() }
    }

    /// Waits until so many bytes were written.
    func reach(_ count: Int) async throws {
        try await state.wait { $0.count >= count }
    }
}

/// Bytes that are handed out while they come.
@Suite(.timeLimit(.minutes(10))) struct StreamTests {
    @Test(arguments: [0, 1, 65_536, 65_537, 700_000, 3 << 20])
    func `a stream is the file, byte for byte and in order`(size: Int) async throws {
        try await withOneFile(size) { file in
            let written = Written()
            let streamed = try await file.engine.stream(file.key) { try written.take($0) }
            #expect(Whole(written.bytes) == Whole(file.content))
            #expect(streamed.requests == 1 && streamed.bytesFetched == Int64(size))
            // From the cache it is the same, without a request.
            let again = Written()
            let second = try await file.engine.stream(file.key) { try again.take($0) }
            #expect(Whole(again.bytes) == Whole(file.content) && second.requests == 0)
            try await file.open(requests: 0)
        }
    }

    @Test func `a stream begins before the end has come`() async throws {
        try await withOneFile(40 * 65_536) { file in
            let gate = FaultGate()
            file.server.faults.add(file.request, .stall(at: file.fraction(chunks: 35), gate))
            let written = Written()
            let (engine, key) = (file.engine, file.key)
            let stream = Task { try await engine.stream(key) { try written.take($0) } }
            try await gate.reached()
            try await written.reach(16 * 65_536)
            let early = written.bytes
            #expect(Whole(early) == Whole(file.content.prefix(early.count)))
            gate.open()
            _ = try await stream.value
            #expect(Whole(written.bytes) == Whole(file.content))
        }
    }

    @Test func `a chunk that is wrong at first holds back what follows it`() async throws {
        try await withOneFile(20 * 65_536) { file in
            let offset = file.geometry.sealedRange(3).lowerBound
            file.server.faults.add(file.request, .flip(at: offset))
            let written = Written()
            let error = await #expect(throws: SyncError.self) {
                try await file.engine.stream(file.key) { try written.take($0) }
            }
            #expect(error?.code == .unavailable(.corrupt))
            #expect(Whole(written.bytes) == Whole(file.content.prefix(3 * 65_536)))
            file.server.faults.clear()
            let again = Written()
            let streamed = try await file.engine.stream(file.key) { try again.take($0) }
            #expect(Whole(again.bytes) == Whole(file.content) && streamed.requests == 1)
        }
    }

    @Test func `a writer that throws ends the transfer, and what was verified stays`() async throws
    {
        try await withOneFile(80 * 65_536) { file in
            let gate = FaultGate()
            file.server.faults.add(file.request, .stall(at: file.fraction(chunks: 40), gate))
            let changes = file.engine.changes()
            let written = Written(limit: 5 * 65_536)
            let error = await #expect(throws: SyncError.self) {
                try await file.engine.stream(file.key) { try written.take($0) }
            }
            #expect(error != nil && written.count == 5 * 65_536)
            #expect(Whole(written.bytes) == Whole(file.content.prefix(written.count)))
            for await change in changes {
                if case .attachment(_, .remote, _) = change { break }
            }
            let kept = try file.kept().count
            #expect(kept >= 16 && kept <= 40, "the rest was not waited for")
            gate.open()
            file.server.faults.clear()
            try await file.open(requests: 1)
            #expect(file.ranges.last == file.range(from: kept))
        }
    }

    @Test func `a writer that throws at a file that is here is heard too`() async throws {
        try await withOneFile { file in
            try await file.open()
            let written = Written(limit: 1)
            await #expect(throws: SyncError.self) {
                try await file.engine.stream(file.key) { try written.take($0) }
            }
            #expect(written.count == 65_536)
        }
    }

    @Test func `a stream joins a transfer that goes on, and is joined`() async throws {
        try await withOneFile(40 * 65_536) { file in
            let gate = FaultGate()
            file.server.faults.add(file.request, .stall(at: file.fraction(chunks: 35), gate))
            let (engine, key) = (file.engine, file.key)
            let first = Task { try await engine.materialize(key) }
            try await gate.reached()
            let written = Written()
            let stream = Task { try await engine.stream(key) { try written.take($0) } }
            try await written.reach(16 * 65_536)
            gate.open()
            let (opened, streamed) = (try await first.value, try await stream.value)
            #expect(opened == streamed && file.requests.count == 1)
            #expect(Whole(written.bytes) == Whole(file.content))
        }
    }

    @Test func `an attachment that is replaced in the middle is never mixed from two versions`()
        async throws
    {
        try await withOneFile(40 * 65_536) { file in
            let original = file.content
            file.server.faults.add(file.request, times: 1, .cut(at: file.fraction(chunks: 35)))
            file.server.faults.add(file.request, .problem(410, code: "blob-gone"))
            file.account.change(file.item.id) { item in
                item.attachments[0] = file.account.attach(
                    TestFile("other", size: 40 * 65_536), to: item.id, id: item.attachments[0].id)
            }
            file.account.push()
            let written = Written()
            let error = await #expect(throws: SyncError.self) {
                try await file.engine.stream(file.key) { try written.take($0) }
            }
            #expect(error?.code == .unavailable(.notFound))
            #expect(Whole(written.bytes) == Whole(original.prefix(written.count)))
            // Asked for again, the new version comes, all of it.
            let again = Written()
            _ = try await file.engine.stream(file.key) { try again.take($0) }
            #expect(Whole(again.bytes) == Whole(known(file.account.content(file.key))))
        }
    }

    @Test func `a cancelled stream ends`() async throws {
        try await withOneFile(40 * 65_536) { file in
            let gate = FaultGate()
            file.server.faults.add(
                file.request, times: 1, .stall(at: file.fraction(chunks: 35), gate))
            let (engine, key) = (file.engine, file.key)
            let changes = engine.changes()
            let written = Written()
            let stream = Task { try await engine.stream(key) { try written.take($0) } }
            try await gate.reached()
            stream.cancel()
            let error = await #expect(throws: SyncError.self) { try await stream.value }
            #expect(error?.code == .cancelled)
            for await change in changes {
                if case .attachment(_, .remote, _) = change { break }
            }
            gate.open()
        }
    }
}

/// Copies under names of their own.
@Suite(.timeLimit(.minutes(10))) struct SaveTests {
    @Test func `a copy has its own name made safe, is whole, and never goes over another file`()
        async throws
    {
        try await withOneFile(name: "../.x/여행\n.txt") { file in
            let folder = file.home.folder.path + "/out"
            try Directory.make(folder)
            var paths: [String] = []
            for _ in 0..<3 { paths.append(try await file.engine.save(file.key, to: folder)) }
            #expect(
                paths.map { $0.dropFirst(folder.count + 1) } == [
                    "_.x_여행_.txt", "_.x_여행_ (2).txt", "_.x_여행_ (3).txt",
                ])
            for path in paths {
                #expect(try Whole(at: path) == Whole(file.content))
            }
            #expect(file.requests.count == 1)
            let target = folder + "/chosen.bin"
            let saved = try await file.engine.save(file.key, to: target)
            #expect(saved == target)
            let error = await #expect(throws: SyncError.self) {
                try await file.engine.save(file.key, to: target)
            }
            #expect(error?.code == .invalidInput)
            #expect(try Directory.list(folder).count == 4)
        }
    }

    @Test func `what cannot come is not saved, not even half`() async throws {
        try await withOneFile { file in
            let folder = file.home.folder.path + "/out"
            try Directory.make(folder)
            file.server.faults.add(file.request, .problem(403, code: "not-entitled"))
            let error = await #expect(throws: SyncError.self) {
                try await file.engine.save(file.key, to: folder)
            }
            #expect(error?.code == .unavailable(.notEntitled))
            #expect(try Directory.list(folder).isEmpty)
        }
    }
}

/// Case B19: naming an attachment by what a person types.
@Suite(.timeLimit(.minutes(10))) struct IDTests {
    private func account() -> (TestAccount, [TestItem]) {
        let account = TestAccount()
        var items = (0..<3).map { account.add("Item \($0)", TestFile("f\($0)", size: 10)) }
        // Two whose ids begin alike, and one id that stands in two items.
        let ids = ["abcd0000", "abcd1111", "ffff2222"].map {
            known(AttachmentID($0 + String(repeating: "0", count: 24)))
        }
        for (index, id) in ids.enumerated() {
            items[index] = account.change(items[index].id) { item in
                item.attachments = [account.attach(TestFile("g", size: 10), to: item.id, id: id)]
                if index < 2 {
                    item.attachments.append(
                        account.attach(TestFile("h", size: 10), to: item.id, id: ids[2]))
                }
            }
        }
        account.push()
        return (account, items)
    }

    @Test func `an id is found by four digits, on whichever page it is`() async throws {
        let (account, items) = account()
        try await withHome(account) { home in
            let engine = try await home.enter()
            _ = try await engine.restore()
            let page = try await engine.attachments(AttachmentQuery(limit: 1))
            let off = try #require(
                [items[0].key(), items[1].key()].first { $0 != page.first?.key })
            for text in ["\(off.id)", "\(off.id)".uppercased(), String("\(off.id)".prefix(5))] {
                let found = try await engine.resolveAttachment(text)
                #expect(found == off)
            }
            let opened = try await engine.materialize(off)
            #expect(opened.size == 10)
            let other = account.add("Item 9", TestFile("z", size: 10))
            account.push()
            _ = try await engine.restore()
            let four = try await engine.resolveAttachment(String("\(other.key().id)".prefix(4)))
            #expect(four == other.key())
        }
    }

    @Test func `a prefix of two is told with both, and an id of two items by its item`()
        async throws
    {
        let (account, items) = account()
        try await withHome(account) { home in
            let engine = try await home.enter()
            _ = try await engine.restore()
            let both = await #expect(throws: SyncError.self) {
                try await engine.resolveAttachment("abcd")
            }
            let ids = [items[0].key().id, items[1].key().id].map { "\($0)" }
            #expect(both?.code == .ambiguousID(ids))
            let twice = await #expect(throws: SyncError.self) {
                try await engine.resolveAttachment("ffff2222")
            }
            guard case .ambiguousID(let names)? = twice?.code else {
                Issue.record("\(String(describing: twice))")
                return
            }
            #expect(names.count == 3 && names.allSatisfy { $0.contains("/") })
            for name in names {
                let key = try await engine.resolveAttachment(name)
                #expect("\(key)" == name)
            }
            let cut = "\(items[2].id)".prefix(6) + "/ffff"
            let key = try await engine.resolveAttachment(String(cut))
            #expect(key == items[2].key())
        }
    }

    @Test func `an id of very many items is still found by its item`() async throws {
        let account = TestAccount()
        let id = known(AttachmentID(String(repeating: "c", count: 32)))
        var items: [TestItem] = []
        for index in 0..<130 {
            let item = account.add("Item \(index)")
            items.append(
                account.change(item.id) { item in
                    item.attachments = [account.attach(TestFile("f", size: 1), to: item.id, id: id)]
                })
        }
        account.push()
        try await withHome(account) { home in
            let engine = try await home.enter()
            _ = try await engine.restore(thumbnails: false)
            for item in items {
                let key = try await engine.resolveAttachment("\(item.id)/\(id)")
                #expect(key == item.key())
            }
        }
    }

    @Test(arguments: [
        "", "abc", "xyzw", "abcd/", "/abcd", "a/b/c", "abcd0000 ", "0xabcd", "abcd*", "ab%d",
        String(repeating: "a", count: 33), "ａｂｃｄ", "abcd\0",
    ])
    func `what is no id is told as that`(text: String) async throws {
        let (account, _) = account()
        try await withHome(account) { home in
            let engine = try await home.enter()
            let error = await #expect(throws: SyncError.self) {
                try await engine.resolveAttachment(text)
            }
            #expect(error?.code == .invalidInput)
            let missing = await #expect(throws: SyncError.self) {
                try await engine.resolveAttachment("0123")
            }
            #expect(missing?.code == .noSuchID)
        }
    }
}
