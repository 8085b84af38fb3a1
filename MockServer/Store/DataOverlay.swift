import Foundation

/// What changed in an account, in a folder of `--data`.
final class DataOverlay: Overlay {
    /// Whose lock this shares.
    private let data: DataFolder
    private let accountId: String
    private let folder: String
    private let disk: Disk
    private let isCreatedHere: Bool
    private let nextSpace = Guarded(0)
    private let name = Guarded("")

    init(_ data: DataFolder, _ accountId: String, isCreatedHere: Bool) {
        self.data = data
        self.accountId = accountId
        folder = "\(data.path)/\(accountId)"
        disk = data.disk
        self.isCreatedHere = isCreatedHere
    }

    /// Makes the folders that are missing.
    func makeFolders() throws(StoreFailure) {
        for path in ["", "/pushes", "/blobs", "/deleted", "/uploads"] {
            try disk.makeFolder(folder + path)
        }
    }

    // MARK: Keeping

    /// Keeps the keys of an account of that name.
    func keep(_ keys: KeyRing, name: String) throws(StoreFailure) {
        self.name.with { $0 = name }
        try keep(keys)
    }

    func keep(_ keys: KeyRing) throws(StoreFailure) {
        let tree = keys.tree(
            name: name.with { $0 }, accountId: accountId, isCreatedHere)
        try disk.write(Array((tree.text + "\n").utf8), to: folder + "/account.json")
    }

    func keep(_ head: HeadFacts, lines: [UInt8]) throws(StoreFailure) {
        let digits = String(head.seq)
        let name = String(repeating: "0", count: 20 - digits.utf8.count) + digits
        try disk.write(Array((head.text + "\n").utf8) + lines, to: "\(folder)/pushes/\(name)")
    }

    func makeSpace(_ name: String, length: UInt64, resumable: Bool) -> any UploadSpace {
        if resumable { return FileSpace("\(folder)/uploads/\(name).\(length)", disk) }
        let number = nextSpace.with { next in
            next += 1
            return next
        }
        return FileSpace("\(folder)/uploads/\(number)\(Disk.unfinished)", disk)
    }

    func publish(
        _ space: any UploadSpace, as name: String
    ) throws(StoreFailure) -> BlobStore.Stored {
        guard let space = space as? FileSpace else { throw StoreFailure(number: EINVAL) }
        let path = "\(folder)/blobs/\(name)"
        try disk.rename(space.path, to: path)
        return .file(path)
    }

    func delete(_ name: String) throws(StoreFailure) {
        try disk.write([], to: "\(folder)/deleted/\(name)")
        try disk.remove("\(folder)/blobs/\(name)")
    }

    // MARK: Restoring

    /// Puts an account into the state that was kept.
    func restore(_ account: ServedAccount) throws(SetupError) {
        name.with { $0 = account.name }
        do throws(StoreFailure) {
            try makeFolders()
            try dropUnfinished()
        } catch { throw SetupError("cannot write in \(folder)") }
        if let tree = try AccountFolder.description(folder + "/account.json") {
            guard let keys = KeyRing(tree) else {
                throw SetupError("\(folder)/account.json has no keys")
            }
            account.change { $0.keys = keys }
        }
        try restorePushes(account)
        try restoreBlobs(account)
    }

    private func dropUnfinished() throws(StoreFailure) {
        for path in ["", "/pushes", "/deleted", "/uploads"] {
            for name in try disk.names(in: folder + path) where name.hasSuffix(Disk.unfinished) {
                try disk.remove("\(folder)\(path)/\(name)")
            }
        }
    }

    private func restorePushes(_ account: ServedAccount) throws(SetupError) {
        for name in try names("pushes").sorted() {
            let path = "\(folder)/pushes/\(name)"
            guard let data = FileManager.default.contents(atPath: path) else {
                throw SetupError("cannot read \(path)")
            }
            let parts = [UInt8](data).split(
                separator: 0x0A, maxSplits: 1, omittingEmptySubsequences: false)
            let head = HeadFacts(String(decoding: parts[0], as: UTF8.self))
            guard parts.count == 2, let head, UInt64(name) == head.seq else {
                throw SetupError("\(path) is not a push")
            }
            try account.change { state throws(SetupError) in
                guard head.seq == state.truth.headSeq + 1 else {
                    throw SetupError("\(path) does not follow the account's head")
                }
                try state.truth.apply(LineBuffer(Array(parts[1])), head: head.text)
            }
        }
    }

    private func restoreBlobs(_ account: ServedAccount) throws(SetupError) {
        let (blobs, deleted) = (try names("blobs"), try names("deleted"))
        account.change { state in
            for name in blobs where BlobStore.isName(name) {
                state.blobs.put(name, .file("\(folder)/blobs/\(name)"))
            }
            for name in deleted where BlobStore.isName(name) { state.blobs.delete(name) }
        }
        for name in deleted {
            // Killed between the two steps of a deletion.
            if blobs.contains(name) { try? disk.remove("\(folder)/blobs/\(name)") }
        }
        for name in try names("uploads") {
            let parts = name.split(separator: ".")
            let path = "\(folder)/uploads/\(name)"
            guard parts.count == 2, let length = Decimal64.parse(String(parts[1])),
                BlobStore.isName(String(parts[0])), let file = FileBytes(path: path),
                file.count <= length
            else { throw SetupError("\(path) is not an upload") }
            account.uploads.restore(
                String(parts[0]), length: length, FileSpace(path, disk, count: file.count),
                touched: file.modified)
        }
    }

    private func names(_ part: String) throws(SetupError) -> [String] {
        do throws(StoreFailure) { return try disk.names(in: "\(folder)/\(part)") } catch {
            throw SetupError("cannot read \(folder)/\(part)")
        }
    }
}

extension KeyRing {
    /// The keys as `account.json` has them.
    fileprivate func tree(name: String, accountId: String, _ isCreatedHere: Bool) -> JSONTree {
        [
            "createdHere": .bool(isCreatedHere), "name": .string(name),
            "accountId": .string(accountId), "epoch": JSONTree(epoch),
            "kdf": [
                "kdf": .string(kdf.kdf), "ops": JSONTree(kdf.ops),
                "mem": .string(String(kdf.mem)), "salt": .string(kdf.salt),
            ],
            "authKeyHash": JSONTree(credentials["passphrase"]?.authKeyHash),
            "keyRecord": JSONTree(credentials["passphrase"]?.record),
            "recoveryAuthKeyHash": JSONTree(credentials["recovery"]?.authKeyHash),
            "recoveryRecord": JSONTree(credentials["recovery"]?.record),
            "records": .array(
                records.map { ["epoch": JSONTree($0.epoch), "record": .string($0.record)] }),
            "recordsVersion": JSONTree(version),
        ]
    }

    /// Reads what ``tree`` wrote.
    fileprivate init?(_ tree: JSONTree) {
        guard let seed = AccountFolder.seed(tree), let list = tree["records"]?.array,
            let version = tree["recordsVersion"]?.int
        else { return nil }
        self.init(seed)
        records = list.compactMap { tree in
            guard let epoch = tree["epoch"]?.int, let record = tree["record"]?.string else {
                return nil
            }
            return Record(epoch: epoch, record: record)
        }
        self.version = version
    }
}
