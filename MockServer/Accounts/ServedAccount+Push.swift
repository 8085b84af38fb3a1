extension ServedAccount {
    /// Takes a push: all of it, or nothing.
    ///
    /// Compare-and-swap on the head; the very same push again changes nothing.
    ///
    /// - Throws: `head-moved`, `bad-push`, or `store-full`.
    func take(_ push: Push) throws(Refusal) {
        try change { state throws(Refusal) in
            guard try state.truth.judge(push) else { return }
            let lines = push.lines
            try refusing { () throws(StoreFailure) in try overlay.keep(push.head, lines: lines) }
            try ServedAccount.apply(push, lines, &state.truth)
        }
    }

    private static func apply(
        _ push: Push, _ lines: [UInt8], _ manifest: inout Manifest
    ) throws(Refusal) {
        do { try manifest.apply(LineBuffer(lines), head: push.head.text) } catch {
            throw Refusal(500, "store-failed", error.description)
        }
    }
}
