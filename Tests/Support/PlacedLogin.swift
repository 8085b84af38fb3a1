import SyncPlatform

@testable import LazySync
@testable import MockServer

/// A login that is put in place: what a real one leaves behind, without the passphrase's cost.
struct PlacedLogin {
    let account: TestAccount
    let server: Server
    let configuration: EngineConfiguration

    /// Where the account's files are.
    var places: AccountPlaces {
        get throws { try Device(configuration).places.account(account.id) }
    }

    /// Makes the home of a device that is logged in, with an empty catalog, and opens it.
    func open() async throws -> SyncEngine {
        let device = try Device(configuration)
        var settings = Settings(installID: Hex.encode(configuration.random.bytes(16).span))
        let scope = Settings.Scope(
            account: account.id, name: account.name, server: "\(server.url)/", keyStore: .file)
        settings.active = scope
        try settings.write(device.places.settings)
        let places = device.places.account(account.id)
        try Directory.make(places.locks)
        try Directory.make(places.cache)
        let keys = keyStore(settings, places)
        try keys.write(.masterKey, account.masterKey.withBytes { [UInt8](copying: $0) })
        try keys.write(.session, tokens())
        return try await SyncEngine.open(
            scope, settings.installID, device, configuration, create: true)
    }

    /// Logs in again: a new session in the place of one that has ended.
    func renew() throws {
        let device = try Device(configuration)
        guard let settings = try device.settings() else { preconditionFailure("no login") }
        try keyStore(settings, device.places.account(account.id)).write(.session, tokens())
    }

    private func keyStore(_ settings: Settings, _ places: AccountPlaces) -> KeyStore {
        KeyStore.of(.file, account: account.id, installID: settings.installID, places: places)
    }

    private func tokens() -> [UInt8] {
        let service = server.service
        let grant = service.changeSessions {
            $0.open(accountId: "\(account.id)", device: "test", now: service.now)
        }
        return Array(#"{"token":"\#(grant.token)","refresh":"\#(grant.refresh)"}"#.utf8)
    }
}
