import Foundation
import Testing

@testable import MockServer

/// What `sync verify` says, and how it exits.
@Suite(.serialized, .timeLimit(.minutes(5))) struct `sync verify` {
    @Test func `names a damaged file, repairs it, and has only its chunk fetched`() async throws {
        let device = try await Device.restored()
        let file = try device.account.file("IMG_0001.jpg")
        let path = try await device.done("open", file.id).line
        #expect(try await device.done("verify").text.contains("problems  none"))

        var bytes = try Data(contentsOf: URL(filePath: path))
        bytes[70_000] ^= 1
        #expect(chmod(path, 0o600) == 0)
        let handle = try FileHandle(forWritingTo: URL(filePath: path))
        try handle.write(contentsOf: bytes)
        try handle.close()

        let found = try await device.sync("verify", "--json")
        #expect(found.exit == 5)
        let problems = try #require(try found.object["problems"] as? [[String: Any]])
        #expect(problems.count == 1)
        let problem = try #require(problems.first)
        #expect(problem["kind"] as? String == "damaged" && problem["id"] as? String == file.id)
        #expect(problem["path"] as? String == path && problem["chunks"] as? [Int] == [1])
        #expect(problem["repaired"] as? Bool == false)
        #expect(try found.errorObject["code"] as? String == "partial")

        let repaired = try await device.sync("verify", "--repair")
        #expect(repaired.exit == 0)
        #expect(repaired.text.contains("damaged  \(file.id)  \(path)  chunks 1  repaired"))
        #expect(repaired.error.hasPrefix("sync: not all was right: damaged: 1; all repaired"))
        #expect(!repaired.error.contains("error"))
        #expect(try await device.done("verify").text.contains("problems  none"))
        let again = try await device.done("open", file.id, "--json").object
        #expect(again["bytesFetched"] as? Int == 65_536)
        #expect(try await sha256([path]) == [file.sha256])
    }

    @Test(arguments: [["--sample", "0"], ["--sample", "101"], ["--sample"], ["one"]])
    func `takes a share from 1 to 100 and nothing else`(words: [String]) async throws {
        let device = try await Device.restored()
        #expect(try await device.sync(["verify"] + words).exit == 2)
    }

    @Test func `needs the key only to prove something`() async throws {
        let device = try await Device.restored()
        try await device.done("open", device.account.file("icon.png").id)
        let key = try #require(device.files.first { $0.contains("/keys/") })
        try FileManager.default.removeItem(at: device.scratch["home"].appendingPathComponent(key))
        let quick = try await device.done("verify", "--json").object
        #expect(quick["head"] is NSNull)
        #expect(try await device.sync("verify", "--sample", "100").exit == 6)
    }
}
