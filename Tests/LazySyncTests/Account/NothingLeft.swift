import Foundation
import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// What is on a device after a logout.
extension TestHome {
    /// Folders that name nobody, and may stay when they are empty.
    private static let emptyFolders: Set = [
        "data", "data/lazysync", "cache", "cache/lazysync", "config", "config/lazysync",
        "config/lazysync/keys", "shared folder 容器", "shared folder 容器/lazysync",
        "shared folder 容器/cache", "shared folder 容器/cache/lazysync",
    ]

    /// Everything under the device's folder.
    var names: Set<String> {
        let all = FileManager.default.enumerator(atPath: folder.path)?.allObjects ?? []
        return Set(all.compactMap { $0 as? String })
    }

    /// Checks that there is nothing but what stands on the list of what stays.
    func expectNothingLeft(_ location: SourceLocation = #_sourceLocation) throws {
        let account = known(account)
        let staying = Set(Device.staying.map { "config/lazysync/\($0)" })
        let left = names.subtracting(Self.emptyFolders).subtracting(staying)
        #expect(left.isEmpty, "\(left)", sourceLocation: location)
        let settings = String(
            decoding: try DurableFile.read(places.settings, limit: 1 << 20), as: UTF8.self)
        for word in ["\(account.id)", account.name, server.url.description, folder.path] {
            #expect(!settings.contains(word), sourceLocation: location)
        }
    }
}
