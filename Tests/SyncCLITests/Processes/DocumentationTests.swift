import Foundation
import Testing

@testable import MockServer

/// What the documents show is what happens.
@Suite(.serialized, .timeLimit(.minutes(5))) struct `The documents` {
    /// The text of the first fenced block of a language in a document.
    private func block(_ language: String, in path: String) throws -> String {
        try #require(try blocks(language, in: path).first, "no \(language) in \(path)")
    }

    /// The texts of all fenced blocks of a language in a document.
    private func blocks(_ language: String, in path: String) throws -> [String] {
        try Repository.text(path).components(separatedBy: "```\(language)\n").dropFirst().map {
            String($0[..<(try #require($0.range(of: "\n```")).lowerBound)]) + "\n"
        }
    }

    @Test func `docs PROTOCOL: curl alone walks from the login to a blob`() async throws {
        let device = try Device()
        // It reads Fixtures and writes a file: in a folder of its own that has a way to the fixtures.
        try FileManager.default.createSymbolicLink(
            at: device.scratch["Fixtures"],
            withDestinationURL: Repository.root.appendingPathComponent("Fixtures"))
        let output = try await run(
            "/bin/bash", ["-eu", "-o", "pipefail"], in: device.scratch.url,
            input: try block("bash", in: "docs/PROTOCOL.md"),
            environment: ["base": "\(device.server.url)"])
        #expect(output.contains("\"entries\"") && output.contains("rel=\"next\""))
        #expect(output.hasSuffix("CBL1"))
        #expect(output.contains("201 Created"))
        #expect(output.localizedCaseInsensitiveContains("Upload-Offset: 60000"))
        // The last answer is the one that the document shows.
        let shown = try Repository.text("docs/PROTOCOL.md")
        for line in [
            "Accept-Ranges: bytes", "Content-Range: bytes 0-65591/5244200", "Content-Length: 65592",
        ] {
            #expect(shown.contains(line))
            #expect(output.localizedCaseInsensitiveContains(line), "\(line)")
        }
        #expect(
            output.contains("206 Partial Content")
                && output.localizedCaseInsensitiveContains("ETag: \""))
        let chunk = try Data(contentsOf: device.scratch["first.chunk"])
        #expect(chunk.count == 65592)
    }

    @Test func `README and SyncEngine: the examples of the library are what compiles`() throws {
        let source = try String(
            contentsOf: URL(fileURLWithPath: #filePath).deletingLastPathComponent()
                .appendingPathComponent("ReadmeExample.swift"), encoding: .utf8)
        func lines(_ text: String) -> [Substring] {
            text.split(separator: "\n", omittingEmptySubsequences: false)
        }
        let compiled = lines(source).map { $0.hasPrefix("    ") ? $0.dropFirst(4) : $0 }
        let examples = try blocks("swift", in: "README.md")
        #expect(examples.count == 2)
        for example in examples {
            let readme = lines(example).filter { $0 != "import LazySync" }
                .joined(separator: "\n").trimmingCharacters(in: .whitespacesAndNewlines)
            #expect(
                compiled.joined(separator: "\n").contains(readme),
                "ReadmeExample.swift has another text than README.md")
        }
        // The type's own example is a part of it.
        let engine = try Repository.text("Sources/LazySync/SyncEngine.swift")
        let example = try #require(engine.split(separator: "/// ```").dropFirst().first)
        for line in lines(String(example)).dropFirst() {
            let code = line.dropFirst(line.hasPrefix("/// ") ? 4 : 3)
            #expect(compiled.contains(code), "\(code)")
        }
    }

    @Test func `README and help: every verb and option that they show exists`() async throws {
        let help = try await Command(["help"]).result()
        let verbs = help.lines.filter { $0.hasPrefix("  ") && !$0.hasPrefix("   ") }
            .compactMap { $0.split(separator: " ").first.map(String.init) }
            .filter { $0.first?.isLetter == true }
        #expect(verbs.count >= 14)
        var texts = try Repository.text("README.md").replacing("\\\n", with: "")
            .split { "`\n".contains($0) }.map(String.init)
        for verb in verbs {
            let text = try await Command(["help", verb]).result()
            #expect(text.exit == 0)
            #expect(text.text.contains("examples"), "\(verb)")
            texts += text.lines.map { $0.trimmingCharacters(in: .whitespaces) }
        }
        // A command may stand behind another one, or in one.
        let commands = texts.flatMap { text in text.split { "|(".contains($0) } }
            .compactMap { part in part.range(of: "sync ").map { part[$0.lowerBound...] } }
        #expect(commands.count > 30)
        for command in commands {
            let words = command.split(whereSeparator: { " ,.'\n".contains($0) }).map(String.init)
            guard words.count > 1, words[1].first?.isLetter == true, words[1] != "VERB" else {
                continue
            }
            #expect(verbs.contains(words[1]), "\(command)")
            let help = try await Command(["help", words[1]]).result().text
            for option in words where option.hasPrefix("--") && option.count > 2 {
                let name = option.prefix { $0 != "=" }
                #expect(help.contains(name) || name == "--help", "\(command)")
            }
        }
    }

    @Test func `README: two homes and one server come to show the same`() async throws {
        let server = try Server(serving: [])
        try server.start()
        defer { server.stop() }
        let scratch = try Scratch()
        let tools = URL(fileURLWithPath: Command.path).deletingLastPathComponent().path
        let output = try await run(
            "/bin/bash", ["-eu", "-o", "pipefail"], in: scratch.url,
            input: try block("bash", in: "README.md"),
            environment: ["server": "\(server.url)", "PATH": "\(tools):/usr/bin:/bin"])
        #expect(output.contains("\ntitle     Trip to Jeju\n"), "\(output)")
        #expect(output.hasSuffix("Bring the tent and the map\n\n"), "\(output)")
    }

    @Test func `help: the exit codes are those that the verbs give`() async throws {
        let help = try await Command(["--help"]).result()
        #expect(help.exit == 0)
        for code in [0, 1, 2, 3, 4, 5, 6, 7, 8, 130] {
            #expect(help.lines.contains { $0.hasPrefix("  \(code) ") })
        }
    }
}
