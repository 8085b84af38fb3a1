import SyncPlatform
import Testing

@testable import LazySync
@testable import TestSupport

/// How often somebody who keeps trying looks at all that failed.
@Suite(.timeLimit(.minutes(5))) struct RetryRoundTests {
    private struct World {
        var left: [AttachmentKey]
        var plans = 0
        var opened = 0
    }

    private static func keys(_ count: Int) -> [AttachmentKey] {
        let random = SeededRandom(seed: 5)
        return (0..<count).map { _ in
            AttachmentKey(item: EntryID(random: random), id: AttachmentID(random: random))
        }
    }

    private static func plan(_ due: some Collection<AttachmentKey>) -> RetryPlan {
        var plan = RetryPlan()
        plan.due = Array(due)
        return plan
    }

    @Test(arguments: [100, 10_000])
    func `what is due is worked off before the next look`(count: Int) async {
        let world = Locked(World(left: Self.keys(count)))
        await KeepTrying(
            clock: HeldClock(),
            plan: {
                world.withLock { world in
                    world.plans += 1
                    return world.left.isEmpty ? nil : Self.plan(world.left.suffix(1_000))
                }
            },
            open: { key in
                world.withLock { world in
                    world.opened += 1
                    if let index = world.left.lastIndex(of: key) { world.left.remove(at: index) }
                }
                return .own
            }
        ).run()
        #expect(world.withLock { $0.opened } == count)
        #expect(world.withLock { $0.plans } == (count + 999) / 1_000 + 1)
    }

    @Test func `a failure for what is shared stops the rest until there is a new plan`()
        async throws
    {
        let world = Locked(World(left: Self.keys(100)))
        let clock = HeldClock()
        let start = clock.now
        let keeper = Task {
            await KeepTrying(
                clock: clock,
                plan: {
                    world.withLock { world -> RetryPlan? in
                        world.plans += 1
                        if clock.now > start { return nil }
                        // From the second look on the condition is known, and nothing is due.
                        return world.plans == 1 ? Self.plan(world.left) : RetryPlan()
                    }
                },
                open: { _ in
                    world.withLock { $0.opened += 1 }
                    return .shared
                }
            ).run()
        }
        try await until { world.withLock { $0.plans } == 9 }
        try await clock.waitFor { $0.count == 1 }
        clock.advance(by: .seconds(KeepTrying.interval))
        await keeper.value
        #expect(world.withLock { $0.opened } == 8, "those that were under way")
    }

    @Test func `one after the other is tried against what is shared, and then there is a rest`()
        async throws
    {
        let world = Locked(World(left: Self.keys(1_000)))
        let clock = HeldClock()
        let start = clock.now
        let keeper = Task {
            await KeepTrying(
                clock: clock,
                plan: {
                    world.withLock { world -> RetryPlan? in
                        world.plans += 1
                        return clock.now > start ? nil : Self.plan([world.left.removeLast()])
                    }
                },
                open: { _ in
                    world.withLock { $0.opened += 1 }
                    return .shared
                }
            ).run()
        }
        try await until { world.withLock { $0.opened } == 9 }
        try await clock.waitFor { $0.count == 1 }
        clock.advance(by: .seconds(KeepTrying.interval))
        await keeper.value
        #expect(world.withLock { $0.opened } == 9 && world.withLock { $0.plans } == 10)
    }
}
