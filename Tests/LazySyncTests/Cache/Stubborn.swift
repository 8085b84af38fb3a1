import Foundation

/// Makes a folder one that nobody can remove, not even root: where the file system knows how.
struct Stubborn {
    let isStubborn: Bool
    private let folder: String

    init(in folder: String) throws {
        self.folder = folder
        isStubborn = Self.change("+i", folder)
    }

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
