internal import SyncPlatform

/// What a person gives to log in.
public struct LoginRequest: Sendable {
    /// What opens the account: UTF-8 as it was typed, without a final newline.
    public enum Secret: Sendable {
        /// The account's passphrase.
        case passphrase([UInt8])
        /// The account's recovery key, as it stands on paper.
        case recoveryKey([UInt8])
    }

    /// The server's address: `https://…`, or `http://` to this machine.
    public var server: String
    /// The account's name.
    public var account: String
    /// What the server calls this device in the list of sessions.
    public var device: String
    /// The passphrase or the recovery key.
    public var secret: Secret
    /// Where the account's key goes.
    public var keyStore: KeyStoreKind
    /// A file of certificates to trust instead of the system's; it is kept with the account.
    public var caFile: String?

    /// Describes a login.
    public init(
        server: String, account: String, device: String, secret: Secret,
        keyStore: KeyStoreKind = .secretService, caFile: String? = nil
    ) {
        self.server = server
        self.account = account
        self.device = device
        self.secret = secret
        self.keyStore = keyStore
        self.caFile = caFile
    }
}

/// The two-step login: the server sees a key derived from the secret, and never the secret.
struct Login {
    /// What a login gives.
    struct Result: Sendable {
        let account: AccountID
        let masterKey: SecretBytes
        let tokens: SessionTokens
    }

    private static let operation = "log in"

    let client: HTTPClient
    let base: HTTPURL
    var stallSeconds = 60.0

    /// Logs in and unwraps the account's key.
    ///
    /// - Throws: `loginRefused` for a name, passphrase or recovery key that do not fit; `mismatch`
    ///   if the server's answers contradict each other; else what kept the server from answering.
    func run(_ request: LoginRequest) async throws(SyncError) -> Result {
        let terms = try await terms(request.account)
        let (secret, kind) = try await stretch(request.secret, terms)
        let answer = try await openSession(request, secret, kind, terms)
        return try SyncError.mapping(Self.operation) {
            try read(answer, secret, kind, terms)
        }
    }

    /// What the server says about an account before anybody has shown anything.
    private struct Terms {
        let account: AccountID
        let cost: StretchCost
        let salt: [UInt8]
    }

    private func terms(_ name: String) async throws(SyncError) -> Terms {
        try await SyncError.mapping(Self.operation) {
            let answer = try await ask(name)
            let terms = try RemoteFailure.mapping {
                guard try answer.text("kdf") == "argon2id13",
                    let operations = UInt32(exactly: try answer.integer("ops"))
                else { throw MalformedJSON(detail: "kdf") }
                return Terms(
                    account: try answer.identifier("accountId"),
                    cost: StretchCost(operations: operations, memory: try answer.decimal("mem")),
                    salt: try answer.binary("salt", count: KeyRecord.saltCount))
            }
            guard terms.cost.isAccepted else {
                throw Self.lie("a cost of the passphrase that is out of bounds")
            }
            return terms
        }
    }

    /// The first question, by which a wrong address is found out.
    private func ask(_ name: String) async throws(SyncError) -> JSONObject {
        do throws(RemoteFailure) {
            return try await send(
                .get, "v1/accounts/\(name.percentEscaped)/kdf", nil, accepts: 200)
        } catch {
            // With a status of 500 and more it is a server in trouble.
            let isElsewhere =
                error.reason == .serverError && error.code != "certificate"
                && (error.status ?? 0) < 500
            guard isElsewhere else { throw SyncError(Self.operation, error) }
            throw SyncError(
                .unavailable(.serverError), Self.operation, error.detail,
                hint: "check the address: nothing there answers as it should")
        }
    }

    private func stretch(
        _ secret: LoginRequest.Secret, _ terms: Terms
    ) async throws(SyncError) -> (SecretBytes, KeyRecord.Kind) {
        do {
            switch secret {
            case .passphrase(let text):
                let passphrase = SecretBytes(copying: text.span)
                // A second and up to a gigabyte: on a thread of its own.
                let stretched = try await Blocking.run {
                    try AccountSecret.stretch(
                        passphrase: passphrase, salt: terms.salt.span, cost: terms.cost)
                }
                return (stretched, .passphrase)
            case .recoveryKey(let text):
                return (try RecoveryKey.parse(text.span), .recoveryKey)
            }
        } catch {
            let code = (error as? FormatError)?.code
            throw SyncError(
                code == .outOfMemory ? .storage : .invalidInput, Self.operation,
                code == .outOfMemory ? "not enough memory" : "that is not a \(secret.word)",
                hint: code == .outOfMemory ? nil : "check for a mistyped character")
        }
    }

    private func openSession(
        _ request: LoginRequest, _ secret: SecretBytes, _ kind: KeyRecord.Kind, _ terms: Terms
    ) async throws(SyncError) -> JSONObject {
        var body = JSONWriter()
        body.beginObject()
        body.key("account")
        body.string(request.account)
        body.key("authKey")
        let key = AccountSecret.authKey(secret, account: terms.account)
        body.string(key.withBytes { Base64URL.encode($0) })
        body.key("device")
        body.string(request.device)
        body.key("with")
        body.string(kind == .passphrase ? "passphrase" : "recovery")
        body.endObject()
        do throws(RemoteFailure) {
            return try await send(.post, "v1/sessions", body.bytes, accepts: 201)
        } catch  where error.status == 401 && error.code == Problem.badCredentials {
            throw SyncError(
                .loginRefused, Self.operation,
                "the server refused the account's name or the \(request.secret.word)")
        } catch {
            throw SyncError(Self.operation, error)
        }
    }

    private func read(
        _ answer: JSONObject, _ secret: SecretBytes, _ kind: KeyRecord.Kind, _ terms: Terms
    ) throws -> Result {
        let (account, epoch, record, tokens) = try RemoteFailure.mapping {
            (
                try answer.identifier("accountId") as AccountID, try answer.integer("epoch"),
                try answer.binary("keyRecord", count: KeyRecord.byteCount),
                try SessionTokens(answer)
            )
        }
        guard account == terms.account else { throw Self.lie("two account ids") }
        guard epoch == 1 else {
            throw SyncError(
                .unavailable(.keyMissing), Self.operation,
                "the account has moved on to key \(epoch), which this version does not know")
        }
        do throws(FormatError) {
            let record = try KeyRecord(parsing: record.span)
            let fits =
                record.kind == kind
                && (kind != .passphrase || (record.cost == terms.cost && record.salt == terms.salt))
            guard fits else { throw FormatError(.mismatch, Self.operation) }
            let masterKey = try record.open(secret: secret, account: account, epoch: 1)
            return Result(account: account, masterKey: masterKey, tokens: tokens)
        } catch {
            throw Self.lie("a key record that does not fit what it said before")
        }
    }

    private static func lie(_ what: String) -> SyncError {
        SyncError(
            .mismatch, operation, "the server gave \(what)",
            hint: "make sure that this is the right server; nothing was kept")
    }

    private func send(
        _ method: HTTPRequest.Method, _ path: String, _ body: [UInt8]?, accepts status: Int
    ) async throws(RemoteFailure) -> JSONObject {
        let request = try RemoteFailure.mapping {
            var request = HTTPRequest(method, url: try base.resolving(path), body: body)
            if body != nil { try request.headers.add("Content-Type", "application/json") }
            request.stallSeconds = stallSeconds
            return request
        }
        return try await client.object(request, accepts: status)
    }
}

extension LoginRequest.Secret {
    /// What it is called.
    fileprivate var word: String {
        switch self {
        case .passphrase: "passphrase"
        case .recoveryKey: "recovery key"
        }
    }
}
