extension Control {
    /// `POST /_mock/lies`: `{"account":"demo","lie":"rolledBack","seq":"3","device":"phone"}`.
    ///
    /// `device`, or `session` with a number, says to whom; without either it is everyone.
    static func lie(_ incoming: Incoming, _ service: Service) throws(SetupError) {
        let tree: JSONTree
        do { tree = try JSONTree(parsing: incoming.body) } catch {
            throw SetupError("the lie is not JSON: \(error)")
        }
        let account = try account(tree["account"], service)
        try account.tell(try lie(tree, service), to: try audience(tree))
    }

    /// `DELETE /_mock/lies`: the truth again, at all accounts.
    static func tellTheTruth(_ service: Service) {
        for account in service.accounts { account.tellTheTruth() }
    }

    private static func lie(_ tree: JSONTree, _ service: Service) throws(SetupError) -> Lie {
        switch tree["lie"]?.string {
        case "oldHead": return .oldHead(try seq(tree))
        case "rolledBack": return .rolledBack(try seq(tree))
        case "withheld":
            let ids = tree["ids"]?.array?.compactMap { $0.string.flatMap { EntryID($0) } }
            guard let ids, !ids.isEmpty else { throw SetupError("withheld needs ids") }
            return .withheld(Set(ids))
        case "foreign":
            let other = try account(tree["from"], service)
            guard let entry = other.read({ $0.truth.entries.firstEntry }) else {
                throw SetupError("\(other.name) has no entry to lend")
            }
            return .foreign(entry)
        case "allRemoved": return .allRemoved
        case "noEntries": return .noEntries
        case "neverUsed": return .neverUsed
        case "noBlobs": return .noBlobs
        case "fork": return .fork
        default: throw SetupError("there is no such lie")
        }
    }

    private static func seq(_ tree: JSONTree) throws(SetupError) -> UInt64 {
        guard let seq = tree["seq"]?.string.flatMap({ Decimal64.parse($0) }) else {
            throw SetupError("this lie needs a seq")
        }
        return seq
    }

    private static func audience(_ tree: JSONTree) throws(SetupError) -> Audience {
        if let device = tree["device"]?.string { return .device(device) }
        if let session = tree["session"]?.int { return .session(session) }
        return .everyone
    }

    private static func account(
        _ name: JSONTree?, _ service: Service
    ) throws(SetupError) -> ServedAccount {
        guard let account = service.accounts.first(where: { $0.name == name?.string }) else {
            throw SetupError("there is no account \(name?.text ?? "without a name")")
        }
        return account
    }
}

extension EntryLog {
    /// The first entry, for another account to be shown.
    var firstEntry: AccountSeed.Entry? {
        guard let slot = slots.first(where: \.isNewest),
            let tree = try? JSONTree(parsing: line(slot)), let sealed = tree["sealed"]?.string
        else { return nil }
        return .init(
            id: slot.id.hex, version: slot.version, kind: tree["kind"]?.int ?? 0,
            epoch: tree["epoch"]?.int ?? 1, seq: slot.seq, sealed: sealed)
    }
}
