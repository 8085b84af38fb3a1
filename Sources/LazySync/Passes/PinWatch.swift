internal import SyncPlatform

/// Adds up how far several pinned files are, which come at the same time.
final class PinWatch: Sendable {
    private let progress: @Sendable (PinProgress) -> Void
    private let state: Locked<State>

    private struct State: Sendable {
        var sum: PinProgress
        /// What is there of each file under way.
        var files: [AttachmentKey: Int64] = [:]
    }

    init(_ total: (files: Int, bytes: Int64), _ progress: @escaping @Sendable (PinProgress) -> Void)
    {
        self.progress = progress
        state = Locked(
            State(
                sum: PinProgress(
                    done: 0, fetched: 0, total: total.files, bytes: 0, totalBytes: total.bytes)))
    }

    /// Looks at one file's bytes while they come.
    func watcher(_ key: AttachmentKey) -> Watchers.Watcher {
        { [self] file, chunks in
            let bytes = file.geometry.plainBytes(of: chunks)
            tell { state in
                // What was there at first did not come now, nor does what is dropped.
                state.sum.bytes += max(bytes - (state.files[key] ?? bytes), 0)
                state.files[key] = bytes
            }
        }
    }

    /// Notes that a file came or was given up.
    func tried(_ key: AttachmentKey, came: Bool) {
        tell { state in
            state.files[key] = nil
            state.sum.done += 1
            if came { state.sum.fetched += 1 }
            // What was pinned meanwhile comes, too.
            state.sum.total = max(state.sum.total, state.sum.done)
        }
    }

    private func tell(_ change: (inout State) -> Void) {
        progress(
            state.withLock { state in
                change(&state)
                return state.sum
            })
    }
}
