import Foundation
import Testing

@testable import TestSupport

/// Makes a folder one that nobody can remove, not even root: where the file system knows how.
struct Stubborn {
    private let folder: String

    init(in folder: String) throws {
        self.folder = folder
        #expect(Self.change("+i", folder))
    }

    /// Whether this user may do that here.
    static let isPossible: Bool = {
        guard let folder = try? freshFolder() else { return false }
        defer { try? FileManager.default.removeItem(at: folder) }
        return change("+i", folder.path) && change("-i", folder.path)
    }()

    func relent() {
        _ = Self.change("-i", folder)
    }

    private static func change(_ flag: String, _ folder: String) -> Bool {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["chattr", "-R", flag, folder]
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }
}
