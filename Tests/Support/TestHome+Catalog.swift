import Foundation
import SyncPlatform
import Testing

@testable import LazySync

/// Looking into a device's files.
extension TestHome {
    var places: Places { Places(home: known(try? FileSystem.realPath(folder.path))) }

    /// The account's places; there must be one that is logged in.
    ///
    /// They are in the container once the catalog is.
    var accountPlaces: AccountPlaces {
        get throws {
            let settings = try #require(try Settings.read(places.settings))
            let account = try #require(settings.active).account
            let own = places.account(account)
            for container in settings.containers {
                var shared = places.account(account, in: container)
                guard try FileSystem.facts(own.catalog) == nil,
                    try FileSystem.facts(shared.catalog) != nil
                else { continue }
                // On another volume the cache stays where it was.
                if try FileSystem.facts(shared.cache) == nil { shared.cache = own.cache }
                return shared
            }
            return own
        }
    }

    /// From here on engines use these folders as the user's own places, and a container.
    ///
    /// Answers the container's path; its folder is made if `exists` says so.
    @discardableResult
    func useContainer(exists: Bool = true, at path: String? = nil) throws -> String {
        let root = known(try? FileSystem.realPath(folder.path))
        let container = path ?? root + "/shared folder 容器"
        if exists { try Directory.make(container) }
        configuration.home = nil
        configuration.container = container
        let variables = [
            "XDG_DATA_HOME": root + "/data", "XDG_CACHE_HOME": root + "/cache",
            "XDG_CONFIG_HOME": root + "/config",
        ]
        configuration.environment = { variables[$0] }
        return container
    }

    /// Goes on in a container to which another program moved the catalog alone: no mark, and its log
    /// at the old place.
    ///
    /// Answers the new place.
    @discardableResult
    func moveCatalogAlone() throws -> AccountPlaces {
        let old = try accountPlaces
        let new = places.account(known(account).id, in: try useContainer())
        try Directory.make(new.locks)
        try FileSystem.rename(old.catalog, to: new.catalog)
        return new
    }

    /// A connection to the catalog for looking, and for installing what makes a write fail.
    func catalog() throws -> Connection {
        try Connection(
            path: accountPlaces.catalog, mode: .readWrite, checkpointsOnClose: false)
    }

    /// Runs SQL on the catalog.
    func execute(_ sql: String) throws {
        try catalog().execute(sql)
    }

    /// One number out of the catalog.
    func number(_ sql: String) throws -> Int {
        Int(try catalog().firstInt(sql))
    }
}
