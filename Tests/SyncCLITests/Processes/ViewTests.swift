import Foundation
import Testing

@testable import MockServer

@Suite(.serialized, .timeLimit(.minutes(5))) struct `The desktop's viewer` {
    @Test func `is given the file's path, and nothing of the name`() async throws {
        let device = try await Device.restored()
        let viewer = device.scratch["bin/xdg-open"]
        try FileManager.default.createDirectory(
            at: device.scratch["bin"], withIntermediateDirectories: false)
        // All at once, so that nobody sees half of it.
        let script = """
            #!/bin/sh
            printf '%s\\n' "$#" "$@" >"$0.new" && mv "$0.new" "$0.saw"
            """
        try Data(script.utf8).write(to: viewer)
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o755], ofItemAtPath: viewer.path)
        let file = try device.account.file("여행 계획.txt")
        let search = device.scratch["bin"].path + ":/usr/bin:/bin"
        let opened = try await device.sync(
            ["open", file.id, "--view"], environment: ["PATH": search])
        #expect(opened.exit == 0, "\(opened)")
        #expect(opened.line.hasSuffix("/content.txt"))
        let saw = viewer.path + ".saw"
        // The command does not wait for the viewer.
        try await eventually { FileManager.default.fileExists(atPath: saw) }
        #expect(try String(contentsOfFile: saw, encoding: .utf8) == "1\n\(opened.line)\n")
        #expect(try await sha256([opened.line]) == [file.sha256])
    }

    @Test func `that is missing is said, and the file is here all the same`() async throws {
        let device = try await Device.restored()
        let file = try device.account.file("notes.md")
        let opened = try await device.sync(
            ["open", file.id, "--view"], environment: ["PATH": device.scratch.path])
        #expect(opened.exit == 1, "\(opened)")
        #expect(opened.error.contains("xdg-open"), "\(opened)")
        let path = try await device.done("open", file.id).line
        #expect(opened.error.contains(path), "\(opened)")
    }
}
