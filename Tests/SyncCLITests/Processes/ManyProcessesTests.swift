import Foundation
import Testing

@testable import MockServer

/// Several commands on one home at the same moment.
@Suite(.serialized, .timeLimit(.minutes(5))) struct `Many commands at once` {
    @Test func `refresh an expired token once, and nobody is signed out`() async throws {
        let device = try await Device.restored()
        let files = Array(device.account.files.filter { $0.size > 100 }.prefix(6))
        device.server.expireTokens()
        device.server.log.clear()
        let commands = try files.map { try device.start(["open", $0.id]) }
        let results = try await commands.asyncMap { try await $0.result() }
        for result in results { #expect(result.exit == 0, "\(result)") }
        #expect(try await sha256(results.map(\.line)) == files.map(\.sha256))
        #expect(device.server.log.count { $0.path == "/v1/sessions/refresh" } == 1)
        try await device.done("restore", "--no-thumbnails")
        #expect(try await device.done("status", "--json").object["session"] as? String == "active")
    }

    @Test func `refresh a token of which one was killed in the middle, and nobody is signed out`()
        async throws
    {
        let device = try await Device.restored()
        let files = Array(device.account.files.filter { $0.size > 100 }.prefix(4))
        device.server.expireTokens()
        let gate = FaultGate()
        device.server.faults.add(.post("/v1/sessions/refresh"), times: 1, .hold(gate))
        let first = try device.start(["open", files[0].id])
        try await gate.reached()
        let others = try files.dropFirst().map { try device.start(["open", $0.id]) }
        first.signal(SIGKILL)
        _ = try await first.result()
        gate.open()
        for command in others {
            let result = try await command.result()
            #expect(result.exit == 0, "\(result)")
        }
        try await device.done("open", files[0].id)
    }

    @Test func `fetch one file once`() async throws {
        let device = try await Device.restored()
        let file = try device.account.large
        let gate = FaultGate()
        device.server.faults.add(
            try await device.match(file), times: 1, .stall(at: .bytes(1_000_000), gate))
        let commands = try (0..<8).map { _ in try device.start(["open", file.id]) }
        try await gate.reached()
        gate.open()
        let results = try await commands.asyncMap { try await $0.result() }
        for result in results { #expect(result.exit == 0, "\(result)") }
        #expect(Set(results.map(\.line)).count == 1)
        #expect(try await sha256([results[0].line]) == [file.sha256])
        #expect(try await device.requests(for: file).count == 1)
    }

    /// Case B11.
    @Test func `fetch one file once, though the one that fetches is killed in the middle`()
        async throws
    {
        let device = try await Device.restored()
        let file = try device.account.large
        let gate = FaultGate()
        device.server.faults.add(
            try await device.match(file), times: 1, .stall(at: .bytes(2_000_000), gate))
        let first = try device.start(["open", file.id])
        try await gate.reached()
        let others = try (0..<7).map { index in
            try device.start(index < 5 ? ["open", file.id] : ["open", file.id, "--stdout"])
        }
        first.signal(SIGKILL)
        #expect(try await first.result().exit == nil)
        gate.open()
        let results = try await others.asyncMap { try await $0.result() }
        for result in results { #expect(result.exit == 0, "\(result.exit as Any)") }
        #expect(
            try await sha256(results.prefix(5).map(\.line))
                == Array(
                    repeating: file.sha256, count: 5))
        for streamed in results.suffix(2) { #expect(streamed.output.count == file.size) }
        let sent = try await device.requests(for: file).reduce(0) { $0 + $1.bytesSent }
        #expect(sent <= UInt64(file.size) * 3 / 2, "\(sent) of \(file.size)")
    }

    @Test func `log in, restore, list and log out in any order, and each is right or says why not`()
        async throws
    {
        let device = try await Device.restored()
        let gate = FaultGate()
        device.server.faults.add(.get("/v1/manifest"), times: 1, .hold(gate))
        let restore = try device.start(["restore", "--no-thumbnails"])
        try await gate.reached()
        // Who lists does not wait for who restores; who restores stops when somebody logs out.
        #expect(try await device.done("list").lines.count == 20)
        try await device.done("logout")
        let stopped = try await restore.result()
        #expect(stopped.exit == 6, "\(stopped)")
        gate.open()
        try device.expectNothingOfTheAccount()
    }
}
