extension Call {
    /// `POST /v1/manifest`: entries and the head that counts them, all or nothing.
    func push() throws(Refusal) -> Answer {
        let account = try account()
        let push = try Push(body(), account: account.accountId)
        try account.take(push, from: member)
        return .json(["seq": .string(String(push.head.seq))])
    }
}
