import Foundation
import SyncPlatform

@testable import LazySync
@testable import MockServer

/// A server over HTTP and a session with it, without a device: for calls and transfers alone.
final class TestStore {
    let account: TestAccount
    let server: Server
    let remote: HTTPRemote
    let clock = TestClock()
    let folder: URL

    /// What is done with the account afterwards stays with it: a test pushes itself.
    init(
        _ account: TestAccount = TestAccount(), options: ServerOptions = .init(),
        stallSeconds: Double = 30
    ) async throws {
        self.account = account
        folder = try freshFolder()
        server = try Server(serving: [account.serve()], options: options)
        account.served = nil
        try server.start()
        let client = HTTPClient()
        let base = try HTTPURL("\(server.url)/")
        let keys = KeyStore(
            SecretFile(
                path: folder.path + "/keys", accountID: "\(account.id)", installID: "test",
                lock: FileLock(path: folder.path + "/keys.lock")))
        let tokens = try await Self.login(account, base, client)
        try keys.write(.session, tokens.stored)
        let session = Session(
            keys: keys, lock: FileLock(path: folder.path + "/session"), client: client, base: base,
            stallSeconds: stallSeconds)
        remote = HTTPRemote(
            client: client, base: base, session: session, stallSeconds: stallSeconds)
        server.log.clear()
    }

    deinit {
        server.stop()
        removeFolder(folder)
    }

    private static func login(
        _ account: TestAccount, _ base: HTTPURL, _ client: HTTPClient
    ) async throws -> SessionTokens {
        let key = AccountSecret.authKey(TestAccount.secret, account: account.id)
        var body = JSONWriter()
        body.beginObject()
        body.member("account", account.name)
        body.member("authKey", key.withBytes { SyncPlatform.Base64URL.encode($0) })
        body.member("device", "test")
        body.member("with", "passphrase")
        body.endObject()
        var request = HTTPRequest(.post, url: try base.resolving("v1/sessions"), body: body.bytes)
        try request.headers.add("Content-Type", "application/json")
        return try SessionTokens(try await client.object(request, accepts: 201))
    }

    // MARK: The server's side

    /// The account as the server has it.
    var served: ServedAccount { known(server.account(account.name)) }

    /// A stored blob's bytes; nil if there is none.
    func stored(_ record: String) -> [UInt8]? {
        let blob = try? served.read { state throws(Refusal) in try state.blobs.blob(record) }
        return blob?.bytes.bytes()
    }

    /// The requests so far, as `PUT /v1/blobs/x 201`, when all of them have ended.
    func requests() async throws -> [String] {
        try await server.log.settled()
        return server.log.entries.map { "\($0.method) \($0.path) \($0.status)" }
    }

    // MARK: What is sent

    /// A file with these bytes from offset 100 on, and others around them; its path.
    func spool(_ bytes: [UInt8]) throws -> String {
        let path = folder.path + "/spool-\(UUID().uuidString)"
        try Data([UInt8](repeating: 0xEE, count: 100) + bytes + [0xFF]).write(
            to: URL(filePath: path))
        return path
    }

    /// What waits at the account, as a push.
    func nextPush() -> ManifestPush {
        let head = account.push()
        let entries = account.entries.values.filter { $0.seq == head.seq }
        return ManifestPush(head: head, entries: entries.map { ($0.facts, $0.sealed) })
    }
}
