package import Foundation

/// Where tests put what they make for a while.
///
/// `scripts/test` names a folder of its run, which goes with all that a test left that was killed.
/// It is not `TMPDIR`: the package manager keeps the lock there that builds wait for.
package let testsFolder: URL =
    ProcessInfo.processInfo.environment["LAZYSYNC_TESTS_FOLDER"].map { URL(filePath: $0) }
    ?? FileManager.default.temporaryDirectory
