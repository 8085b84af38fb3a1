import Foundation
import Testing

@testable import MockServer

/// A server of one account with random bytes, and one who is logged in to it.
///
/// The bytes need not be sealed ones: the server cannot tell.
struct TestServer {
    static let authKey = [UInt8](repeating: 7, count: 32)
    static let recoveryKey = [UInt8](repeating: 8, count: 32)

    let server: Server
    let seed: AccountSeed
    private let grant = Guarded(("", ""))

    init(
        entries: Int = 5, blobs: [String: [UInt8]] = ["blob": TestServer.bytes(1000)],
        options: ServerOptions = .init()
    ) throws {
        seed = TestServer.seed(entries: entries, blobs: blobs)
        server = try Server(seed, options: options)
        try server.start()
    }

    var account: ServedAccount {
        get throws { try #require(server.account("demo")) }
    }

    static func seed(entries: Int, blobs: [String: [UInt8]]) -> AccountSeed {
        AccountSeed(
            name: "demo", accountId: "000102030405060708090a0b0c0d0e0f",
            kdf: .init(salt: Base64URL.encode(bytes(16))),
            passphrase: .init(
                authKeyHash: Service.blake2b(authKey).hex, record: Base64URL.encode(bytes(138))),
            recovery: .init(
                authKeyHash: Service.blake2b(recoveryKey).hex, record: Base64URL.encode(bytes(138))),
            head: entries > 0 ? head(seq: UInt64((entries + 1) / 2)) : nil,
            entries: (0..<entries).map { entry($0, seq: UInt64($0 / 2 + 1)) }, blobs: blobs)
    }

    /// 104 bytes with a seq where a head has it.
    static func head(seq: UInt64) -> String {
        var bytes = Array("CBH1".utf8) + [UInt8](repeating: 0, count: 100)
        for index in 0..<8 {
            bytes[24 + index] = UInt8(truncatingIfNeeded: seq >> (56 - 8 * index))
        }
        return Base64URL.encode(bytes)
    }

    /// Entry `number`; its id is its number.
    static func entry(
        _ number: Int, seq: UInt64, version: UInt64 = 1, size: Int = 296
    ) -> AccountSeed.Entry {
        AccountSeed.Entry(
            id: id(number), version: version, seq: seq, sealed: Base64URL.encode(bytes(size)))
    }

    static func id(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 32 - digits.count) + digits
    }

    static func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: 0...255) }
    }

    /// Logs in with curl.
    func login(with kind: String = "passphrase", key: [UInt8] = authKey) async throws -> CurlResult
    {
        try await post(
            "/v1/sessions",
            [
                "account": .string(seed.accountId), "authKey": .string(Base64URL.encode(key)),
                "device": "test", "with": .string(kind),
            ])
    }

    func post(_ path: String, _ body: JSONTree) async throws -> CurlResult {
        try await curl("-d", body.text, "\(server.url)\(path)")
    }

    /// A token; the same one for the whole test.
    func token() async throws -> String {
        if grant.with({ $0.0.isEmpty }) {
            let json = try await login().json
            let pair = (try #require(json["token"]?.string), try #require(json["refresh"]?.string))
            grant.with { $0 = pair }
        }
        return grant.with { $0.0 }
    }

    /// The refresh value that came with the token.
    func refreshValue() async throws -> String {
        _ = try await token()
        return grant.with { $0.1 }
    }

    /// GET with the token; more words go to curl.
    func get(_ path: String, _ arguments: String...) async throws -> CurlResult {
        try await start(path, arguments).result()
    }

    /// GET with the token, in the background.
    func start(_ path: String, _ arguments: [String] = []) async throws -> Curl {
        try Curl(
            ["-H", "Authorization: Bearer \(try await token())"] + arguments + [
                "\(server.url)\(path)"
            ])
    }

    /// The requests for a blob, in their order.
    var blobRequests: [LogEntry] {
        server.log.entries.filter { $0.path.hasPrefix("/v1/blobs/") }
    }
}
