extension ServedAccount {
    /// Replaces all key records; answers the new entity tag.
    ///
    /// - Throws: `keys-changed` when `tag` is not that of the records that are there.
    func replaceKeys(
        by records: [KeyRing.Record], authKeys: [String: [UInt8]], ifMatch tag: String
    ) throws(Refusal) -> String {
        try changeQuietly { state throws(Refusal) in
            guard tag == state.keys.etag else {
                throw Refusal(412, "keys-changed", "The key records are other ones by now")
            }
            let keys = try state.keys.replaced(by: records, authKeys: authKeys)
            try refusing { () throws(StoreFailure) in try overlay.keep(keys) }
            state.keys = keys
            return keys.etag
        }
    }
}
