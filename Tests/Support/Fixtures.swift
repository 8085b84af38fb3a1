import Foundation

/// The folder of bytes that past clients wrote.
enum Fixtures {
    /// `Fixtures` at the package's root.
    static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Fixtures")
}

/// The SHA-256 of a file, as another program counts it.
func sha256(ofFile path: String) throws -> String {
    let process = Process()
    let output = Pipe()
    process.executableURL = URL(filePath: "/usr/bin/sha256sum")
    process.arguments = ["--", path]
    process.standardOutput = output
    try process.run()
    let text = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return String(decoding: text.prefix(64), as: UTF8.self)
}
