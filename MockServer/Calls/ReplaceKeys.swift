extension Call {
    /// `PUT /v1/keys`: other key records in the place of all.
    func replaceKeys() throws(Refusal) -> Answer {
        guard let tag = incoming.header("If-Match") else {
            throw .badRequest("If-Match is missing")
        }
        let body = try body()
        guard let list = body["records"]?.array else { throw .badRequest("records is missing") }
        var records: [KeyRing.Record] = []
        for tree in list {
            guard let epoch = tree["epoch"]?.int, epoch > 0, UInt32(exactly: epoch) != nil else {
                throw .badRequest("an epoch is not a number")
            }
            records.append(.init(epoch: epoch, record: try text("record", in: tree)))
        }
        var authKeys: [String: [UInt8]] = [:]
        if case .object(let members)? = body["authKeys"] {
            for (kind, value) in members where value != .null {
                authKeys[kind] = try authKey(value.string ?? "")
            }
        }
        let etag = try account().replaceKeys(by: records, authKeys: authKeys, ifMatch: tag)
        return Answer(204, headers: [Header("ETag", etag)])
    }
}
