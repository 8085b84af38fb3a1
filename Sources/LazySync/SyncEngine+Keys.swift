internal import SyncPlatform

/// A new account, and the secrets that open one.
extension SyncEngine {
    /// Makes a new account on the server, and answers its recovery key.
    ///
    /// That is to be shown once, and kept by a person. Log in afterwards.
    /// The account's key is drawn on this device; the server gets it wrapped under the passphrase
    /// and under the recovery key, and sees neither.
    /// - Throws: `anotherAccount` if an account is open; `nameTaken`; `loginRefused` if the server
    ///   takes no new accounts; else what kept the server from answering. Only after the latter the
    ///   account may be there: a login tells.
    public static func createAccount(
        _ request: LoginRequest, _ configuration: EngineConfiguration = EngineConfiguration()
    ) async throws(SyncError) -> String {
        let operation = "make an account"
        guard case .passphrase(let text) = request.secret else {
            throw SyncError(.invalidInput, operation, "a new account is opened by a passphrase")
        }
        try check(text, operation)
        let device = try Device(configuration)
        let held = try device.lockSettings()
        defer { withExtendedLifetime(held) {} }
        let settings = try device.settingsForChange()
        if let open = settings.scope {
            throw SyncError(
                .anotherAccount, operation, "the account \(open.name) is open on this device")
        }
        let (request, base, client) = try connect(request, configuration)
        // Who has no key store is told so before there is an account that nobody can open here.
        try await device.checkKeyStore(request.keyStore, settings)
        let passphrase = SecretBytes(copying: text.span)
        let account = try await SyncError.mapping(operation) {
            try await Blocking.run {
                try NewAccount(passphrase: passphrase, configuration.random)
            }
        }
        do throws(RemoteFailure) {
            let http = try RemoteFailure.mapping {
                var http = HTTPRequest(
                    .post, url: try base.resolving("v1/accounts"),
                    body: account.request(name: request.account))
                try http.headers.add("Content-Type", "application/json")
                http.stallSeconds = configuration.stallSeconds
                return http
            }
            _ = try await client.send(http, into: BufferSink(limit: 1 << 20), accepts: [201])
        } catch {
            switch (error.status, error.code) {
            case (409?, Problem.nameTaken?):
                throw SyncError(.nameTaken, operation, "the name \(request.account) is taken")
            case (403?, Problem.registrationClosed?):
                throw SyncError(.loginRefused, operation, "the server takes no new accounts")
            default: throw SyncError(operation, error)
            }
        }
        return RecoveryKey.text(account.recoveryKey)
    }

    /// Makes a new recovery key, and answers it; the old one opens nothing more.
    public func newRecoveryKey() async throws(SyncError) -> String {
        let key = configuration.random.secret(32)
        let (account, random) = (opened.scope.account, configuration.random)
        try await replaceKeyRecord("make a recovery key") { masterKey in
            AccountLock(recoveryKey: key, masterKey: masterKey, account: account, random)
        }
        return RecoveryKey.text(key)
    }

    /// Changes the passphrase; the old one opens nothing more.
    ///
    /// - Throws: `invalidInput` if it is empty or not UTF-8.
    public func changePassphrase(to text: [UInt8]) async throws(SyncError) {
        try Self.check(text, "change the passphrase")
        let passphrase = SecretBytes(copying: text.span)
        let (account, random) = (opened.scope.account, configuration.random)
        try await replaceKeyRecord("change the passphrase") { masterKey throws(FormatError) in
            try AccountLock(
                passphrase: passphrase, masterKey: masterKey, account: account, random)
        }
    }

    private static func check(_ passphrase: [UInt8], _ operation: String) throws(SyncError) {
        guard !passphrase.isEmpty, String(validating: passphrase, as: UTF8.self) != nil else {
            throw SyncError(.invalidInput, operation, "the passphrase is empty or no text")
        }
    }

    /// Wraps the account's key once more, and has the server keep that in the old one's place.
    private func replaceKeyRecord(
        _ operation: String,
        _ lock: @escaping @Sendable (SecretBytes) throws(FormatError) -> AccountLock
    ) async throws(SyncError) {
        try await working(operation) { () async throws(SyncError) in
            try await SyncError.mapping(operation) {
                let new = try await Blocking.run { [store = self.opened.keyStore] in
                    try lock(try store.readMasterKey())
                }
                let remote = try await self.opened.http()
                // Somebody else may change them at the same moment.
                for _ in 0..<Self.mostRounds {
                    var records = try await remote.keyRecords()
                    // An answer that was lost is not asked for again.
                    if records.entries.contains(where: { $0.bytes == new.record.bytes }) { return }
                    records.replace(with: new.record)
                    if try await remote.replace(records, new) { return }
                }
                throw SyncError(
                    .busy, operation, "another device changes the account's keys all the time")
            }
        }
    }

    private static let mostRounds = 5
}
