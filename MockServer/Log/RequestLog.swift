import Foundation

/// Every request since the server was made, in the order in which they came.
final class RequestLog: Sendable {
    private struct State: Sendable {
        var entries: [LogEntry] = []
        var next = 1
    }

    private let log = Watched(State())
    private let file: Guarded<FileHandle>?

    /// - Throws: when `file` cannot be written.
    init(file path: String?) throws(SetupError) {
        guard let path else {
            file = nil
            return
        }
        guard FileManager.default.createFile(atPath: path, contents: nil),
            let handle = FileHandle(forWritingAtPath: path)
        else { throw SetupError("cannot write \(path)") }
        file = Guarded(handle)
    }

    /// All requests so far.
    var entries: [LogEntry] { log.value.entries }

    /// How many requests are as wanted.
    func count(where isWanted: (LogEntry) -> Bool) -> Int {
        entries.count(where: isWanted)
    }

    /// Waits until the log is as wanted.
    ///
    /// - Throws: `Watched.TimedOut` when it does not come to that in time.
    func waitFor(
        timeout: Duration = .seconds(30), _ condition: @escaping @Sendable ([LogEntry]) -> Bool
    ) async throws {
        try await log.wait(timeout: timeout) { condition($0.entries) }
    }

    /// Waits until so many requests are as wanted.
    func waitFor(
        count: Int = 1, timeout: Duration = .seconds(30),
        where isWanted: @escaping @Sendable (LogEntry) -> Bool
    ) async throws {
        try await log.wait(timeout: timeout) { $0.entries.count(where: isWanted) >= count }
    }

    /// Waits until no request is open: a client can have its answer before the log has its end.
    func settled(timeout: Duration = .seconds(30)) async throws {
        try await log.wait(timeout: timeout) { state in
            state.entries.allSatisfy { $0.ending != .open }
        }
    }

    /// Forgets all requests that have ended.
    func clear() {
        log.change { state in state.entries.removeAll { $0.ending != .open } }
    }

    /// Adds a request that came, and returns its number.
    func begin(_ entry: LogEntry) -> Int {
        log.change { state in
            var entry = entry
            entry.number = state.next
            state.next += 1
            state.entries.append(entry)
            return entry.number
        }
    }

    /// Changes the entry of that number.
    func update(_ number: Int, _ body: (inout LogEntry) -> Void) {
        let ended = log.change { state -> LogEntry? in
            // Open requests are few and new: the place is near the end.
            guard let index = state.entries.lastIndex(where: { $0.number == number }) else {
                return nil
            }
            body(&state.entries[index])
            return state.entries[index].ending == .open ? nil : state.entries[index]
        }
        guard let ended, let file else { return }
        file.with { handle in
            try? handle.write(contentsOf: Data((ended.tree.text + "\n").utf8))
        }
    }
}
