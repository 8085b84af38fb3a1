extension Call {
    /// `GET /v1/keys`: all key records of all kinds and epochs.
    func keys() throws(Refusal) -> Answer {
        let (records, version) = try account().read { ($0.records, $0.recordsVersion) }
        let list = records.map { record -> JSONTree in
            ["epoch": JSONTree(record.epoch), "record": .string(record.record)]
        }
        return .json(["records": .array(list)], headers: [Header("ETag", "\"keys-\(version)\"")])
    }
}
