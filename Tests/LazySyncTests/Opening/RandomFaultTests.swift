import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// Faults that nobody thought of together: whatever comes, it is the file or a reason.
@Suite(.timeLimit(.minutes(10))) struct RandomFaultTests {
    private func action(_ file: OneFile, _ random: SeededRandom) -> FaultAction {
        let length = file.geometry.sealedLength
        let offset = UInt64(random.number(below: Int(length)))
        let pages: [UInt8] = .init(repeating: 0x3C, count: random.number(below: 900_000))
        let html = [Header("Content-Type", "text/html")]
        switch random.number(below: 24) {
        case 0: return .flip(at: offset)
        case 1: return .flip(at: UInt64(random.number(below: 40)))
        case 2: return .truncate(to: offset)
        case 3: return .ignoreRange
        case 4: return .shiftRange(by: Int64(random.number(below: 200_000)) - 100_000)
        case 5:
            return .shiftRange(by: 65_552 * (random.number(below: 2) == 0 ? 1 : -1), isTold: false)
        case 6: return .unaskedRange(first: offset / 2, last: offset)
        case 7: return .multipart
        case 8: return .header("Content-Range", nil)
        case 9: return .header("Content-Encoding", "gzip")
        case 10: return .header("ETag", "\"other\"")
        case 11, 12: return .cut(at: .bytes(offset))
        case 13: return .cut(at: .bytes(offset), .reset)
        case 14: return .framing(.chunked)
        case 15: return .framing(.untilClose)
        case 16: return .framing(.claimed(offset))
        case 17: return .framing(.claimed(length + offset))
        case 18: return .html([200, 401, 403, 404, 410, 500, 502, 503][random.number(below: 8)])
        case 19: return .answer(status: 200, headers: html, body: pages)
        case 20: return .drop(random.number(below: 2) == 0 ? .close : .reset)
        case 21: return .problem(429, code: "slow", headers: [Header("Retry-After", "1")])
        case 22: return .redirectToSigned()
        default: return .then([.expireTokens, .expireSigned][random.number(below: 2)])
        }
    }

    @Test(arguments: 0..<60)
    func `whatever the server does, it is the file or a reason, and then it mends`(
        seed: Int
    ) async throws {
        let random = SeededRandom(seed: UInt64(seed))
        let sizes = [0, 1, 65_536, 65_537, 300_000, 1_200_000]
        let size = sizes[random.number(below: sizes.count)]
        try await withOneFile(size) { file in
            for _ in 0..<(1 + random.number(below: 5)) {
                let count = 1 + random.number(below: 2)
                file.server.faults.add(
                    Fault(
                        Fault.Match(method: "GET", regex: file.record),
                        skip: random.number(below: 2),
                        times: random.number(below: 4) == 0 ? nil : 1 + random.number(below: 3),
                        actions: (0..<count).map { _ in action(file, random) }))
            }
            for _ in 0..<2 {
                let before = file.server.log.entries.count
                do {
                    try await file.open()
                } catch let error as SyncError {
                    guard case .unavailable(let reason) = error.code else {
                        Issue.record("seed \(seed): \(error)")
                        return
                    }
                    let found = try await file.engine.explain(file.key)
                    #expect(found.attachment.state == .unavailable(reason), "seed \(seed)")
                    #expect(found.path == nil)
                }
                try file.checkCache()
                // A chunk or less a request with progress, and eight without any between.
                let bound = 8 * (file.geometry.chunkCount + 1) * 4 + 10
                #expect(file.server.log.entries.count - before < bound, "seed \(seed)")
            }
            file.server.faults.clear()
            let found = try await file.engine.retry(file.key)
            #expect(found.attachment.state == .here, "seed \(seed)")
            try await file.open(requests: 0)
            try file.checkCache()
        }
    }
}
