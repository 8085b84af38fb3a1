internal import SyncPlatform

/// The subkeys of one account master key of one epoch; the master key itself is not kept.
struct AccountKeys: Sendable {
    /// The epoch of the master key, from 1.
    let epoch: UInt32
    /// Wraps content keys.
    let kek: SecretBytes
    /// Seals entries.
    let meta: SecretBytes
    /// Authenticates heads.
    let head: SecretBytes
    /// Keys the set digest.
    let set: SecretBytes
    /// Wraps the master key of the epoch before.
    let previous: SecretBytes
    /// Names `kek` in wrapped keys, without telling anything about it.
    let kekID: InlineArray<8, UInt8>

    /// Derives the subkeys of a 32-byte master key.
    init(masterKey: SecretBytes, epoch: UInt32) {
        self.epoch = epoch
        kek = KeyDerivation.subkey(1, context: "cb_wrap_", of: masterKey)
        meta = KeyDerivation.subkey(2, context: "cb_meta_", of: masterKey)
        head = KeyDerivation.subkey(3, context: "cb_head_", of: masterKey)
        set = KeyDerivation.subkey(4, context: "cb_set__", of: masterKey)
        previous = KeyDerivation.subkey(5, context: "cb_prev_", of: masterKey)
        let label = Label.kekID
        let digest = Hash.blake2b256(key: kek, label.span)
        var kekID = InlineArray<8, UInt8>(repeating: 0)
        for index in kekID.indices { kekID[index] = digest[index] }
        self.kekID = kekID
    }
}
