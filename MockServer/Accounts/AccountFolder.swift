import Foundation

/// Reads an account folder: `account.json`, `entries.jsonl` and `blobs/NAME`.
enum AccountFolder {
    /// Opens the folder for serving; its entries stay on disk, and what changes goes to `data`.
    static func open(_ folder: URL, data: DataFolder? = nil) throws(SetupError) -> ServedAccount {
        let file = folder.appendingPathComponent("account.json").path
        guard let tree = try description(file) else {
            throw SetupError("no account folder: cannot read \(file)")
        }
        guard let seed = seed(tree) else {
            throw SetupError("\(file) does not describe an account")
        }
        let lines = folder.appendingPathComponent("entries.jsonl").path
        let entries =
            FileManager.default.fileExists(atPath: lines)
            ? try EntryLog(LineBuffer(path: lines)) : try EntryLog()
        let overlay = data?.overlay(seed.accountId)
        let account = ServedAccount(
            seed, entries: entries,
            blobs: BlobStore(folder: folder.appendingPathComponent("blobs").path),
            overlay: overlay ?? MemoryOverlay())
        try overlay?.restore(account)
        return account
    }

    /// What `account.json` says; nil when there is none.
    static func description(_ file: String) throws(SetupError) -> JSONTree? {
        guard let data = FileManager.default.contents(atPath: file) else { return nil }
        do { return try JSONTree(parsing: [UInt8](data)) } catch {
            throw SetupError("\(file): \(error)")
        }
    }

    /// The account that is described; nil when none is.
    static func seed(_ tree: JSONTree) -> AccountSeed? {
        guard let name = tree["name"]?.string, let accountId = tree["accountId"]?.string,
            EntryID(accountId) != nil, let epoch = tree["epoch"]?.int,
            let kdf = tree["kdf"], let ops = kdf["ops"]?.int, let function = kdf["kdf"]?.string,
            let mem = kdf["mem"]?.string.flatMap({ Decimal64.parse($0) }),
            let salt = kdf["salt"]?.string,
            let passphrase = credential(tree, "authKeyHash", "keyRecord")
        else { return nil }
        let head = tree["head"]?.string
        return AccountSeed(
            name: name, accountId: accountId, epoch: epoch,
            kdf: .init(kdf: function, ops: ops, mem: mem, salt: salt),
            passphrase: passphrase,
            recovery: credential(tree, "recoveryAuthKeyHash", "recoveryRecord"),
            head: head == "" ? nil : head)
    }

    private static func credential(
        _ tree: JSONTree, _ hash: String, _ record: String
    ) -> AccountSeed.Credential? {
        guard let hash = tree[hash]?.string, let record = tree[record]?.string else { return nil }
        return .init(authKeyHash: hash, record: record)
    }
}
