import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// Files that are smaller than what a server says when something is wrong.
@Suite struct TinyFileTests {
    @Test(arguments: [0, 1, 100])
    func `a token that expired is refreshed once, however small the file`(size: Int) async throws {
        try await withOneFile(size) { file in
            file.server.expireTokens()
            try await file.open()
            let refreshed = file.server.log.entries.count { $0.path == "/v1/sessions/refresh" }
            #expect(refreshed == 1)
            // One was refused, and one brought it.
            #expect(file.requests.map(\.status) == [401, 200])
        }
    }

    @Test(arguments: [0, 1, 100])
    func `a record that is gone is notFound at once, however small the file`(
        size: Int
    ) async throws {
        try await withOneFile(size) { file in
            file.server.faults.add(file.request, .problem(404, code: "no-such-blob"))
            let evidence = try await file.openFails(.notFound)
            #expect(evidence.code == "no-such-blob")
            #expect(file.requests.count == 1)
        }
    }
}
