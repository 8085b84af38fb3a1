import SyncPlatform
import Testing

@testable import LazySync
@testable import TestSupport

/// What is tried again by itself, and when; STATES as a table.
@Suite struct RetryPlanTests {
    private let random = SeededRandom(seed: 3)

    private func blob(
        _ reason: UnavailableReason? = nil, _ code: String? = nil, next: Int64? = nil
    ) -> RetryPlan.Failed {
        RetryPlan.Failed(
            key: AttachmentKey(item: EntryID(random: random), id: AttachmentID(random: random)),
            reason: reason, code: code, next: next)
    }

    private func world(
        _ conditions: [UnavailableReason: Int64?] = [:], hasKey: Bool = true, hasRoom: Bool = true
    ) -> RetryPlan.World {
        RetryPlan.World(now: 1_000, conditions: conditions, hasKey: hasKey, hasRoom: hasRoom)
    }

    @Test func `what nothing keeps back any more is due at once`() {
        let blobs = [blob(next: 5_000), blob()]
        let plan = RetryPlan(blobs, world())
        #expect(plan.due == blobs.map(\.key) && plan.next == nil)
        #expect(RetryPlan([], world([.offline: 1_010])) == RetryPlan())
    }

    @Test(arguments: [UnavailableReason.offline, .throttled])
    func `without a connection or by a host's word, one is tried at the time`(
        reason: UnavailableReason
    ) {
        let blobs = [blob(.serverError, next: 0), blob(), blob()]
        let early = RetryPlan(blobs, world([reason: 1_010]))
        #expect(early.due.isEmpty && early.next == 1_010)
        // Not the one that could fail by itself.
        #expect(RetryPlan(blobs, world([reason: 1_000])).due == [blobs[1].key])
        #expect(RetryPlan(blobs, world([reason: nil])).due == [blobs[1].key])
        #expect(RetryPlan([blobs[0]], world([reason: 1_000])).due == [blobs[0].key])
    }

    @Test func `the later of two times counts`() {
        let plan = RetryPlan([blob()], world([.offline: 900, .throttled: 1_100]))
        #expect(plan.due.isEmpty && plan.next == 1_100)
    }

    @Test func `a key store that opens and a disk with room let one go on`() {
        let blobs = [blob(), blob()]
        for reason in [UnavailableReason.keyMissing, .diskFull] {
            let shut = world([reason: nil], hasKey: false, hasRoom: false)
            #expect(RetryPlan(blobs, shut) == RetryPlan())
            #expect(RetryPlan(blobs, world([reason: nil])).due == [blobs[0].key])
        }
        #expect(RetryPlan(blobs, world([.keyMissing: nil], hasRoom: false)).due.count == 1)
        #expect(RetryPlan(blobs, world([.diskFull: nil], hasKey: false)).due.count == 1)
    }

    @Test func `after the session's end nothing is due until a login`() {
        let plan = RetryPlan([blob(), blob(.serverError)], world([.signedOut: nil, .offline: 0]))
        #expect(plan == RetryPlan())
    }

    @Test func `a server's error is due at its own time`() {
        let blobs = [
            blob(.serverError, next: 1_020), blob(.serverError, next: 1_000), blob(.serverError),
            blob(.serverError, next: 1_010),
        ]
        let plan = RetryPlan(blobs, world())
        #expect(plan.due == [blobs[1].key, blobs[2].key] && plan.next == 1_010)
    }

    @Test func `what only a person can decide is never due`() {
        let never: [UnavailableReason] = [
            .corrupt, .notFound, .wrongSize, .notEntitled, .tooLarge, .addressMissing,
            .addressInvalid,
        ]
        let blobs = never.map { blob($0, next: 0) } + [blob(.serverError, "certificate", next: 0)]
        #expect(RetryPlan(blobs, world()) == RetryPlan())
        #expect(RetryPlan(blobs, world([.offline: 0])) == RetryPlan())
    }

    // MARK: The times

    @Test func `nothing is scheduled unless somebody keeps trying`() {
        let schedule = RetrySchedule(policy: Backoff(), clock: TestClock())
        #expect(schedule.next(after: .offline, Evidence(), of: "a") == nil)
        schedule.begin()
        #expect(schedule.next(after: .offline, Evidence(), of: "a") != nil)
        schedule.end()
        #expect(schedule.next(after: .offline, Evidence(), of: "a") == nil)
    }

    @Test func `the waits grow to their ceiling, and begin anew with what comes`() {
        let clock = TestClock()
        let schedule = RetrySchedule(policy: Backoff(), clock: clock)
        schedule.begin()
        var waits: [Int64] = []
        for _ in 0..<10 {
            let next = known(schedule.next(after: .offline, Evidence(), of: "a")).seconds
            // Another one that fails in the same round changes nothing.
            #expect(schedule.next(after: .offline, Evidence(), of: "b")?.seconds == next)
            waits.append(next - clock.now)
            clock.advance(by: next - clock.now)
        }
        #expect(waits == [1, 1, 1, 2, 4, 8, 16, 30, 30, 30])
        schedule.came("b")
        let next = known(schedule.next(after: .offline, Evidence(), of: "a"))
        #expect(next.seconds == clock.now + 1)
    }

    @Test func `only what can pass by itself gets a time`() {
        let schedule = RetrySchedule(policy: Backoff(), clock: TestClock())
        schedule.begin()
        let timed = UnavailableReason.allCases.filter {
            schedule.next(after: $0, Evidence(), of: "a") != nil
        }
        #expect(Set(timed) == [.offline, .throttled, .serverError])
        let certificate = Evidence(code: "certificate")
        #expect(schedule.next(after: .serverError, certificate, of: "a") == nil)
    }
}
