import Foundation
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// One device whose commands are killed at random moments.
///
/// What is drawn follows from the seed; when a process gets to run does not, so a seed repeats the
/// same attempts and not the same moments.
final class KillLoop {
    /// What is killed, and how its words are found.
    struct Verb {
        let name: String
        let words: (KillLoop) async throws -> [String]

        init(_ name: String, _ words: @escaping (KillLoop) async throws -> [String]) {
            self.name = name
            self.words = words
        }
    }

    let home: TestHome
    let account: TestAccount
    var random: SeededGenerator
    private(set) var kills = 0
    /// The longest that each verb took when nobody killed it: later moments would miss it.
    private var longest: [String: Duration] = [:]

    /// An account of small photos and files, of one to four chunks.
    static func account() -> TestAccount {
        let account = TestAccount()
        for number in 0..<12 {
            account.add("Item \(number)", file(number, 0))
        }
        account.push()
        return account
    }

    /// Another version of an item's file; two in three are photos.
    private static func file(_ number: Int, _ version: Int) -> TestFile {
        let size = [700, 65_536, 150_000, 65_537, 20_000, 200_000][number % 6]
        let name = "\(number)-\(version)"
        return number % 3 == 0
            ? TestFile(name + ".bin", size: size)
            : .photo(name + ".jpg", size: size, thumb: 2_000 + 500 * number)
    }

    init(_ home: TestHome, _ account: TestAccount, seed: UInt64) {
        (self.home, self.account) = (home, account)
        random = SeededGenerator(seed: seed)
        // So slow that a moment in the middle of an answer is as likely as any other.
        home.server.faults.add(.get("/v1/blobs/"), .rate(4_000_000))
    }

    // MARK: What there is to do

    /// An attachment; rather one in that state.
    func file(_ state: BlobState) async throws -> String {
        let all = try await states()
        let wanted = all.filter { $0.value == state }.keys
        let keys = (wanted.isEmpty ? Array(all.keys) : Array(wanted)).map(\.description).sorted()
        return try #require(keys.randomElement(using: &random))
    }

    /// Gives an item's file other bytes, so that a restore has something to bring.
    func changeSomething() {
        let items = account.items.values.sorted { "\($0.id)" < "\($1.id)" }
        guard let item = items.randomElement(using: &random),
            let number = Int(item.title.split(separator: " ")[1])
        else { return }
        let version = Int.random(in: 1...1_000_000, using: &random)
        account.change(item.id) { changed in
            let id = changed.attachments[0].id
            changed.attachments[0] = account.attach(
                Self.file(number, version), to: item.id, id: id)
        }
        account.push()
    }

    // MARK: Killing

    func command(_ words: [String]) throws -> Command {
        try Command(words + ["--home", home.folder.path])
    }

    /// Kills one command at a moment up to the time that it needs.
    func kill(_ verb: Verb) async throws {
        let words = try await verb.words(self)
        let most = longest[verb.name] ?? .milliseconds(80)
        let moment = most * Double.random(in: 0...1, using: &random)
        let start = ContinuousClock.now
        let command = try command(words)
        // Not to wait for something: to kill at another moment each time.
        try await Task.sleep(for: moment)
        command.signal(SIGKILL)
        let result = try await command.result()
        if result.exit == nil {
            kills += 1
        } else {
            // What an eviction passes over since somebody is at it is no failure.
            #expect(result.exit == 0 || result.exit == 5, "\(result)")
            longest[verb.name] = ContinuousClock.now - start
        }
        try await check()
    }

    /// What must hold whenever a command was killed.
    private func check() async throws {
        try home.check(mayHaveLeftOvers: true)
        let pending = try await states().filter { $0.value == .pending }
        #expect(pending.isEmpty, "pending, and nobody is running: \(pending.keys)")
    }

    /// What the next command would list.
    private func states() async throws -> [AttachmentKey: BlobState] {
        let engine = try await home.open()
        let rows = try await engine.attachments(AttachmentQuery(limit: 1_000))
        await engine.close()
        return Dictionary(uniqueKeysWithValues: rows.map { ($0.key, $0.state) })
    }

    // MARK: Afterwards

    /// With nobody to kill it, a command does all of it, and nothing is left over.
    @discardableResult
    func done(_ words: String...) async throws -> CommandResult {
        let result = try await command(words).result()
        #expect(result.exit == 0, "\(result)")
        try home.check()
        return result
    }

    /// Brings everything here, and compares every byte.
    func finish() async throws {
        try await done("restore")
        for item in account.items.values {
            let path = try await done("open", item.key().description).line
            let bytes = try Data(contentsOf: URL(filePath: path))
            #expect(bytes == account.content(item.key()).map { Data($0) })
        }
    }
}
