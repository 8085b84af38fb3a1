import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// Case C7: what it costs to open a file and to list a page, however many files are cached.
@Suite(.timeLimit(.minutes(10)), .enabled(if: Trace.isAllowed, "strace is not to be had here"))
struct ManyFilesTests {
    @Test func `opening one and listing a page names as few paths with 20,000 files as with 200`()
        async throws
    {
        let few = try await calls(files: 200)
        let many = try await calls(files: 20_000)
        #expect(many.open < 60 && many.list < 60, "\(many)")
        // A longer path of the log's pages is all that may differ.
        #expect(many.open <= few.open + 2 && many.list <= few.list + 2, "\(many), \(few)")
    }

    /// The calls that name a path, with so many files in the cache.
    private func calls(files count: Int) async throws -> (open: Int, list: Int) {
        let account = TestAccount()
        let item = account.add("An item", TestFile("a.bin", size: 100))
        account.push()
        var found = (open: 0, list: 0)
        try await withHome(account) { home in
            // To remove so many folders from a disk takes a minute; from memory, none.
            let memory = "/dev/shm/lazysync-\(UUID().uuidString)"
            if mkdir(memory, 0o700) == 0 {
                try #require(symlink(memory, home.folder.path + "/cache") == 0)
            }
            defer { try? FileManager.default.removeItem(atPath: memory) }
            let engine = try await home.enter()
            _ = try await engine.restore()
            let path = try await engine.materialize(item.key()).path
            try Self.multiply(path, by: count, home)
            let trace = Trace(home: home.folder.path)
            let bytes = Array("00000000\(Self.hex(count / 2))".utf8)
            let opened = try trace.run(["open", "\(item.id)/\(Hex.encode(bytes.span))"])
            #expect(opened.output.contains("/blobs/") && opened.output.contains("content"))
            let list = try trace.run(["list", "--limit", "100", "--state", "here"])
            #expect(list.output.split(separator: "\n").count == 100)
            found = (opened.calls, list.calls)
            // What was made up here is no account that the checks at the end would know.
            _ = try await engine.logout()
        }
        return found
    }

    /// Makes many attachments out of one that is here: with links to its file, and marked as here.
    private static func multiply(_ path: String, by count: Int, _ home: TestHome) throws {
        let blobs = try home.accountPlaces.blobs
        for index in 1...count {
            let place = BlobPlace(record: name(index), under: blobs)
            mkdir(FileSystem.folder(of: place.folder), 0o700)
            mkdir(place.folder, 0o700)
            try #require(link(path, place.content("bin")) == 0)
        }
        let facts = try #require(try FileSystem.facts(path))
        try home.execute(
            """
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
            INSERT INTO attachment(id, entry, position, attachment_id, created_at, name, type, size,
                address, cloud_blob_ref, thumb_state)
            SELECT i + 1000, 1, i, CAST(printf('00000000%08x', i) AS BLOB), 0, 'a.bin', 'x/y', 100, 0,
                CAST(zeroblob(105) || printf('many-%08x', i) AS BLOB), 0
            FROM n;
            INSERT INTO blob(record, attachment, here_boot, here_inode, here_size, here_mtime,
                here_ctime, bytes, held, opened)
            SELECT substr(cloud_blob_ref, 106), id,
                (SELECT here_boot FROM blob), \(facts.inode), 100, \(facts.mtimeNs),
                \(facts.ctimeNs), 100, 12288, 0
            FROM attachment WHERE id > 1000;
            UPDATE tally SET value = value + \(count)
            WHERE name IN ('attachments', 'addressesComplete', 'addressesUsable', 'blobsHere');
            UPDATE tally SET value = value + \(count * 12_288) WHERE name = 'cacheBytes';
            """)
    }

    private static func name(_ index: Int) -> String { "many-\(hex(index))" }

    private static func hex(_ index: Int) -> String {
        let digits = String(index, radix: 16)
        return String(repeating: "0", count: 8 - digits.count) + digits
    }
}

/// The command under `strace`, which counts its calls that name a path.
private struct Trace {
    let home: String

    static let isAllowed = FileManager.default.isExecutableFile(atPath: tool)
    private static let tool = "/usr/bin/strace"

    func run(_ words: [String]) throws -> (output: String, calls: Int) {
        let log = home + "/strace"
        let process = Process()
        process.executableURL = URL(filePath: Self.tool)
        let command = Bundle.main.bundleURL.appendingPathComponent("sync").path
        process.arguments =
            ["-f", "-qq", "-e", "trace=%file", "-e", "signal=none", "-o", log, command] + words
            + ["--home", home]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = String(
            decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 0, "\(words)")
        let lines = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n")
        // What the loader does is the build's: it looks for libraries before anything of ours runs.
        let ours = lines.drop { !$0.contains("\"\(home)") || $0.contains("execve(") }
        // A look at an open file is written as one at a path that is empty.
        return (text, ours.count { !$0.contains("AT_EMPTY_PATH") })
    }
}
