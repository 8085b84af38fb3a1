import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// A first device makes an account, and its secrets can be replaced.
@Suite(.timeLimit(.minutes(10))) struct NewAccountTests {
    private static let passphrase = Array("first words".utf8)

    /// A device beside a server that has no account yet.
    private final class First {
        let server: Server
        let folder: URL
        var configuration: EngineConfiguration

        init(_ options: ServerOptions = .init()) throws {
            server = try Server(serving: [], options: options)
            try server.start()
            folder = try freshFolder()
            configuration = EngineConfiguration(home: folder.path + "/home")
            configuration.clock = TestClock()
        }

        deinit {
            server.stop()
            removeFolder(folder)
        }

        func request(_ secret: LoginRequest.Secret) -> LoginRequest {
            LoginRequest(
                server: "\(server.url)", account: "mina", device: "first", secret: secret,
                keyStore: .file)
        }

        func create() async throws -> String {
            try await SyncEngine.createAccount(request(.passphrase(passphrase)), configuration)
        }

        /// Logs in on a device of its own, and says what came of it.
        func logIn(_ secret: LoginRequest.Secret) async throws -> SyncError.Code? {
            let other = EngineConfiguration(home: folder.path + "/\(UUID().uuidString)")
            do {
                let engine = try await SyncEngine.login(request(secret), other)
                let report = try await engine.restore()
                #expect(report.items == 0 && report.verified)
                _ = try await engine.logout()
                return nil
            } catch {
                return error.code
            }
        }
    }

    @Test func `a new account opens with its passphrase and with its recovery key`() async throws {
        let first = try First()
        let key = try await first.create()
        #expect(try await first.logIn(.passphrase(Self.passphrase)) == nil)
        #expect(try await first.logIn(.recoveryKey(Array(key.utf8))) == nil)
        #expect(try await first.logIn(.recoveryKey(Array(key.lowercased().utf8))) == nil)
        #expect(try await first.logIn(.passphrase(Array("other words".utf8))) == .loginRefused)
        // The server saw neither.
        for entry in first.server.log.entries { #expect(!entry.path.contains("first words")) }
    }

    @Test func `two accounts have nothing in common`() async throws {
        let random = SeededRandom(seed: 5)
        let passphrase = SecretBytes(copying: Self.passphrase.span)
        let one = try NewAccount(passphrase: passphrase, random)
        let other = try NewAccount(passphrase: passphrase, random)
        #expect(one.id != other.id)
        #expect(one.passphrase.record.bytes != other.passphrase.record.bytes)
        #expect(one.passphrase.authKey != other.passphrase.authKey)
        #expect(RecoveryKey.text(one.recoveryKey) != RecoveryKey.text(other.recoveryKey))
        // Both secrets lead to one key.
        let secret = try AccountSecret.stretch(
            passphrase: passphrase, salt: one.passphrase.record.salt.span,
            cost: try #require(one.passphrase.record.cost))
        let key = try one.passphrase.record.open(secret: secret, account: one.id, epoch: 1)
        let again = try one.recovery.record.open(
            secret: one.recoveryKey, account: one.id, epoch: 1)
        #expect(key == again)
    }

    @Test func `a name that is taken is told, and nothing of the other account changes`()
        async throws
    {
        let first = try First()
        let key = try await first.create()
        let error = await #expect(throws: SyncError.self) { try await first.create() }
        #expect(error?.code == .nameTaken)
        #expect(try await first.logIn(.recoveryKey(Array(key.utf8))) == nil)
    }

    @Test func `a server that takes no accounts is told`() async throws {
        var options = ServerOptions()
        options.takesAccounts = false
        let first = try First(options)
        let error = await #expect(throws: SyncError.self) { try await first.create() }
        #expect(error?.code == .loginRefused)
    }

    @Test func `where an account is open none is made`() async throws {
        let first = try First()
        _ = try await first.create()
        let engine = try await SyncEngine.login(
            first.request(.passphrase(Self.passphrase)), first.configuration)
        let before = first.server.log.entries.count
        let error = await #expect(throws: SyncError.self) { try await first.create() }
        #expect(error?.code == .anotherAccount)
        #expect(first.server.log.entries.count == before)
        _ = try await engine.logout()
    }

    @Test(arguments: [[], [0xFF, 0xFE]] as [[UInt8]])
    func `what is no passphrase is refused before anything is sent`(text: [UInt8]) async throws {
        let first = try First()
        let error = await #expect(throws: SyncError.self) {
            try await SyncEngine.createAccount(
                first.request(.passphrase(text)), first.configuration)
        }
        #expect(error?.code == .invalidInput)
        #expect(first.server.log.entries.isEmpty)
    }

    // MARK: Replacing

    @Test func `a new recovery key opens, the old one does not, and the passphrase still does`()
        async throws
    {
        let first = try First()
        let old = try await first.create()
        let engine = try await SyncEngine.login(
            first.request(.passphrase(Self.passphrase)), first.configuration)
        let new = try await engine.newRecoveryKey()
        #expect(new != old)
        #expect(try await first.logIn(.recoveryKey(Array(new.utf8))) == nil)
        #expect(try await first.logIn(.recoveryKey(Array(old.utf8))) == .loginRefused)
        #expect(try await first.logIn(.passphrase(Self.passphrase)) == nil)
    }

    @Test func `a new passphrase opens, the old one does not, and devices stay logged in`()
        async throws
    {
        let first = try First()
        let key = try await first.create()
        let engine = try await SyncEngine.login(
            first.request(.passphrase(Self.passphrase)), first.configuration)
        try await engine.changePassphrase(to: Array("second words".utf8))
        #expect(try await first.logIn(.passphrase(Array("second words".utf8))) == nil)
        #expect(try await first.logIn(.passphrase(Self.passphrase)) == .loginRefused)
        #expect(try await first.logIn(.recoveryKey(Array(key.utf8))) == nil)
        #expect(try await engine.restore().verified)
    }

    @Test func `who changes them at the same moment as another device tries again`() async throws {
        let first = try First()
        _ = try await first.create()
        let engine = try await SyncEngine.login(
            first.request(.passphrase(Self.passphrase)), first.configuration)
        first.server.faults.add(
            .put("/v1/keys"), times: 1, .problem(412, code: "keys-changed"))
        first.server.log.clear()
        let new = try await engine.newRecoveryKey()
        #expect(first.server.log.entries.map(\.method) == ["GET", "PUT", "GET", "PUT"])
        #expect(try await first.logIn(.recoveryKey(Array(new.utf8))) == nil)
    }

    @Test func `records of kinds that this version does not know stay as they are`() throws {
        let unknown = [UInt8](repeating: 7, count: 150)
        let text = """
            {"records":[{"epoch":1,"record":"\(Base64URL.encode(unknown.span))"},\
            {"epoch":2,"record":"\(Base64URL.encode(unknown.span))"}]}
            """
        var records = try KeyRecords(JSONObject(Array(text.utf8)), version: "\"1\"")
        let random = SeededRandom(seed: 1)
        let lock = AccountLock(
            recoveryKey: random.secret(32), masterKey: random.secret(32),
            account: AccountID(random: random), random)
        records.replace(with: lock.record)
        records.replace(with: lock.record)
        #expect(records.entries.map(\.epoch) == [1, 2, 1])
        #expect(records.entries[0].bytes == unknown)
        #expect(records.entries[2].bytes == lock.record.bytes)
    }
}
