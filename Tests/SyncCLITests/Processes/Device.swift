import Foundation
import Testing

@testable import MockServer

/// A device with an empty home, and the server of one account that it logs in to.
///
/// The home and the server go with it.
final class Device: Sendable {
    let scratch: Scratch
    let account: PlainAccount
    let server: Server

    /// Serves an account; the small one of the fixtures unless another is given.
    init(
        serving account: PlainAccount? = nil, options: ServerOptions = .init()
    ) throws {
        scratch = try Scratch()
        self.account = try account ?? .small()
        server = try Server(accounts: [self.account.folder], options: options)
        try server.start()
        try Data("\(self.account.passphrase)\n".utf8).write(to: passphraseFile)
    }

    deinit { server.stop() }

    var passphraseFile: URL { scratch["passphrase"] }
    var home: String { scratch["home"].path }

    /// The words of a login; more follow.
    func loginWords(server url: String? = nil, _ more: String...) -> [String] {
        [
            "login", "--server", url ?? "\(server.url)", "--account", account.name,
            "--passphrase-file", passphraseFile.path, "--key-store", "file",
        ] + more
    }

    /// Starts the command on this home.
    func start(
        _ words: [String], environment: [String: String] = [:], input: String = "",
        isObserved: Bool = false
    ) throws -> Command {
        try Command(
            words + ["--home", home], environment: environment, input: input,
            isObserved: isObserved)
    }

    /// Runs the command on this home to its end.
    func sync(
        _ words: [String], environment: [String: String] = [:], input: String = ""
    ) async throws -> CommandResult {
        try await start(words, environment: environment, input: input).result()
    }

    func sync(_ words: String...) async throws -> CommandResult { try await sync(words) }

    /// Runs the command, which must do all of it.
    @discardableResult
    func done(
        _ words: String..., sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> CommandResult {
        try await done(words, sourceLocation: sourceLocation)
    }

    @discardableResult
    func done(
        _ words: [String], sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> CommandResult {
        let result = try await sync(words)
        try #require(result.exit == 0, "\(result)", sourceLocation: sourceLocation)
        return result
    }

    func login(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        try await done(loginWords(), sourceLocation: sourceLocation)
    }

    func restore(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        try await done("restore", "--no-thumbnails", sourceLocation: sourceLocation)
    }

    /// A device that is logged in and has the addresses.
    static func restored(
        serving account: PlainAccount? = nil, options: ServerOptions = .init(),
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> Device {
        let device = try Device(serving: account, options: options)
        try await device.login(sourceLocation: sourceLocation)
        try await device.restore(sourceLocation: sourceLocation)
        return device
    }

    // MARK: What lies in the home

    /// Every file of the home, by its path from there.
    var files: [String] { scratch.files(under: "home") }

    /// A file of the home by the end of its path.
    func file(_ suffix: String) throws -> URL {
        let path = try #require(files.first { $0.hasSuffix(suffix) }, "no \(suffix) in \(files)")
        return scratch["home"].appendingPathComponent(path)
    }

    func contents(_ suffix: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: file(suffix)))
    }

    /// The files that stay when nobody is logged in: settings that name no account.
    static let empty = [
        "config/lazysync/settings.json", "config/lazysync/settings.lock",
    ]

    /// Says what of the account still lies in the home after it should have been forgotten.
    func expectNothingOfTheAccount(
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        #expect(Set(files).isSubset(of: Self.empty), sourceLocation: sourceLocation)
        guard files.contains(Self.empty[0]) else { return }
        let settings = String(decoding: try contents("settings.json"), as: UTF8.self)
        #expect(!settings.contains(account.name), sourceLocation: sourceLocation)
        #expect(!settings.contains(account.id), sourceLocation: sourceLocation)
    }

    /// How many bytes lie here, in whole chunks, of the file of which there are most.
    var storedBytes: Int {
        let size = 16
        // From the cache on: looking through a folder stays on one disk.
        let lists = scratch.files(under: "home/cache").filter { $0.hasSuffix("/tags") }.compactMap {
            try? Data(contentsOf: scratch["home/cache"].appendingPathComponent($0))
        }
        return lists.map { tags in
            stride(from: 0, to: tags.count - size + 1, by: size).count { start in
                tags[start..<start + size].contains { $0 != 0 }
            } * 65536
        }.max() ?? 0
    }

    // MARK: What the server saw

    /// The requests for an attachment's record, in their order.
    func requests(for file: PlainAccount.File) async throws -> [LogEntry] {
        let path = "/v1/blobs/" + (try await record(of: file))
        try await server.log.settled()
        return server.log.entries.filter { $0.path == path }
    }

    /// The name of an attachment's record, as the device knows it.
    func record(of file: PlainAccount.File) async throws -> String {
        let object = try await done("explain", file.id, "--json").object
        return try #require(object["address"] as? String)
    }

    /// The path of a file's record at the server.
    func match(_ file: PlainAccount.File) async throws -> Fault.Match {
        .get("/v1/blobs/" + (try await record(of: file)))
    }
}
