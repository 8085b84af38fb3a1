import Foundation
import TestSupport
import Testing

@testable import MockServer

/// The executable itself, as a script would use it.
@Suite struct CommandTests {
    /// Beside the tests, wherever they were built.
    static let command = Bundle.main.bundleURL.appendingPathComponent("mock-server")

    /// Starts the command; its output is a pipe.
    func run(_ words: [String]) throws -> (process: Process, out: Pipe, error: Pipe) {
        let process = Process()
        process.executableURL = Self.command
        process.arguments = words
        let (out, error) = (Pipe(), Pipe())
        process.standardOutput = out
        process.standardError = error
        try process.run()
        return (process, out, error)
    }

    func account() throws -> URL {
        let folder = testsFolder.appendingPathComponent("account-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let account = """
            {"name":"demo","accountId":"\(TestServer.id(5))","epoch":1,"authKeyHash":"00",
             "kdf":{"kdf":"argon2id13","ops":3,"mem":"67108864","salt":"AAAAAAAAAAAAAAAAAAAAAA"},
             "keyRecord":"S1dS"}
            """
        try Data(account.utf8).write(to: folder.appendingPathComponent("account.json"))
        return folder
    }

    @Test(arguments: [SIGTERM, SIGINT])
    func `the first line says where it listens, and a signal ends it`(signal: Int32) async throws {
        let folder = try account()
        defer { try? FileManager.default.removeItem(at: folder) }
        let (process, out, _) = try run(["--account", folder.path])
        let line = String(decoding: out.fileHandleForReading.availableData, as: UTF8.self)
        #expect(line.hasPrefix("listening on http://127.0.0.1:") && line.hasSuffix("\n"))
        let url = line.dropFirst("listening on ".count).trimmingCharacters(
            in: .whitespacesAndNewlines)
        #expect(try await curl("\(url)/v1/accounts/demo/kdf").status == 200)
        kill(process.processIdentifier, signal)
        process.waitUntilExit()
        #expect(process.terminationReason == .exit && process.terminationStatus == 0)
    }

    @Test func `the help lists whatever a fault and a lie may say`() throws {
        let (process, out, _) = try run(["--help"])
        let help = String(decoding: out.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("MockServer")
        let words = try Regex(#"case "([A-Za-z]+)""#, as: (Substring, Substring).self)
        for name in ["Faults/FaultJSON.swift", "Calls/ControlLies.swift"] {
            let source = try String(
                contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
            let found = source.matches(of: words).map { $0.output.1 }
            #expect(found.count > 8)
            for word in found { #expect(help.contains(word), "\(word) of \(name)") }
        }
        for effect in FaultAction.Effect.allCases { #expect(help.contains(effect.rawValue)) }
    }

    @Test(arguments: [
        [], ["--account"], ["--nonsense"], ["--account", "/nowhere"],
        ["--account", "/usr", "--data", "/usr/nowhere"],
    ])
    func `wrong words end in one line and exit 2`(words: [String]) throws {
        let (process, out, error) = try run(words)
        process.waitUntilExit()
        #expect(process.terminationStatus == 2)
        #expect(out.fileHandleForReading.availableData.isEmpty)
        let text = String(decoding: error.fileHandleForReading.availableData, as: UTF8.self)
        #expect(text.hasPrefix("mock-server: error: ") && text.filter { $0 == "\n" }.count == 1)
    }
}
