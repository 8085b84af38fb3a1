import Foundation
import Testing

@testable import MockServer

/// A user's own places and a container, with real processes at them.
@Suite(.serialized, .timeLimit(.minutes(10))) struct `The container` {
    /// A user with places of their own, and the server of the device.
    private struct User {
        let device: Device
        var container: String?

        var folder: URL { device.scratch["user"] }

        func start(_ words: [String]) throws -> Command {
            var environment = [
                "XDG_DATA_HOME": folder.path + "/data", "XDG_CACHE_HOME": folder.path + "/cache",
                "XDG_CONFIG_HOME": folder.path + "/config",
            ]
            environment["SYNC_CONTAINER"] = container
            return try Command(words, environment: environment)
        }

        func sync(_ words: [String]) async throws -> CommandResult {
            try await start(words).result()
        }

        func done(
            _ words: String..., sourceLocation: SourceLocation = #_sourceLocation
        ) async throws -> CommandResult {
            let result = try await sync(words)
            try #require(result.exit == 0, "\(result)", sourceLocation: sourceLocation)
            return result
        }

        /// Everything but folders.
        var files: [String] { device.scratch.files(under: "user") }
    }

    private func restored() async throws -> User {
        let user = User(device: try Device())
        let login = try await user.sync(user.device.loginWords())
        try #require(login.exit == 0, "\(login)")
        _ = try await user.done("restore", "--no-thumbnails")
        return user
    }

    @Test func `takes the catalog in once nobody is at it, and is found without its name`()
        async throws
    {
        var user = try await restored()
        let file = try user.device.account.large
        let list = try await user.done("list", "--json").text
        let before = try await user.done("status", "--json").object
        #expect(before["place"] as? String == "private")

        // Another process has the catalog open, in the middle of a transfer.
        let record = try #require(
            try await user.done("explain", file.id, "--json").object["address"] as? String)
        let gate = FaultGate()
        user.device.server.faults.add(
            .get("/v1/blobs/\(record)"), times: 1, .stall(at: .bytes(2_000_000), gate))
        let opening = try user.start(["open", file.id])
        try await gate.reached()
        let container = user.folder.path + "/shared by all ☂"
        user.container = container
        let missing = try await user.done("status", "--json").object
        #expect(missing["flags"] as? [String] == ["containerMissing"])
        try FileManager.default.createDirectory(
            atPath: container, withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700])
        let meanwhile = try await user.done("status", "--json").object
        #expect(meanwhile["place"] as? String == "private")
        #expect(meanwhile["flags"] as? [String] == [])
        gate.open()
        #expect(try await opening.result().exit == 0)

        let after = try await user.done("status", "--json").object
        #expect(after["place"] as? String == "shared")
        #expect((after["folder"] as? String)?.contains("shared by all ☂/lazysync/") == true)
        #expect(try await user.done("status").text.contains("place"))
        let opened = try await user.done("open", file.id, "--json").object
        #expect(opened["bytesFetched"] as? Int == 0)
        let there = try await user.done("list", "--json").text
        #expect(there.split(separator: "\n").count == list.split(separator: "\n").count)
        user.container = nil
        #expect(try await user.done("list", "--json").text == there)
        #expect(try await user.done("status", "--json").object["place"] as? String == "shared")
        let nothing = try await user.sync(["adopt", "shared"])
        #expect(nothing.exit == 2)
        #expect(try await user.sync(["adopt", "both"]).exit == 2)

        _ = try await user.done("logout")
        #expect(
            Set(user.files) == [
                "config/lazysync/settings.json", "config/lazysync/settings.lock",
            ])
    }

    @Test func `and the own place, both with rows, wait for adopt`() async throws {
        var user = try await restored()
        let own = try #require(user.files.first { $0.hasSuffix("catalog.sqlite") })
        let container = user.folder.path + "/shared"
        let id = user.device.account.id
        try FileManager.default.createDirectory(
            atPath: "\(container)/lazysync/\(id)", withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        try FileManager.default.copyItem(
            atPath: user.folder.path + "/" + own,
            toPath: "\(container)/lazysync/\(id)/catalog.sqlite")
        user.container = container
        let status = try await user.done("status", "--json").object
        #expect(status["flags"] as? [String] == ["twoPlaces"])
        #expect(status["place"] as? String == "private")
        let adopted = try await user.done("adopt", "private", "--json").object
        #expect(adopted["place"] as? String == "shared")
        #expect((adopted["kept"] as? String)?.hasPrefix("catalog-") == true)
        #expect(try await user.done("list", "--limit", "100").lines.count == 20)
        #expect(!user.files.contains { $0.hasPrefix("data/") })
    }
}

/// Case D10 with real processes.
@Suite(.serialized, .timeLimit(.minutes(10))) struct `A logout while others are at work` {
    @Test func `ends them, and no row or file comes back`() async throws {
        let device = try await Device.restored()
        let file = try device.account.large
        let gate = FaultGate()
        device.server.faults.add(
            try await device.match(file), times: 1, .stall(at: .bytes(2_000_000), gate))
        device.server.faults.add(.get("/v1/manifest"), .hold(gate))
        let opening = try device.start(["open", file.id])
        try await gate.reached()
        let restoring = try device.start(["restore"])
        try await gate.reached(by: 2)
        try await device.done("logout")
        let (opened, restored) = (try await opening.result(), try await restoring.result())
        #expect(opened.exit == 6, "\(opened)")
        #expect(restored.exit == 6, "\(restored)")
        gate.open()
        try device.expectNothingOfTheAccount()
        #expect(try await device.sync("list").exit == 6)
    }

    @Test func `ends who reads a part, and who keeps what is pinned`() async throws {
        let device = try await Device.restored()
        let file = try device.account.large
        let gate = FaultGate()
        device.server.faults.add(.get("/v1/blobs/"), .stall(at: .fraction(0.5), gate))
        let reading = try device.start(["open", file.id, "--range", "0-"])
        try await gate.reached()
        let pinning = try device.start(["pin", "--all"])
        try await gate.reached(by: 3)
        try await device.done("logout")
        let (read, pinned) = (try await reading.result(), try await pinning.result())
        #expect(read.exit == 6, "\(read)")
        #expect(pinned.exit == 6, "\(pinned)")
        gate.open()
        try device.expectNothingOfTheAccount()
    }

    @Test func `is finished by the next command when it is killed`() async throws {
        for delay in 0..<6 {
            let device = try await Device.restored()
            let gate = FaultGate()
            // Between the mark and the rest.
            device.server.faults.add(Fault.Match(method: "DELETE"), .hold(gate))
            let command = try device.start(["logout"])
            try await gate.reached()
            if delay == 0 { command.signal(SIGKILL) } else { gate.open() }
            if delay > 0 { command.signal(SIGKILL) }
            _ = try await command.result()
            #expect(try await device.sync("list").exit == 6)
            gate.open()
            try device.expectNothingOfTheAccount()
        }
    }
}
