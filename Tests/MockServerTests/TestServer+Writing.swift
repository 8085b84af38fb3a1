import Foundation
import Testing

@testable import MockServer

extension TestServer {
    /// A request with the token and a body; more words go to curl.
    func send(
        _ method: String, _ path: String, _ body: [UInt8] = [], _ arguments: [String] = []
    ) async throws -> CurlResult {
        let file = FileManager.default.temporaryDirectory
            .appendingPathComponent("body-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(body).write(to: file)
        return try await startSending(method, path, file, arguments).result()
    }

    /// The same in the background, with the body in a file that stays.
    func startSending(
        _ method: String, _ path: String, _ file: URL, _ arguments: [String] = []
    ) async throws -> Curl {
        try await start(
            path,
            ["-X", method, "--data-binary", "@\(file.path)", "-H", "Content-Type:"]
                + arguments)
    }

    func send(_ method: String, _ path: String, _ body: JSONTree) async throws -> CurlResult {
        try await send(method, path, Array(body.text.utf8))
    }

    // MARK: Blobs

    func put(
        _ name: String, _ bytes: [UInt8], _ arguments: [String] = []
    ) async throws -> CurlResult {
        try await send(
            "PUT", "/v1/blobs/\(name)", bytes, ["-H", "If-None-Match: *"] + arguments)
    }

    /// Headers of a PATCH, as curl's words.
    static func place(_ offset: some Any, _ length: some Any) -> [String] {
        [
            "-H", "Content-Type: application/offset+octet-stream", "-H",
            "Upload-Offset: \(offset)", "-H", "Upload-Length: \(length)",
        ]
    }

    func patch(
        _ name: String, _ bytes: [UInt8], at offset: some Any, of length: some Any,
        _ arguments: [String] = []
    ) async throws -> CurlResult {
        // The last of two equal headers counts for curl, so that a test can replace one.
        try await send(
            "PATCH", "/v1/uploads/\(name)", bytes, Self.place(offset, length) + arguments)
    }

    /// How far an upload is said to have come; nil for 404.
    func offset(_ name: String) async throws -> Int? {
        let answer = try await get("/v1/uploads/\(name)", "-I")
        return answer.status == 200 ? answer.header("Upload-Offset").flatMap { Int($0) } : nil
    }

    // MARK: Pushes

    /// A head that follows `old`, as far as a server can tell.
    static func head(
        after old: String?, count: Int, account: String = "000102030405060708090a0b0c0d0e0f",
        epoch: UInt8 = 1, salt: UInt8 = 0
    ) -> String {
        let before = old.flatMap { HeadFacts($0) }
        let seq = (before?.seq ?? 0) + 1
        var bytes = Array("CBH1".utf8)
        bytes += stride(from: 0, to: 32, by: 2).map { index in
            let digits = account.utf8.dropFirst(index).prefix(2)
            return UInt8(String(decoding: digits, as: UTF8.self), radix: 16) ?? 0
        }
        bytes += [0, 0, 0, epoch]
        bytes += (0..<8).map { UInt8(truncatingIfNeeded: seq >> (56 - 8 * $0)) }
        bytes += before?.hash ?? [UInt8](repeating: 0, count: 32)
        bytes += (0..<8).map { UInt8(truncatingIfNeeded: count >> (56 - 8 * $0)) }
        bytes += [UInt8](repeating: salt, count: 32)
        return Base64URL.encode(bytes)
    }

    /// A push's body; an entry is its number and its version.
    static func push(_ head: String, _ entries: [(number: Int, version: Int)]) -> JSONTree {
        [
            "head": .string(head),
            "entries": .array(
                entries.map { number, version in
                    [
                        "id": .string(id(number)), "version": .string(String(version)),
                        "kind": 0, "epoch": 1,
                        "sealed": .string(Base64URL.encode(bytes(296))),
                    ]
                }),
        ]
    }

    func push(_ head: String, _ entries: (Int, Int)...) async throws -> CurlResult {
        try await send("POST", "/v1/manifest", Self.push(head, entries.map { ($0.0, $0.1) }))
    }

    /// The newest head, as the server shows it.
    func head() async throws -> String? {
        try await get("/v1/manifest?after=0").json["head"]?.string
    }

    /// Ids and versions of all entries, as the server shows them.
    func listed(_ after: Int = 0) async throws -> [String: String] {
        let list = try await get("/v1/manifest?after=\(after)").json["entries"]?.array ?? []
        return Dictionary(
            list.map { ($0["id"]?.string ?? "", $0["version"]?.string ?? "") },
            uniquingKeysWith: { first, _ in first + " twice" })
    }

    // MARK: Keys

    /// A key record, as far as a server can tell.
    static func record(
        _ kind: UInt8, ops: UInt8 = 3, mebibytes: UInt64 = 64, salt: UInt8 = 1, fill: UInt8 = 0
    ) -> String {
        let isPassphrase = kind == 2
        var bytes = Array("KWR1".utf8) + [kind, isPassphrase ? 2 : 0]
        bytes += [0, 0, 0, isPassphrase ? ops : 0]
        let mem = isPassphrase ? mebibytes << 20 : 0
        bytes += (0..<8).map { UInt8(truncatingIfNeeded: mem >> (56 - 8 * $0)) }
        bytes += [UInt8](repeating: salt, count: 16)
        bytes += [UInt8](repeating: fill, count: 138 - bytes.count)
        return Base64URL.encode(bytes)
    }

    /// What creates an account.
    static func newAccount(
        _ name: String = "new", id: String = TestServer.id(77), recovery: Bool = true
    ) -> [(key: String, value: JSONTree)] {
        let kdf: JSONTree = [
            "kdf": "argon2id13", "ops": 3, "mem": "67108864",
            "salt": .string(Base64URL.encode([UInt8](repeating: 1, count: 16))),
        ]
        var members: [(key: String, value: JSONTree)] = [
            ("name", .string(name)), ("accountId", .string(id)), ("epoch", 1), ("kdf", kdf),
            ("authKey", .string(Base64URL.encode(authKey))), ("keyRecord", .string(record(2))),
        ]
        if recovery {
            members.append(("recoveryAuthKey", .string(Base64URL.encode(recoveryKey))))
            members.append(("recoveryRecord", .string(record(1))))
        }
        return members
    }

    /// Logs in to any account, and answers the token.
    func token(
        of account: String, with kind: String = "passphrase", key: [UInt8] = authKey,
        device: String = "test"
    ) async throws -> String? {
        try await post(
            "/v1/sessions",
            [
                "account": .string(account), "authKey": .string(Base64URL.encode(key)),
                "device": .string(device), "with": .string(kind),
            ]
        ).json["token"]?.string
    }
}
