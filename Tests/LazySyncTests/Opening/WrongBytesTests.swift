import SyncPlatform
import Testing

@testable import LazySync
@testable import MockServer
@testable import TestSupport

/// Bytes that are not the file's: flipped, replaced, or another thing in their place.
@Suite(.timeLimit(.minutes(10))) struct WrongBytesTests {
    /// Case B5.
    @Test func `a chunk that is wrong once comes with the second request`() async throws {
        try await withOneFile { file in
            let range = file.geometry.sealedRange(3)
            file.server.faults.add(file.request, times: 1, .flip(at: range.lowerBound + 5))
            try await file.open(requests: 2)
            #expect(file.ranges == [nil, "bytes=\(range.lowerBound)-\(range.upperBound - 1)"])
        }
    }

    @Test func `a chunk that is wrong twice is corrupt, by its number, and the others are kept`()
        async throws
    {
        try await withOneFile { file in
            let offset = file.geometry.sealedRange(3).lowerBound + 5
            file.server.faults.add(file.request, .flip(at: offset))
            let evidence = try await file.openFails(.corrupt)
            #expect(evidence.chunk == 3 && file.requests.count == 2)
            #expect(try file.kept() == [0, 1, 2, 4, 5, 6, 7, 8, 9, 10])
            #expect(evidence.bytes == Int64(file.content.count - 65_536))
            // It stays so while nobody asks; a retry asks anew, and twice if it has to.
            let again = try await file.engine.retry(file.key)
            #expect(again.attachment.state == .unavailable(.corrupt))
            #expect(file.requests.count == 4)
            try await file.mends(requests: 1)
        }
    }

    @Test func `different chunks that are wrong once each are no corruption`() async throws {
        try await withOneFile { file in
            for chunk in [2, 7, 9] {
                let offset = file.geometry.sealedRange(chunk).lowerBound
                file.server.faults.add(
                    file.request, times: 1, .ignoreRange, .flip(at: offset))
            }
            // The second and third answers hold what is missing unharmed.
            try await file.open(requests: 2)
        }
    }

    @Test func `the lowest of several wrong chunks is named`() async throws {
        try await withOneFile { file in
            file.server.faults.add(
                file.request, .shiftRange(by: 0), .flip(at: file.geometry.sealedRange(8).lowerBound)
            )
            let first = try await file.openFails(.corrupt)
            #expect(first.chunk == 8)
        }
    }

    @Test(arguments: [0, 6, 10])
    func `a header that is wrong once comes with the second request`(offset: Int) async throws {
        try await withOneFile { file in
            file.server.faults.add(file.request, times: 1, .flip(at: UInt64(offset)))
            try await file.open(requests: 2)
            // Nothing behind a wrong header was kept, so the header was asked for again.
            #expect(file.ranges == [nil, nil])
        }
    }

    @Test func `a header that is wrong twice is corrupt, and nothing behind it is kept`()
        async throws
    {
        try await withOneFile(40 * 65_536) { file in
            file.server.faults.add(file.request, .flip(at: 20))
            let evidence = try await file.openFails(.corrupt)
            #expect(evidence.code == "header" && evidence.chunk == nil && evidence.bytes == 0)
            #expect(try file.kept().isEmpty && file.requests.count == 2)
            try await file.mends(requests: 1)
        }
    }

    @Test func `a part that is secretly another one is corrupt, and not a byte of it is kept`()
        async throws
    {
        try await withOneFile { file in
            file.server.faults.add(file.request, times: 1, .cut(at: file.fraction(chunks: 5)))
            file.server.faults.add(file.request, .shiftRange(by: -65_552, isTold: false))
            let evidence = try await file.openFails(.corrupt)
            #expect(evidence.chunk == 5)
            #expect(try file.kept() == Array(0..<5) && file.requests.count == 3)
            try await file.mends(requests: 1)
        }
    }

    /// Case B7.
    @Test(
        arguments: [
            ("502 with HTML", .serverError, 502, 8), ("200 with HTML", .wrongSize, 200, 2),
            ("200 with nothing", .wrongSize, 200, 2), ("500 with nothing", .serverError, 500, 8),
            ("200 with HTML in chunks", .wrongSize, 200, 2),
            ("200 with much HTML in chunks", .wrongSize, 200, 2),
            ("200 with HTML of the same length", .serverError, 200, 8),
            ("302 without a place", .serverError, nil, 8), ("204", .serverError, 204, 8),
        ] as [(String, UnavailableReason, Int?, Int)])
    func `another answer than the blob is never corrupt, and not a byte of it is kept`(
        what: String, reason: UnavailableReason, status: Int?, tries: Int
    ) async throws {
        try await withOneFile { file in
            let length = Int(file.geometry.sealedLength)
            let html = [Header("Content-Type", "text/html")]
            func page(_ count: Int) -> [UInt8] { .init(repeating: UInt8(ascii: "<"), count: count) }
            let actions: [FaultAction] =
                switch what {
                case "502 with HTML": [.html(502)]
                case "200 with HTML": [.html(200)]
                case "500 with nothing": [.answer(status: 500)]
                case "200 with HTML in chunks": [.html(200), .framing(.chunked)]
                case "200 with much HTML in chunks":
                    [
                        .answer(status: 200, headers: html, body: page(length + 5_000)),
                        .framing(.chunked),
                    ]
                case "200 with HTML of the same length":
                    [.answer(status: 200, headers: html, body: page(length))]
                case "302 without a place": [.answer(status: 302)]
                case "204": [.answer(status: 204)]
                default: [.answer(status: 200)]
                }
            file.server.faults.add(Fault(file.request, actions: actions))
            let evidence = try await file.openFails(reason)
            #expect(evidence.status == status && evidence.bytes == 0)
            #expect(file.requests.count == tries)
            #expect(try file.kept().isEmpty)
            try await file.mends(requests: 1)
        }
    }

    @Test func `a page in the place of the rest leaves what is here alone`() async throws {
        try await withOneFile { file in
            file.server.faults.add(file.request, times: 1, .cut(at: file.fraction(chunks: 5)))
            file.server.faults.add(file.request, .html(200))
            let evidence = try await file.openFails(.wrongSize)
            #expect(evidence.bytes == 5 * 65_536)
            #expect(try file.kept() == Array(0..<5))
            try await file.mends(requests: 1)
            #expect(file.ranges.last == file.range(from: 5))
        }
    }

    /// Case B8: another object under the same name, from the second request on.
    @Test(arguments: [true, false], ["at once", "in the same open"])
    func `an object that is replaced between two ranges makes no mixed file`(
        keepsTag: Bool, when: String
    ) async throws {
        let other = try TestBlob(size: 10 * 65_536 + 77, seed: 99)
        let clock = HookedClock()
        try await withOneFile(configure: { $0.clock = clock }) { file in
            let served = known(file.server.account("demo"))
            let original = known(file.account.blobs[file.record])
            let replace: @Sendable () -> Void = { [record = file.record, sealed = other.sealed] in
                if keepsTag {
                    try? served.replaceBlobKeepingTag(record, sealed)
                } else {
                    served.putBlob(record, sealed, etag: "\"another\"")
                }
            }
            let isOneOpen = when == "in the same open"
            if isOneOpen { clock.onWait(replace) }
            file.server.faults.add(file.request, times: 1, .cut(at: file.fraction(chunks: 5)))
            if !isOneOpen {
                file.server.faults.add(file.request, .drop())
                try await file.openFails(.offline)
                file.server.faults.clear()
                replace()
            }
            let evidence = try await file.openFails(.corrupt)
            #expect(evidence.bytes == 5 * 65_536)
            #expect(try file.kept() == Array(0..<5))
            if isOneOpen {
                #expect(file.requests.last?.ifRange != nil && file.requests.count == 3)
                #expect(evidence.code == (keepsTag ? nil : "header"))
            }
            served.putBlob(file.record, original)
            try await file.mends(requests: 1)
        }
    }

    @Test func `parts are asked for under the tag of the first, if it is a strong one`()
        async throws
    {
        for (tag, expected) in [
            ("\"strong\"", "\"strong\""), ("W/\"weak\"", nil), ("bare", nil), ("\"a\tb\"", nil),
            ("", nil),
        ] as [(String, String?)] {
            try await withOneFile { file in
                file.server.faults.add(
                    file.request, times: 1, .cut(at: file.fraction(chunks: 5)),
                    .header("ETag", tag.isEmpty ? nil : tag))
                // The mock would take a tag that it does not know for another version.
                try await file.open(requests: 2)
                #expect(file.requests[0].ifRange == nil)
                #expect(file.requests[1].ifRange == expected)
            }
        }
    }
}

/// A clock that does something when somebody waits on it, once.
final class HookedClock: WaitingClock {
    private let clock = TestClock()
    private let hook = Locked<(@Sendable () -> Void)?>(nil)

    func onWait(_ body: @escaping @Sendable () -> Void) { hook.withLock { $0 = body } }

    var now: Int64 { clock.now }
    var instant: Duration { clock.instant }

    func wait(_ duration: Duration) async throws {
        let body = hook.withLock { hook -> (@Sendable () -> Void)? in
            defer { hook = nil }
            return hook
        }
        body?()
        try await clock.wait(duration)
    }

    func jitter(_ policy: Backoff, after attempt: Int) -> Duration {
        clock.jitter(policy, after: attempt)
    }
}
