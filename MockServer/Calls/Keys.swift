extension Call {
    /// `GET /v1/keys`: all key records of all kinds and epochs.
    func keys() throws(Refusal) -> Answer {
        let keys = try account().read { $0.keys }
        let list = keys.records.map { record -> JSONTree in
            ["epoch": JSONTree(record.epoch), "record": .string(record.record)]
        }
        return .json(["records": .array(list)], headers: [Header("ETag", keys.etag)])
    }
}
