/// Lets so many in at a time, those who came first before the others.
///
/// All tests of a process begin at once and share its few threads: without this, each would wait for
/// all, and what a test waits for would come too late.
actor Turnstile {
    /// For tests with a device and a server.
    static let homes = Turnstile(8)

    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []

    init(_ count: Int) {
        free = count
    }

    /// Runs `body` when there is room.
    nonisolated func pass<Result>(_ body: () async throws -> Result) async throws -> Result {
        await enter()
        do {
            let result = try await body()
            await leave()
            return result
        } catch {
            await leave()
            throw error
        }
    }

    private func enter() async {
        if free > 0 {
            free -= 1
        } else {
            await withCheckedContinuation { waiting.append($0) }
        }
    }

    private func leave() {
        if waiting.isEmpty {
            free += 1
        } else {
            waiting.removeFirst().resume()
        }
    }
}
