extension Call {
    /// `POST /v1/sessions`: a login.
    ///
    /// `account` is the accountId from the kdf call; the name is taken too.
    func openSession() throws(Refusal) -> Answer {
        let body = try body()
        let who = try text("account", in: body)
        let kind = try text("with", in: body)
        let device = try text("device", in: body)
        let authKey = try authKey(try text("authKey", in: body))
        guard kind == "passphrase" || kind == "recovery" else {
            throw .badRequest("with is neither passphrase nor recovery")
        }
        let account = service.accounts.first { $0.accountId == who || $0.name == who }
        let state = account.map { account in
            account.read { ($0.keys.epoch, $0.keys.credentials[kind]) }
        }
        guard let account, let (epoch, credential) = state, let credential,
            credential.authKeyHash == Service.blake2b(authKey).hex
        else { throw Refusal(401, "bad-credentials", "The account or its key is not right") }

        let now = service.now
        let grant = service.changeSessions {
            $0.open(accountId: account.accountId, device: device, now: now)
        }
        var members: [(key: String, value: JSONTree)] = [
            ("accountId", .string(account.accountId)), ("epoch", JSONTree(epoch)),
            ("token", .string(grant.token)), ("expiresIn", JSONTree(grant.expiresIn)),
            ("refresh", .string(grant.refresh)), ("keyRecord", .string(credential.record)),
        ]
        if let blobs = blobsAddress(account) { members.append(("blobs", .string(blobs))) }
        return .json(.object(members), status: 201)
    }

    private func blobsAddress(_ account: ServedAccount) -> String? {
        switch service.options.blobOrigin {
        case .none: nil
        case .own: "\(origin)/open/\(account.accountId)/"
        case .server(let address):
            "\(address.hasSuffix("/") ? address : address + "/")open/\(account.accountId)/"
        }
    }

    /// `POST /v1/sessions/refresh`: a new token for a refresh value.
    func refreshSession() throws(Refusal) -> Answer {
        let value = try text("refresh", in: body())
        let now = service.now
        let grant = try service.changeSessions { book throws(Refusal) in
            try book.refresh(value, now: now)
        }
        return .json([
            "token": .string(grant.token), "expiresIn": JSONTree(grant.expiresIn),
            "refresh": .string(grant.refresh),
        ])
    }

    /// `DELETE /v1/sessions/current`: a logout.
    func endSession() -> Answer {
        if let member { service.changeSessions { $0.end(member.session) } }
        return Answer(204)
    }
}
