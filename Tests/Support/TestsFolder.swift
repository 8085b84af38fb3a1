package import Foundation

/// Where tests put what they make for a while.
///
/// `scripts/test` names a folder of its run, which goes with all that a test left that was killed.
/// It is not `TMPDIR`: the package manager keeps the lock there that builds wait for.
package let testsFolder: URL =
    ProcessInfo.processInfo.environment["LAZYSYNC_TESTS_FOLDER"].map { URL(filePath: $0) }
    ?? FileManager.default.temporaryDirectory

/// Removes a folder of a test with all that is in it.
///
/// Who was at work in it may still be closing its files, and a file that goes by itself while the
/// folder is removed would keep the rest of it.
package func removeFolder(_ folder: URL) {
    for _ in 0..<100 {
        try? FileManager.default.removeItem(at: folder)
        guard FileManager.default.fileExists(atPath: folder.path) else { return }
        usleep(10_000)
    }
}
