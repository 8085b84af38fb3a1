/// Secrets in a file that only we can read, for machines without a key store.
///
/// Used only if the user asks for it. The file is replaced as a whole, so a crash leaves the old or
/// the new one. Those who change it take turns under a lock, and remove what one that was killed
/// left.
package struct SecretFile: SecretStore {
    private let path: String
    private let lock: FileLock?
    private let header: [String]

    /// More than all items together ever take.
    private static let limit = 1 << 20

    /// Names the file; its folder is made when the first secret is written.
    ///
    /// Without a lock nobody else may change it at the same time.
    package init(path: String, accountID: String, installID: String, lock: FileLock? = nil) {
        self.path = path
        self.lock = lock
        header = [
            "lazysync secrets 1",
            "account \(SecretText.encode(accountID.utf8))",
            "install \(SecretText.encode(installID.utf8))",
        ]
    }

    /// The secret kept under a name; `nil` if the store is open and has none.
    package func read(item: String) throws(SecretError) -> [UInt8]? {
        try load("read \(item)")[item]
    }

    /// Keeps a secret in place of the one that has the name.
    package func write(item: String, _ bytes: [UInt8]) throws(SecretError) {
        try change("write \(item)") { $0[item] = bytes }
    }

    /// Forgets a secret; that there was none is no error.
    package func remove(item: String) throws(SecretError) {
        try change("remove \(item)") { $0[item] = nil }
    }

    private func change(
        _ operation: String, _ edit: (inout [String: [UInt8]]) -> Void
    ) throws(SecretError) {
        let held = try takeLock(operation)
        defer { withExtendedLifetime(held) {} }
        let before = try load(operation)
        var secrets = before
        edit(&secrets)
        if secrets == before { return }
        if !secrets.isEmpty { return try store(secrets, operation) }
        do throws(FileError) {
            try DurableFile.remove(path)
        } catch {
            throw Self.failure(error, operation)
        }
    }

    private func takeLock(_ operation: String) throws(SecretError) -> FileLock.Token? {
        do throws(FileError) {
            guard let lock else { return nil }
            let held = try lock.lock(.exclusive)
            let folder = FileSystem.folder(of: path)
            if try FileSystem.facts(folder) != nil { try Directory.removeTemporaries(in: folder) }
            return held
        } catch {
            throw Self.failure(error, operation)
        }
    }

    /// The names of the secrets that are kept, sorted.
    package func items() throws(SecretError) -> [String] {
        try load("list").keys.sorted()
    }

    /// What is in the file; nothing if it is not there.
    ///
    /// What is not understood is left alone.
    private func load(_ operation: String) throws(SecretError) -> [String: [UInt8]] {
        let bytes: [UInt8]
        do throws(FileError) {
            guard let facts = try FileSystem.facts(path) else { return [:] }
            try Directory.check(FileSystem.folder(of: path))
            guard !facts.isOpenToOthers else {
                throw FileError(.permission, operation: "open to others", path: path)
            }
            bytes = try DurableFile.read(path, limit: Self.limit)
        } catch {
            throw Self.failure(error, operation)
        }
        return try parse(bytes, operation)
    }

    private func store(
        _ secrets: [String: [UInt8]], _ operation: String
    ) throws(SecretError) {
        var lines = header
        for (item, bytes) in secrets.sorted(by: { $0.key < $1.key }) {
            lines.append("item \(SecretText.encode(item.utf8)) \(SecretText.encode(bytes))")
        }
        lines.append("end\n")
        let text = [UInt8](lines.joined(separator: "\n").utf8)
        do throws(FileError) {
            try Directory.make(FileSystem.folder(of: path), durably: true)
            try DurableFile.write(text.span, to: path)
        } catch {
            throw Self.failure(error, operation)
        }
    }

    /// Reads the lines that `store` writes, and no others.
    private func parse(
        _ bytes: [UInt8], _ operation: String
    ) throws(SecretError) -> [String: [UInt8]] {
        let unknown = SecretError(.other, operation: operation, detail: "\(path) is not a key file")
        guard let text = String(validating: bytes, as: UTF8.self) else { throw unknown }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.count >= 5, lines[0] == header[0], lines.suffix(2) == ["end", ""] else {
            throw unknown
        }
        guard lines[1] == header[1], lines[2] == header[2] else {
            throw SecretError(
                .denied, operation: operation, detail: "\(path) is another account's key file")
        }
        var secrets: [String: [UInt8]] = [:]
        for line in lines[3..<(lines.count - 2)] {
            let words = line.split(separator: " ", omittingEmptySubsequences: false)
            guard words.count == 3, words[0] == "item",
                let name = SecretText.decode(words[1].utf8),
                let item = String(validating: name, as: UTF8.self),
                let secret = SecretText.decode(words[2].utf8),
                secrets.updateValue(secret, forKey: item) == nil
            else { throw unknown }
        }
        return secrets
    }

    private static func failure(_ error: FileError, _ operation: String) -> SecretError {
        let code: SecretError.Code =
            switch error.code {
            case .notOurs, .permission: .denied
            case .noSpace: .noSpace
            default: .io
            }
        return SecretError(code, operation: operation, detail: "\(error)")
    }
}
