import Testing

@testable import LazySync
@testable import SyncCLI

private func bytes(_ done: Int64, of total: Int64?) -> ProgressSample {
    ProgressSample(label: "receiving", unit: .bytes, done: done, total: total, bytes: done)
}

@Suite struct ProgressMeterTests {
    @Test func `the first sample has no rate yet`() {
        var meter = ProgressMeter()
        #expect(
            meter.line(for: bytes(1024, of: 4096), at: .zero, columns: 80)
                == "receiving  [###---------]   25%  1.0 KiB of 4.0 KiB")
    }

    @Test func `what came since gives the rate and the time left`() {
        var meter = ProgressMeter()
        _ = meter.line(for: bytes(1024, of: 4096), at: .zero, columns: 80)
        #expect(
            meter.line(for: bytes(2048, of: 4096), at: .seconds(1), columns: 80)
                == "receiving  [######------]   50%  2.0 KiB of 4.0 KiB  1.0 KiB/s  0:02 left")
    }

    @Test func `without a total there is no bar`() {
        var meter = ProgressMeter()
        #expect(meter.line(for: bytes(10, of: nil), at: .zero, columns: 80) == "receiving  10 B")
    }

    @Test func `another phase starts its own rate`() {
        var meter = ProgressMeter()
        _ = meter.line(for: bytes(0, of: 10), at: .zero, columns: 80)
        _ = meter.line(for: bytes(5, of: 10), at: .seconds(1), columns: 80)
        let next = ProgressSample(label: "thumbnails", unit: .entries, done: 3, total: 6, bytes: 5)
        #expect(
            meter.line(for: next, at: .seconds(2), columns: 80)
                == "thumbnails  [######------]   50%  3 of 6")
    }

    @Test func `what counts no bytes has no rate of them`() {
        var meter = ProgressMeter()
        func pinned(_ done: Int64, bytes: Int64) -> ProgressSample {
            ProgressSample(
                label: "pinned", unit: .entries, done: done, total: 12, bytes: bytes,
                totalBytes: 6144)
        }
        _ = meter.line(for: pinned(0, bytes: 0), at: .zero, columns: 80)
        #expect(
            meter.line(for: pinned(3, bytes: 0), at: .seconds(1), columns: 80)
                == "pinned  [###---------]   25%  3 of 12")
        // The time that is left follows from the bytes: a large file is as one of many.
        #expect(
            meter.line(for: pinned(3, bytes: 2048), at: .seconds(2), columns: 80)
                == "pinned  [###---------]   25%  3 of 12  204 B/s  0:20 left")
    }

    @Test(
        arguments: [
            (.throttled, .seconds(20), "the server asks to wait, 20 s"),
            (.offline, .milliseconds(1_200), "offline: trying again in 2 s"),
            (.serverError, .milliseconds(900), nil),
        ] as [(UnavailableReason, Duration, String?)])
    func `a wait that is long enough to be noticed is said`(
        reason: UnavailableReason, duration: Duration, text: String?
    ) {
        #expect(TransferWait(reason: reason, duration: duration).text == text)
    }

    @Test func `many who wait for the same say it once`() {
        let sign = WaitSign()
        let end = ContinuousClock.now + .seconds(20)
        #expect(sign.isNew(until: end))
        #expect(!sign.isNew(until: end + .milliseconds(100)))
        #expect(sign.isNew(until: end + .seconds(5)))
    }

    @Test func `standing still, going back and too much are no crash`() {
        var meter = ProgressMeter()
        _ = meter.line(for: bytes(5, of: 10), at: .zero, columns: 80)
        #expect(!meter.line(for: bytes(5, of: 10), at: .seconds(1), columns: 80).contains("left"))
        _ = meter.line(for: bytes(3, of: 10), at: .seconds(1), columns: 80)
        _ = meter.line(for: bytes(-1, of: 10), at: .seconds(1), columns: 80)
        _ = meter.line(for: bytes(.max, of: 10), at: .seconds(1) + .nanoseconds(1), columns: 80)
        _ = meter.line(for: bytes(12, of: 10), at: .seconds(2), columns: 80)
        #expect(meter.line(for: bytes(0, of: 0), at: .seconds(3), columns: 80).contains("100%"))
    }

    @Test(arguments: 0...40)
    func `a line fits the terminal`(columns: Int) {
        var meter = ProgressMeter()
        _ = meter.line(for: bytes(1, of: 4096), at: .zero, columns: columns)
        #expect(
            meter.line(for: bytes(99, of: 4096), at: .seconds(1), columns: columns).width <= columns
        )
    }
}
