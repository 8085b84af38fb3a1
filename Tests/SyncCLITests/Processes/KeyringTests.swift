import Foundation
import Testing

@testable import MockServer

/// The desktop's key store, which is what a login uses unless it is told otherwise.
@Suite(
    .serialized, .timeLimit(.minutes(5)),
    .enabled(if: Keyring.isPossible, "needs dbus-run-session and gnome-keyring"))
struct `The desktop's key store` {
    private func words(_ device: Device) -> [String] {
        // Without the option, which has the same default.
        device.loginWords().filter { $0 != "--key-store" && $0 != "file" }
    }

    @Test func `keeps the keys, and no file does`() async throws {
        let (keyring, device) = (try await Keyring(), try Device())
        func sync(_ words: [String]) async throws -> CommandResult {
            try await device.sync(words, environment: keyring.environment)
        }
        let login = try await sync(words(device))
        #expect(login.exit == 0, "\(login)")
        #expect(try await sync(["restore"]).exit == 0)
        let file = try device.account.file("notes.md")
        let opened = try await sync(["open", file.id])
        #expect(opened.exit == 0, "\(opened)")
        #expect(try await sha256([opened.line]) == [file.sha256])
        #expect(!device.files.contains { $0.contains("keys/") })
        let mine = "{'application': 'lazysync', 'accountId': '\(device.account.id)'}"
        #expect(try await keyring.hasItems(mine))

        let logout = try await sync(["logout"])
        #expect(logout.exit == 0, "\(logout)")
        try device.expectNothingOfTheAccount()
        #expect(try await !keyring.hasItems(mine))
    }

    @Test func `locked, opens what is here and says so of the rest, and never turns to a file`()
        async throws
    {
        let (keyring, device) = (try await Keyring(), try Device())
        func sync(_ words: [String]) async throws -> CommandResult {
            try await device.sync(words, environment: keyring.environment)
        }
        #expect(try await sync(words(device)).exit == 0)
        #expect(try await sync(["restore"]).exit == 0)
        let (here, other) = (try device.account.file("notes.md"), try device.account.large)
        let path = try await sync(["open", here.id]).line
        try await keyring.lock()
        for words in [["open", other.id], ["restore"], words(device)] {
            let result = try await sync(words)
            #expect(result.exit == 6, "\(result)")
            #expect(result.error.hasPrefix("sync: error: keyMissing: "), "\(result)")
            #expect(result.error.contains("\nsync: hint: "))
        }
        #expect(!device.files.contains { $0.contains("keys/") })
        #expect(try await sync(["open", here.id]).line == path)
        #expect(try await sync(["list"]).lines.count == 20)
    }

    @Test func `locked at logout, keeps its items until it opens, and nothing else stays`()
        async throws
    {
        let (keyring, device) = (try await Keyring(), try Device())
        func sync(_ words: [String]) async throws -> CommandResult {
            try await device.sync(words, environment: keyring.environment)
        }
        #expect(try await sync(words(device)).exit == 0)
        try await keyring.lock()
        let logout = try await sync(["logout"])
        #expect(logout.exit == 6, "\(logout)")
        #expect(logout.error.contains("key store"))
        #expect(Set(device.files).isSubset(of: Device.empty))
        // The account is closed, and a file can be chosen for the next login.
        let list = try await sync(["list"])
        #expect(list.exit == 6 && list.error.contains("nobody is logged in"), "\(list)")
        let again = try await sync(device.loginWords())
        #expect(again.exit == 0, "\(again)")
    }

    @Test
    func `is missing without a desktop: one hint, nothing half written, and a file on request`()
        async throws
    {
        let device = try Device()
        for environment in [
            [:], ["DBUS_SESSION_BUS_ADDRESS": "unix:path=\(device.scratch.path)/nobody"],
        ] {
            let login = try await device.sync(words(device), environment: environment)
            #expect(login.exit == 6, "\(login)")
            #expect(login.error.hasPrefix("sync: error: keyMissing: "), "\(login)")
            #expect(login.error.contains("--key-store file"), "\(login)")
            try device.expectNothingOfTheAccount()
            let list = try await device.sync("list")
            #expect(list.exit == 6 && list.error.contains("nobody is logged in"), "\(list)")
        }
        try await device.login()
        try await device.done("restore")
    }
}
