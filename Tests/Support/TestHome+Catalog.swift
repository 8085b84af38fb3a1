import Foundation
import SyncPlatform
import Testing

@testable import LazySync

/// Looking into a device's files.
extension TestHome {
    var places: Places { Places(home: known(try? FileSystem.realPath(folder.path))) }

    /// The account's places; there must be one that is logged in.
    var accountPlaces: AccountPlaces {
        get throws { places.account(try #require(Settings.read(places.settings)?.active).account) }
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
