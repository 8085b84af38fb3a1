/// The accounts that a server has; clients add to them.
final class AccountRegistry: Sendable {
    private struct State: Sendable {
        var accounts: [ServedAccount] = []
        var onChange: @Sendable () -> Void = {}
    }

    private let data: DataFolder?
    private let state: Guarded<State>

    /// Those that are served from the start; what is created goes to `data`, or stays in memory.
    ///
    /// - Throws: when two of them have the same name or id.
    init(_ accounts: [ServedAccount], data: DataFolder?) throws(SetupError) {
        self.data = data
        state = Guarded(State(accounts: accounts))
        for account in accounts {
            let twins = accounts.filter {
                $0.name == account.name || $0.accountId == account.accountId
            }
            guard twins.count == 1 else {
                throw SetupError("two accounts with the name or id of \(account.name)")
            }
        }
    }

    /// All accounts.
    var all: [ServedAccount] { state.with { $0.accounts } }

    /// Has `body` called when an account changes.
    func observe(_ body: @escaping @Sendable () -> Void) {
        let accounts = state.with { state in
            state.onChange = body
            return state.accounts
        }
        for account in accounts { account.observe(body) }
    }

    /// Adds an account.
    ///
    /// - Throws: `name-taken` for a name or an id that exists.
    func create(_ seed: AccountSeed) throws(Refusal) {
        try state.with { state throws(Refusal) in
            let isTaken = state.accounts.contains {
                $0.name == seed.name || $0.accountId == seed.accountId
            }
            guard !isTaken else {
                throw Refusal(409, "name-taken", "There is an account of that name or id")
            }
            let overlay: any Overlay
            if let data {
                overlay = try refusing { () throws(StoreFailure) in try data.create(seed) }
            } else {
                overlay = MemoryOverlay()
            }
            let account = ServedAccount(
                seed, entries: .empty, blobs: BlobStore(), overlay: overlay)
            account.observe(state.onChange)
            state.accounts.append(account)
        }
    }
}
