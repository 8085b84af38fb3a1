import LazySync

// What `create` and `login` have in common.

extension Option {
    static let server = value("server", "URL")
    static let account = value("account", "NAME")
    static let device = value("device", "NAME")
    static let passphraseFile = value("passphrase-file", "FILE|-")
    static let keyStore = value("key-store", "secret-service|file")
    static let caFile = value("ca-file", "F")
}

extension Arguments {
    /// What a login is made of; the secret is asked for last, so that nobody types it for words that
    /// are wrong.
    func loginRequest(
        _ secret: () throws(Failure) -> LoginRequest.Secret
    ) throws(Failure) -> LoginRequest {
        let kind = try word(.keyStore, of: KeyStoreKind.allCases.map(\.rawValue))
        let (server, account) = (try required(.server), try required(.account))
        return LoginRequest(
            server: server, account: account, device: self[.device] ?? Host.name,
            secret: try secret(), keyStore: kind.flatMap(KeyStoreKind.init) ?? .secretService,
            caFile: self[.caFile])
    }
}
