import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import TestSupport

/// Files that are no export, or not the one that was written: refused by line, and nothing is
/// there afterwards.
@Suite struct WrongFileTests {
    /// An export of all kinds of entries, made once, and its account.
    private static let valid: Task<ExportText, any Error> = Task {
        let (account, _) = TestAccount.ofAllKinds()
        let store = try TestCatalog(account)
        try await store.apply()
        _ = try await store.verify(seq: 1)
        let scope = Settings.Scope(
            account: account.id, name: "demo", server: "http://127.0.0.1:1/", caFile: nil,
            keyStore: .file)
        let bytes = Locked<[UInt8]>([])
        _ = try await ExportPass(catalog: store.catalog, scope: scope).run { block in
            bytes.withLock { $0.append(copying: block) }
        }
        return ExportText(bytes.withLock { $0 })
    }

    /// Imports into a home of its own, and expects a whole catalog there or none at all.
    private static func importing(
        _ bytes: [UInt8], _ comment: Comment? = nil, location: SourceLocation = #_sourceLocation
    ) async throws -> SyncError? {
        let folder = try freshFolder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "file")
        try Data(bytes).write(to: file)
        let configuration = EngineConfiguration(home: folder.path + "/device")
        do throws(SyncError) {
            _ = try await SyncEngine.importCatalog(from: file.path, configuration)
        } catch {
            let files = FileManager.default.enumerator(atPath: folder.path + "/device/data")
            #expect(files?.allObjects.count ?? 0 <= 1, comment, sourceLocation: location)
            await #expect(throws: SyncError.self, comment, sourceLocation: location) {
                _ = try await SyncEngine.open(configuration)
            }
            return error
        }
        let engine = try await SyncEngine.open(configuration)
        let places = try configuration.places().account(await engine.status().scope)
        let catalog = try Connection(
            path: places.catalog, mode: .readWrite, checkpointsOnClose: false)
        try CatalogCheck(catalog).run(location)
        // Whatever it says, it can be shown, and is the same the second time.
        _ = try await engine.everything()
        _ = try await engine.export { _ in }
        return nil
    }

    private static func expectRefused(
        _ bytes: [UInt8], line: Int?, _ detail: String, location: SourceLocation = #_sourceLocation
    ) async throws {
        let failure = try await importing(bytes, "\(detail)", location: location)
        let text = failure?.detail ?? "taken"
        #expect(failure?.code == .invalidInput, "\(text)", sourceLocation: location)
        if let line {
            #expect(text.hasPrefix("line \(line): "), "\(text)", sourceLocation: location)
        }
        #expect(text.contains(detail), "\(text)", sourceLocation: location)
    }

    // MARK: Cut and put together

    @Test func `a file that is cut anywhere is refused before anything is stored`() async throws {
        let bytes = try await Self.valid.value.bytes
        var random = SeededGenerator(seed: 1)
        let cuts =
            [0, 1, bytes.count - 1]
            + (0..<60).map { _ in
                Int.random(in: 0..<bytes.count, using: &random)
            }
        for cut in cuts {
            let failure = try await Self.importing(Array(bytes[..<cut]), "cut at \(cut)")
            #expect(failure?.code == .invalidInput, "cut at \(cut)")
            #expect(failure?.detail.hasPrefix("line ") == true)
        }
    }

    @Test func `lines that are missing, twice, or in another place are found out`() async throws {
        let valid = try await Self.valid.value
        #expect(try await Self.importing(valid.bytes) == nil)
        #expect(try await Self.importing(valid.sealed) == nil)
        let last = valid.lines.count
        var file = valid
        file.lines.remove(at: 2)
        try await Self.expectRefused(file.bytes, line: last - 1, "not those that were written")
        file = valid
        file.lines.insert(file.lines[2], at: 2)
        try await Self.expectRefused(file.sealed, line: 4, "not in its place")
        file = valid
        file.lines.swapAt(1, 2)
        try await Self.expectRefused(file.sealed, line: 3, "not in its place")
        file = valid
        file.lines.swapAt(0, 1)
        try await Self.expectRefused(file.sealed, line: 1, "not in its place")
        file = valid
        file.lines.insert(file.lines[0], at: 1)
        try await Self.expectRefused(file.sealed, line: 2, "second header")
        file = valid
        file.lines.append(file.lines[1])
        try await Self.expectRefused(file.bytes, line: last + 1, "behind the last line")
        file = valid
        file.lines.insert("", at: 1)
        try await Self.expectRefused(file.sealed, line: 2, "not JSON")
        try await Self.expectRefused([], line: 1, "ends before its last line")
        try await Self.expectRefused(Array(valid.sealed.dropLast()), line: last, "ends within")
        let long = [UInt8](repeating: UInt8(ascii: " "), count: 9 << 20)
        try await Self.expectRefused(long, line: 1, "too long")
    }

    // MARK: One value

    /// What is changed in the first line that has it, and what the refusal says.
    private static let wrong: [(find: String, put: String, detail: String)] = [
        (#""minor":0"#, #""minor":-1"#, "minor"),
        (#""version":1,"minor""#, #""version":"1","minor""#, "version"),
        (#""version":1,"minor""#, #""version":0,"minor""#, "version"),
        (#""name":"demo""#, #""name":"""#, "name"),
        (#""name":"demo""#, #""name":null"#, "name"),
        ("http://127.0.0.1:1/", "http://example.org/", "server"),
        ("http://127.0.0.1:1/", "file:///x/", "server"),
        ("http://127.0.0.1:1/", "https://example.org/?x", "server"),
        (#""head":""#, #""head":"AA"#, "head"),
        (#""format":"lazysync-export""#, #""format":"other""#, "no export"),
        (#"{"entry":""#, #"{"entry":"g"#, "entry"),
        (#"{"entry":""#, #"{"entrance":""#, "nobody knows such a line"),
        (#""version":1,"epoch""#, #""version":0,"epoch""#, "version"),
        (#""version":1,"epoch""#, #""version":1.0,"epoch""#, "version"),
        (#""version":1,"epoch""#, #""version":18446744073709551616,"epoch""#, "not JSON"),
        (#""epoch":1"#, #""epoch":0"#, "epoch"),
        (#""epoch":1"#, #""epoch":4294967296"#, "epoch"),
        (#""epoch":1"#, #""epoch":1,"epoch":1"#, "key twice"),
        (#""kind":"item""#, #""kind":"note""#, "kind"),
        (#""kind":"item""#, #""kind":"tombstone""#, "kind"),
        (#""kind":"tombstone""#, #""kind":"item""#, "title"),
        (#""leaf":""#, #""leaf":"A"#, "leaf"),
        (#""title":""#, #""text":"x","tite":""#, "nobody knows"),
        (#""title":"no time""#, #""title":7"#, "title"),
        (#""title":"no time""#, "\"title\":\"\u{FFFD}\\ud800\"", "not JSON"),
        (#""created":"yesterday""#, #""created":null"#, "created"),
        (#""payload":""#, #""payload":"e30"#, "payload"),
        (#""attachments":[]"#, #""attachments":{}"#, "attachments"),
        (#""attachments":[]"#, #""attachments":[[]]"#, "no object"),
        (#""position":0"#, #""position":-1"#, "position"),
        (#""position":0"#, #""position":1000"#, "position"),
        (#""position":2"#, #""position":1"#, "position"),
        (#""size":70000"#, #""size":-1"#, "size"),
        (#""size":70000"#, #""size":281474976710657"#, "size"),
        (#""size":70000"#, #""size":"70000""#, "size"),
        (#""size":70000"#, #""size":70000,"x":[[[[[[[[[]]]]]]]]]"#, "too deeply"),
        (#""name":"big""#, #""name":"""#, "name"),
        (#""name":"big""#, "\"name\":\"\(String(repeating: "x", count: 1_025))\"", "name"),
        (#""address":"complete""#, #""address":"here""#, "address"),
        (#""address":"complete""#, #""address":"absent""#, "address"),
        (#""address":"absent""#, #""address":"kept""#, "address"),
        (#""ref":"cb1."#, #""ref":"cb2."#, "ref"),
        (#""ref":"cb1."#, #""ref":"cb1.."#, "ref"),
        (#""thumb":{"#, #""thumb":[{"#, "not JSON"),
        (#"{"staged":""#, #"{"staged":"z"#, "staged"),
        (#""sealed":""#, #""sealed":"=="#, "sealed"),
        (#""sealed":""#, #""seal":""#, "nobody knows"),
    ]

    @Test(arguments: wrong.indices)
    func `a value that cannot be is refused, and its line is named`(index: Int) async throws {
        let (find, put, detail) = Self.wrong[index]
        var file = try await Self.valid.value
        let line = try #require(file.lines.firstIndex { $0.contains(find) }, "\(find)")
        file.lines[line] = file.lines[line].replacing(find, with: put, maxReplacements: 1)
        try await Self.expectRefused(file.sealed, line: line + 1, detail)
    }

    @Test func `bytes that are no UTF-8 are refused`() async throws {
        var bytes = try await Self.valid.value.bytes
        let place = try #require(bytes.firstIndex(of: 0xC3))
        bytes[place] = 0xFF
        try await Self.expectRefused(bytes, line: nil, "not JSON")
    }

    @Test func `two attachments of one id are refused`() async throws {
        var file = try await Self.valid.value
        let line = try #require(
            file.lines.firstIndex {
                $0.contains(#""position":0"#) && $0.contains(#""position":1"#)
            })
        let ids = file.lines[line].components(separatedBy: #"{"id":""#).dropFirst().map {
            String($0.prefix(32))
        }
        file.lines[line] = file.lines[line].replacing(ids[1], with: ids[0])
        try await Self.expectRefused(file.sealed, line: line + 1, "stands there twice")
    }

    @Test func `text beyond what an item can have is refused`() async throws {
        var file = try await Self.valid.value
        let line = try #require(file.lines.firstIndex { $0.contains(#""title":"no time""#) })
        let long = String(repeating: "x", count: (1 << 20) + 1)
        file.lines[line] = file.lines[line].replacing("no time", with: long)
        try await Self.expectRefused(file.sealed, line: line + 1, "larger than an item")
    }

    // MARK: Newer programs

    @Test func `a file of a newer version is refused as such`() async throws {
        var file = try await Self.valid.value
        file.lines[0] = file.lines[0].replacing(
            #""version":1,"minor":0"#, with: #""version":2,"minor":0,"outbox":[]"#)
        let failure = try await Self.importing(file.sealed)
        #expect(failure?.code == .newerCatalog)
        #expect(failure?.detail == "line 1: it is of version 2, this program knows 1")
    }

    @Test func `what a newer minor version adds is left out and counted`() async throws {
        var file = try await Self.valid.value
        file.lines[0] = file.lines[0].replacing(#""minor":0"#, with: #""minor":3,"made":"by""#)
        file.lines[1] = file.lines[1].replacing(#""epoch":1"#, with: #""epoch":1,"mood":[1]"#)
        file.lines.insert(#"{"pinned":"x","y":{}}"#, at: 2)
        let folder = try freshFolder()
        defer { try? FileManager.default.removeItem(at: folder) }
        try Data(file.sealed).write(to: folder.appending(path: "file"))
        let report = try await SyncEngine.importCatalog(
            from: folder.path + "/file", EngineConfiguration(home: folder.path + "/device"))
        #expect(report.leftOut == 3 && report.items == 5)
    }

    // MARK: Anything

    @Test(arguments: 0..<8 as Range<UInt64>)
    func `whatever is changed in a file, it is refused by line or gives a whole catalog`(
        seed: UInt64
    ) async throws {
        let valid = try await Self.valid.value
        var random = SeededGenerator(seed: seed)
        var taken = 0
        for round in 0..<40 {
            let bytes = valid.mutated(&random)
            let failure = try await Self.importing(bytes, "seed \(seed), round \(round)")
            guard let failure else {
                taken += 1
                continue
            }
            #expect([.invalidInput, .newerCatalog].contains(failure.code), "\(failure)")
            #expect(failure.detail.hasPrefix("line "), "\(failure), seed \(seed), round \(round)")
        }
        #expect(taken < 40)
    }
}
