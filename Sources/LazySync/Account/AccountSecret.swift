// NFC is in the standard library, but not yet under a public name; Foundation, which has it under
// one, would double the time that a command takes to start.
@_spi(_Unicode) import Swift
internal import SyncPlatform

/// What stretching a passphrase costs; the bounds keep a server from asking for too little or much.
struct StretchCost: Sendable, Equatable {
    /// Passes over the memory.
    let operations: UInt32
    /// Bytes.
    let memory: UInt64

    /// What new records are written with.
    static let standard = StretchCost(operations: 3, memory: 256 << 20)
    static let acceptedOperations: ClosedRange<UInt32> = 3...16
    static let acceptedMemory: ClosedRange<UInt64> = (64 << 20)...(1 << 30)

    /// Whether it is within the bounds: less is a downgrade, more is a memory bomb.
    var isAccepted: Bool {
        Self.acceptedOperations.contains(operations) && Self.acceptedMemory.contains(memory)
    }
}

/// The secrets that open a key record, and what the server sees instead of them.
enum AccountSecret {
    /// Stretches a passphrase (UTF-8, in any normal form) into the secret that it stands for.
    ///
    /// Takes `cost.memory` bytes and about a second; not for the cooperative pool.
    /// - Throws: `FormatError`: the cost is out of bounds (before anything is allocated), the
    ///   passphrase is not UTF-8, or there is no memory.
    static func stretch(
        passphrase: SecretBytes, salt: Span<UInt8>, cost: StretchCost
    ) throws(FormatError) -> SecretBytes {
        guard cost.isAccepted else { throw FormatError(.bounds, "stretch a passphrase") }
        let normalized = try normalize(passphrase)
        do {
            return try KeyDerivation.argon2id(
                password: normalized, salt: salt, operations: cost.operations, memory: cost.memory)
        } catch {
            let code: FormatError.Code = error.code == .outOfMemory ? .outOfMemory : .bounds
            throw FormatError(code, "stretch a passphrase")
        }
    }

    /// Answers what is shown to the server to log in: a hash of the secret and the account.
    static func authKey(_ secret: SecretBytes, account: AccountID) -> SecretBytes {
        var message = Label.auth
        account.append(to: &message)
        let key = Hash.blake2b256(key: secret, message.span)
        return SecretBytes(copying: key.span)
    }

    /// Answers the passphrase in NFC, so that the same word typed on two systems is the same.
    private static func normalize(_ passphrase: SecretBytes) throws(FormatError) -> SecretBytes {
        let text = passphrase.withBytes { bytes -> String? in
            // ASCII is in NFC already, and then no copy leaves the guarded memory.
            for index in bytes.indices where bytes[index] >= 0x80 {
                var copy = [UInt8](copying: bytes)
                defer { ConstantTime.wipe(&copy) }
                return String(validating: copy, as: UTF8.self)
            }
            return ""
        }
        guard let text else { throw FormatError(.text, "read a passphrase") }
        guard !text.isEmpty else { return passphrase }
        var normalized: [UInt8] = []
        // Room for the longest form, so that growing leaves no copies behind.
        normalized.reserveCapacity(4 * text.unicodeScalars.count * 3)
        for scalar in text._nfc { normalized.append(contentsOf: UTF8.encode(scalar) ?? .init()) }
        defer { ConstantTime.wipe(&normalized) }
        return SecretBytes(copying: normalized.span)
    }
}
