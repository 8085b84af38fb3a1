import Glibc

/// An upload in a file; its bytes are there after a kill.
final class FileSpace: UploadSpace {
    private struct State: Sendable {
        /// Open from the first byte of a request until the bytes settle.
        var file: Int32?
        var count: UInt64
    }

    let path: String
    private let disk: Disk
    private let state: Guarded<State>

    /// Room for an upload that has not begun, or that stands where `count` says.
    init(_ path: String, _ disk: Disk, count: UInt64 = 0) {
        self.path = path
        self.disk = disk
        state = Guarded(State(count: count))
    }

    deinit {
        if let file = state.with({ $0.file }) { close(file) }
    }

    var count: UInt64 { state.with { $0.count } }

    func append(_ piece: UnsafeRawBufferPointer) throws(StoreFailure) {
        try state.with { state throws(StoreFailure) in
            try disk.append(piece, to: try opened(&state), at: state.count)
            state.count += UInt64(piece.count)
        }
    }

    func settle() throws(StoreFailure) {
        try state.with { state throws(StoreFailure) in
            let file = try opened(&state)
            state.file = nil
            defer { close(file) }
            try disk.sync(file)
        }
    }

    func discard() {
        state.with { state in
            if let file = state.file { close(file) }
            state = State(count: 0)
        }
        // What cannot be removed now is removed at the next start.
        try? disk.remove(path)
    }

    private func opened(_ state: inout State) throws(StoreFailure) -> Int32 {
        if let file = state.file { return file }
        let file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw StoreFailure(number: errno) }
        state.file = file
        return file
    }
}
