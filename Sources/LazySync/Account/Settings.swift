internal import SyncPlatform

/// What a device remembers outside its catalogs: which account is open, and where.
///
/// One small file, replaced as a whole, so that which catalog is opened is one decision: `active`.
/// An account in `forgetting` has been logged out, or was never logged in to the end; whoever
/// starts next removes what is left of it before anything is opened.
struct Settings: Sendable, Hashable {
    /// The account whose catalog is open on this device.
    struct Scope: Sendable, Hashable {
        var account: AccountID
        var name: String
        var server: String
        var caFile: String?
        var keyStore: KeyStoreKind
    }

    /// Made once for each home, so that two homes never share key items.
    var installID: String
    var active: Scope?
    /// Accounts to be forgotten, each with the store that its keys are in.
    var forgetting: [AccountID: KeyStoreKind] = [:]
    /// Containers that something of an account may lie in; noted before anything does.
    ///
    /// So who names none finds the catalog too, and forgetting knows where to look.
    var containers: [String] = []

    /// Whose catalog is opened: the one decision of launch, login and logout.
    ///
    /// The session is no part of it: one that ended by itself leaves the scope.
    var scope: Scope? { active }

    private static let version: Int64 = 1
    private static let limit = 1 << 20

    /// Reads the file; nil if there is none.
    static func read(_ path: String) throws(SyncError) -> Settings? {
        do {
            return try Settings(JSONObject(try DurableFile.read(path, limit: limit)))
        } catch {
            if let error = error as? FileError, error.code == .notFound { return nil }
            if let error = error as? MalformedJSON {
                throw SyncError(
                    .storage, "read the settings", "\(path): \(error.detail)",
                    hint: "move the file away and log in again")
            }
            throw SyncError("read the settings", error)
        }
    }

    /// Replaces the file, durably.
    func write(_ path: String) throws(SyncError) {
        try SyncError.mapping("write the settings") {
            try Directory.make(FileSystem.folder(of: path))
            try DurableFile.write(json.span, to: path)
        }
    }

    init(installID: String) {
        self.installID = installID
    }

    private init(_ object: JSONObject) throws {
        guard try object.integer("version") == Self.version else {
            throw SyncError(
                .newerCatalog, "read the settings", "they were written by a newer version",
                hint: "update this program; nothing was touched")
        }
        installID = try object.text("installId")
        if let scope = try object.object("active") { active = try Scope(scope) }
        for text in try object.texts("forgetting") {
            let parts = text.split(separator: " ")
            guard parts.count == 2, let account = AccountID(String(parts[0])),
                let kind = KeyStoreKind(rawValue: String(parts[1]))
            else { throw MalformedJSON(detail: "forgetting") }
            forgetting[account] = kind
        }
        containers = try object.texts("containers")
    }

    private var json: [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("version")
        writer.integer(Self.version)
        writer.key("installId")
        writer.string(installID)
        if let active {
            writer.key("active")
            active.write(to: &writer)
        }
        writer.key("forgetting")
        writer.beginArray()
        for (account, kind) in forgetting.sorted(by: { $0.key < $1.key }) {
            writer.string("\(account) \(kind.rawValue)")
        }
        writer.endArray()
        if !containers.isEmpty {
            writer.key("containers")
            writer.beginArray()
            for container in containers { writer.string(container) }
            writer.endArray()
        }
        writer.endObject()
        return writer.bytes + [UInt8(ascii: "\n")]
    }
}

extension Settings.Scope {
    fileprivate init(_ object: JSONObject) throws {
        account = try object.identifier("accountId")
        name = try object.text("name")
        server = try object.text("server")
        caFile = try object.optionalText("caFile")
        guard let kind = KeyStoreKind(rawValue: try object.text("keyStore")) else {
            throw MalformedJSON(detail: "keyStore")
        }
        keyStore = kind
    }

    fileprivate func write(to writer: inout JSONWriter) {
        writer.beginObject()
        for (key, value) in [
            ("accountId", "\(account)"), ("name", name), ("server", server),
            ("keyStore", keyStore.rawValue),
        ] {
            writer.key(key)
            writer.string(value)
        }
        if let caFile {
            writer.key("caFile")
            writer.string(caFile)
        }
        writer.endObject()
    }
}

/// The settings as they were read last, for as long as the file is the same one.
///
/// A start asks for them several times, and again after it has waited for a lock.
final class KnownSettings: Sendable {
    private let known = Locked<(facts: FileFacts, settings: Settings)?>(nil)

    /// Reads the file if it has changed; nil if there is none.
    func read(_ path: String) throws(SyncError) -> Settings? {
        // Before it is read: what changes meanwhile is seen the next time.
        let facts = try? FileSystem.facts(path)
        if let known = known.withLock({ $0 }), known.facts == facts { return known.settings }
        let settings = try Settings.read(path)
        if let facts, let settings { known.withLock { $0 = (facts, settings) } }
        return settings
    }
}
