import Glibc

/// The folder of `--data`: a folder for each account, by its id.
///
/// `ID/account.json` has the keys, if they are not those of the account folder; `ID/pushes/SEQ` a
/// head and the entries that came with it; `ID/blobs/NAME` what was uploaded; `ID/deleted/NAME`
/// that a name is taken for ever; `ID/uploads/NAME.LENGTH` what is not whole yet.
final class DataFolder: Sendable {
    let path: String
    let disk: Disk
    private let lock: Int32

    /// Opens the folder, or makes it.
    ///
    /// - Throws: when it cannot be written, or another server has it for longer than `patience`.
    init(_ path: String, disk: Disk = Disk(), patience: Double = 2) throws(SetupError) {
        self.path = path
        self.disk = disk
        let lock: Int32
        do throws(StoreFailure) { try disk.makeFolder(path) } catch {
            throw SetupError("cannot make \(path): \(String(cString: strerror(error.number)))")
        }
        lock = open(path + "/lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard lock >= 0 else { throw SetupError("cannot write in \(path)") }
        // A server that was killed a moment ago may still be dying, and a child that is just being
        // born has all that its parent has open.
        let end = Parking.now + patience
        while flock(lock, LOCK_EX | LOCK_NB) != 0 {
            guard Parking.now < end else {
                close(lock)
                throw SetupError("another server has \(path)")
            }
            usleep(10_000)
        }
        self.lock = lock
    }

    deinit { close(lock) }

    // MARK: Sessions

    /// Who is logged in, so that a server that was killed signs nobody out.
    func sessions() throws(SetupError) -> SessionBook {
        try AccountFolder.description(path + "/sessions.json").map { SessionBook($0) } ?? .init()
    }

    /// Keeps who is logged in; the worst that a failure does is a login more.
    func keep(_ sessions: SessionBook, now: Double) {
        // No step of ``disk``: what clients change is counted there.
        try? Disk(syncs: false).write(
            Array(sessions.tree(now: now).text.utf8), to: path + "/sessions.json")
    }

    // MARK: Accounts

    /// Where what changes in an account is kept.
    func overlay(_ accountId: String, isCreatedHere: Bool = false) -> DataOverlay {
        DataOverlay(self, accountId, isCreatedHere: isCreatedHere)
    }

    /// The accounts that were created here.
    func accounts() throws(SetupError) -> [ServedAccount] {
        var accounts: [ServedAccount] = []
        let names: [String]
        do throws(StoreFailure) { names = try disk.names(in: path) } catch {
            throw SetupError("cannot read \(path)")
        }
        for name in names.sorted() where EntryID(name) != nil {
            let file = "\(path)/\(name)/account.json"
            guard let tree = try AccountFolder.description(file), tree["createdHere"] == true else {
                continue
            }
            guard let seed = AccountFolder.seed(tree) else {
                throw SetupError("\(file) does not describe an account")
            }
            let overlay = overlay(name, isCreatedHere: true)
            let account = ServedAccount(
                seed, entries: .empty, blobs: BlobStore(), overlay: overlay)
            try overlay.restore(account)
            accounts.append(account)
        }
        return accounts
    }

    /// Keeps a new account.
    func create(_ seed: AccountSeed) throws(StoreFailure) -> DataOverlay {
        let overlay = overlay(seed.accountId, isCreatedHere: true)
        try overlay.makeFolders()
        // The account is there once this file is.
        try overlay.keep(KeyRing(seed), name: seed.name)
        return overlay
    }
}
