import Foundation
import TestSupport

@testable import MockServer

/// What curl, a client that knows nothing of this project, makes of an answer.
struct CurlResult: Sendable {
    /// curl's own exit code; 18 is a body that was cut, 52 no answer, 56 a reset.
    var exit: Int32
    var status: Int
    var headers: [Header]
    var body: [UInt8]

    func header(_ name: String) -> String? {
        headers.first { $0.isNamed(name) }?.value
    }

    var text: String { String(decoding: body, as: UTF8.self) }

    /// The body as JSON; null when it is none.
    var json: JSONTree { (try? JSONTree(parsing: body)) ?? .null }

    /// The code of a problem document.
    var code: String? {
        header("Content-Type") == "application/problem+json" ? json["code"]?.string : nil
    }
}

/// Runs curl in the background until it ends or is stopped.
final class Curl: Sendable {
    private let folder: URL
    private let process: Process
    private let ended = Watched<Int32?>(nil)

    init(_ arguments: [String]) throws {
        folder = testsFolder.appendingPathComponent("curl-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/curl")
        process.arguments =
            ["-sS", "--max-time", "30", "-D", folder.path + "/head", "-o", folder.path + "/body"]
            + arguments
        process.standardError = FileHandle.nullDevice
        let ended = ended
        process.terminationHandler = { process in
            ended.change { $0 = process.terminationStatus }
        }
        try process.run()
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// Stops it, as a user who loses patience would.
    ///
    /// By SIGKILL: a child of a Dispatch thread is born with SIGTERM blocked.
    func stop() { kill(process.processIdentifier, SIGKILL) }

    func result() async throws -> CurlResult {
        try await ended.wait { $0 != nil }
        let contents = { (name: String) in
            [UInt8](FileManager.default.contents(atPath: self.folder.path + "/" + name) ?? Data())
        }
        let blocks = String(decoding: contents("head"), as: UTF8.self)
            .replacingOccurrences(of: "\r\n", with: "\n").components(separatedBy: "\n\n")
        let lines = blocks.last { !$0.isEmpty }?.split(separator: "\n") ?? []
        let headers = lines.dropFirst().compactMap { line -> Header? in
            let parts = line.split(separator: ":", maxSplits: 1)
            return parts.count == 2
                ? Header(String(parts[0]), parts[1].trimmingCharacters(in: .whitespaces)) : nil
        }
        return CurlResult(
            exit: ended.value ?? -1,
            status: lines.first.flatMap { Int($0.split(separator: " ")[1]) } ?? 0,
            headers: headers, body: contents("body"))
    }
}

/// Runs curl to its end.
func curl(_ arguments: String...) async throws -> CurlResult {
    try await Curl(arguments).result()
}
