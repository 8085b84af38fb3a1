import Foundation
import Testing

@testable import MockServer

@Suite(.serialized, .timeLimit(.minutes(5))) struct `A server's certificate` {
    private func expectRefused(
        _ result: CommandResult, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(result.exit == 3, "\(result)", sourceLocation: sourceLocation)
        #expect(
            result.error.hasPrefix("sync: error: serverError: "), "\(result)",
            sourceLocation: sourceLocation)
        #expect(result.error.contains("certificate"), "\(result)", sourceLocation: sourceLocation)
        #expect(result.error.contains("--ca-file"), "\(result)", sourceLocation: sourceLocation)
    }

    @Test func `that nobody vouches for is refused, until its authority is named; that is kept`()
        async throws
    {
        let device = try Device()
        let front = try await TLSFront(before: device.server.port)
        expectRefused(try await device.sync(device.loginWords(server: front.url)))
        #expect(device.server.log.entries.isEmpty)
        try device.expectNothingOfTheAccount()

        let words = device.loginWords(server: front.url, "--ca-file", front.authority)
        let login = try await device.sync(words)
        #expect(login.exit == 0, "\(login)")
        try await device.done("restore")
        let file = try device.account.large
        #expect(try await sha256([device.done("open", file.id).line]) == [file.sha256])

        // Another server at its address is not the one that was trusted.
        try FileManager.default.removeItem(atPath: front.authority)
        let other = try await device.sync("restore")
        #expect(other.exit == 3, "\(other)")
    }

    @Test func `for another host is refused, also from an authority that is trusted`() async throws
    {
        let device = try Device()
        let front = try await TLSFront(before: device.server.port, name: "DNS:notes.example")
        let words = device.loginWords(server: front.url, "--ca-file", front.authority)
        expectRefused(try await device.sync(words))
        #expect(device.server.log.entries.isEmpty)
    }

    @Test func `is not to be trusted by a file that is none`() async throws {
        let device = try Device()
        let front = try await TLSFront(before: device.server.port)
        for file in [device.scratch["missing.pem"].path, device.passphraseFile.path] {
            let result = try await device.sync(
                device.loginWords(server: front.url, "--ca-file", file))
            #expect(result.exit == 2, "\(result)")
            #expect(result.error.contains(file), "\(result)")
            try device.expectNothingOfTheAccount()
        }
    }

    @Test func `named by a path from here is found from anywhere later`() async throws {
        let device = try Device()
        let front = try await TLSFront(before: device.server.port)
        let folder = URL(fileURLWithPath: front.authority).deletingLastPathComponent()
        let words = device.loginWords(server: front.url, "--ca-file", "./ca.pem")
        try await run(Command.path, words + ["--home", device.home], in: folder)
        try await device.done("restore", "--no-thumbnails")
    }
}
