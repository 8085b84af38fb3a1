import Foundation
import SyncPlatform
import Testing

/// A small file system of its own, where one may be mounted; it goes with its owner at the latest.
final class SmallDisk {
    let path: String

    /// Mounts it; nil where that is not allowed.
    init?(at path: String, kilobytes: Int) throws {
        self.path = path
        try Directory.make(path)
        guard Self.run("mount", "-t", "tmpfs", "-o", "mode=700,size=\(kilobytes)k", "tmpfs", path)
        else { return nil }
    }

    deinit { remove() }

    func resize(kilobytes: Int) {
        #expect(Self.run("mount", "-o", "remount,size=\(kilobytes)k", path))
    }

    /// Lets nobody write any more, or lets them again.
    func setReadOnly(_ isReadOnly: Bool) {
        // A file that was written to may be closed a moment later, on another thread.
        let isDone = (0..<100).contains { _ in
            if Self.run("mount", "-o", "remount,\(isReadOnly ? "ro" : "rw")", path) { return true }
            usleep(10_000)
            return false
        }
        #expect(isDone)
    }

    func remove() {
        _ = Self.run("umount", "-l", path)
    }

    private static func run(_ words: String...) -> Bool {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = words
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }

    /// Whether this test may mount anything.
    static let isAllowed: Bool = {
        let path = testsFolder.appending(path: "lazysync-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        guard let disk = try? SmallDisk(at: path, kilobytes: 64) else { return false }
        disk.remove()
        return true
    }()
}
