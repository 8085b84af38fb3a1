/// The desktop's key store: GNOME Keyring, KWallet or whoever else speaks the Secret Service.
///
/// Never asks a person to unlock anything: a locked store is `locked`, a missing one `unavailable`.
/// Every call blocks its thread for the exchange, a few milliseconds as a rule and its
/// patience at the most. Values are kept as hexadecimal text, which every service returns
/// unchanged.
package struct SecretService: SecretStore {
    private let scope: [String: String]
    private let patience: Double

    /// The items of one account on one installation; others' are not seen.
    ///
    /// An exchange is given up after `patience` seconds; one call alone may take D-Bus 25.
    package init(accountID: String, installID: String, patience: Double = 60) {
        self.patience = patience
        scope = ["application": "lazysync", "accountId": accountID, "installId": installID]
    }

    /// The secret kept under a name; `nil` if the store is open and has none.
    package func read(item: String) throws(SecretError) -> [UInt8]? {
        try SecretConversation.run("read \(item)", patience: patience) {
            service throws(SecretError) in
            let found = try search(item, service)
            guard let open = found.first(where: { !$0.isLocked }) else {
                return try nothing(found, service)
            }
            guard let text = service.secret(of: open), let bytes = SecretText.decode(text) else {
                throw service.error(.other, "the item holds nothing of ours")
            }
            return bytes
        }
    }

    /// Keeps a secret in place of the one that has the name.
    package func write(item: String, _ bytes: [UInt8]) throws(SecretError) {
        try SecretConversation.run("write \(item)", patience: patience) {
            service throws(SecretError) in
            let found = try search(item, service)
            let text = SecretText.encode(bytes)
            // In place, wherever it is: a second item of the name would hide one of the two.
            if let open = found.first(where: { !$0.isLocked }) {
                return try service.replaceSecret(of: open, with: text)
            }
            guard found.isEmpty else { throw service.error(.locked, "the item is locked") }
            switch try service.isDefaultLocked() {
            case true?: throw service.error(.locked, "the default collection is locked")
            case nil: throw service.error(.unavailable, "there is no default collection")
            case false?:
                var attributes = scope
                attributes["item"] = item
                try service.create(attributes, label: "LazySync \(item)", text: text)
            }
        }
    }

    /// Forgets a secret; that there was none is no error.
    package func remove(item: String) throws(SecretError) {
        try SecretConversation.run("remove \(item)", patience: patience) {
            service throws(SecretError) in
            let found = try search(item, service)
            guard !found.contains(where: \.isLocked) else {
                throw service.error(.locked, "the item is locked")
            }
            guard !found.isEmpty else {
                _ = try nothing(found, service)
                return
            }
            for item in found { try service.remove(item) }
        }
    }

    /// The names of the secrets that are kept, sorted.
    package func items() throws(SecretError) -> [String] {
        try SecretConversation.run("list", patience: patience) { service throws(SecretError) in
            let found = try service.search(scope)
            guard !found.contains(where: \.isLocked) else {
                throw service.error(.locked, "an item is locked")
            }
            if found.isEmpty { _ = try nothing(found, service) }
            return Set(found.compactMap { service.attribute("item", of: $0) }).sorted()
        }
    }

    private func search(
        _ item: String, _ service: SecretConversation
    ) throws(SecretError) -> [SecretConversation.Item] {
        var attributes = scope
        attributes["item"] = item
        return try service.search(attributes)
    }

    /// Says "there is none" only when that is known: some services do not search what is locked.
    private func nothing(
        _ found: [SecretConversation.Item], _ service: SecretConversation
    ) throws(SecretError) -> [UInt8]? {
        guard found.isEmpty, try service.isDefaultLocked() != true else {
            throw service.error(.locked, "the collection is locked")
        }
        return nil
    }
}

extension SecretConversation {
    fileprivate func error(_ code: SecretError.Code, _ detail: String) -> SecretError {
        SecretError(code, operation: operation, detail: detail)
    }
}
