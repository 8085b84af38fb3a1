extension ServedAccount {
    /// Takes a push: all of it, or nothing.
    ///
    /// Compare-and-swap on the head; the very same push again changes nothing. On a fork it goes to
    /// the truth that this device is shown.
    ///
    /// - Throws: `head-moved`, `bad-push`, or `store-full`.
    func take(_ push: Push, from member: SessionBook.Member?) throws(Refusal) {
        try change { state throws(Refusal) in
            let isMine = { (branch: Lies.Branch) in branch.audience.includes(member) }
            if let branch = state.lies.branches.lastIndex(where: isMine) {
                guard try state.lies.branches[branch].manifest.judge(push) else { return }
                try ServedAccount.apply(push, push.lines, &state.lies.branches[branch].manifest)
                return
            }
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
