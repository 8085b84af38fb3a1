import Foundation
import SyncPlatform
@testable import TestSupport

@testable import LazySync
@testable import MockServer

/// One device of a simulation: a folder, and the process that works in it, until it is killed.
final class SimDevice {
    let number: Int
    private let folder: URL
    private let login: PlacedLogin
    private var configuration: EngineConfiguration
    private let onDeath: @Sendable () -> Void
    let clock: TestClock
    private(set) var engine: SyncEngine
    private(set) var killSwitch: KillSwitch
    /// For how many steps it has no connection.
    var offline = 0

    init(
        _ number: Int, seed: UInt64, in folder: URL, _ account: TestAccount, _ server: Server,
        onDeath: @escaping @Sendable () -> Void
    ) async throws {
        self.number = number
        self.onDeath = onDeath
        self.folder = folder.appending(path: "device \(number)")
        try Directory.make(self.folder.path + "/files")
        clock = TestClock()
        configuration = EngineConfiguration(home: self.folder.path + "/home")
        configuration.clock = clock
        configuration.random = SeededRandom(seed: seed &* 16 &+ UInt64(number))
        configuration.stallSeconds = 30
        configuration.thumbnail = { file in
            file.path.hasSuffix(".jpg") ? Array("thumbnail of \(file.path)".utf8) : nil
        }
        let killSwitch = KillSwitch(onDeath: onDeath)
        configuration.reached = { try killSwitch.reached($0) }
        self.killSwitch = killSwitch
        login = PlacedLogin(account: account, server: server, configuration: configuration)
        places = try login.places
        engine = try await login.open()
    }

    /// Ends the process and starts it again.
    func restart() async throws {
        await engine.close()
        let killSwitch = KillSwitch(onDeath: onDeath)
        configuration.reached = { try killSwitch.reached($0) }
        self.killSwitch = killSwitch
        engine = try await SyncEngine.open(configuration)
    }

    func close() async { await engine.close() }

    /// Logs in again after the session has ended.
    func renewSession() throws { try login.renew() }

    /// A file of a person.
    func file(_ name: String, _ bytes: [UInt8]) throws -> String {
        let path = folder.path + "/files/" + name
        try Data(bytes).write(to: URL(filePath: path))
        return path
    }

    // MARK: What it shows

    /// The items that it shows, in the order of their ids.
    var ids: [LazySync.EntryID] {
        get async throws { try await engine.items(limit: 10_000).map(\.id).sorted() }
    }

    func item(_ id: LazySync.EntryID) async throws -> ItemFacts? {
        do throws(SyncError) {
            return ItemFacts(try await engine.item(id))
        } catch {
            if error.code == .noSuchID { return nil }
            throw error
        }
    }

    /// Everything that it shows.
    var shown: [LazySync.EntryID: ItemFacts] {
        get async throws {
            var shown: [LazySync.EntryID: ItemFacts] = [:]
            for id in try await ids { shown[id] = try await item(id) }
            return shown
        }
    }

    // MARK: Looking inside

    let places: AccountPlaces

    func catalog() throws -> SyncPlatform.Connection {
        try SyncPlatform.Connection(
            path: places.catalog, mode: .readWrite, checkpointsOnClose: false)
    }

    /// The records that something in its trash names.
    var trashed: Set<String> {
        get throws { try strings("SELECT record FROM trash_record") }
    }

    /// One column of the catalog.
    func strings(_ sql: String) throws -> Set<String> {
        let rows = try catalog().prepare(sql)
        var found: Set<String> = []
        while try rows.step() { found.insert(String(decoding: rows.blob(0), as: UTF8.self)) }
        return found
    }

    /// A record's sealed bytes, if they are in its spool.
    func spooledBytes(_ record: String) -> [UInt8]? {
        guard let blob = try? catalog().spooled(record),
            let file = try? Spool(places).open(blob.pack)
        else { return nil }
        return try? file.read(count: Int(blob.size), at: blob.place)
    }

    /// The files in its spool.
    var packs: [String] {
        get throws {
            let folder = places.data + "/spool"
            return try FileSystem.facts(folder) == nil ? [] : Directory.list(folder)
        }
    }
}
