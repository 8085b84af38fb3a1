internal import SyncPlatform

/// Which records are named, by anything: what is shown, what the server has instead, what cannot be
/// read as a whole, the spool and the trash.
extension Catalog {
    /// Gathers the name of every record that must stay at the store; takes as long as the account is
    /// large.
    ///
    /// `isCounted` says which rows of the trash do. Answers nil where an entry cannot be read: nobody
    /// knows what it names.
    func namedRecords<Result: Sendable>(
        into initial: Result, includingTrash isCounted: @escaping @Sendable (Int64) -> Bool,
        _ body: @escaping @Sendable (inout Result, Span<UInt8>) -> Void
    ) async throws(SyncError) -> Result? {
        try await inspect("look for what is named") { connection in
            var result = initial
            guard
                try connection.stagedIDs(verified: true, readable: false, limit: 1).isEmpty,
                try connection.stagedIDs(verified: false, readable: false, limit: 1).isEmpty
            else { return nil }
            for query in [NamesQuery.shown, .spool] {
                let names = try connection.prepare(query.rawValue)
                while try names.step() {
                    for column in [0, 1] as [Int32] where !names.isNull(column) {
                        let name = names.blob(column)
                        body(&result, name.span)
                    }
                }
            }
            let payloads = try connection.prepare(NamesQuery.payloads.rawValue)
            while try payloads.step() {
                for column in [0, 1] as [Int32] where !payloads.isNull(column) {
                    let payload = payloads.blob(column)
                    CloudBlobRef.forEachName(in: payload.span) { body(&result, $0) }
                }
            }
            let trash = try connection.prepare(NamesQuery.trash.rawValue)
            while try trash.step() {
                guard isCounted(trash.int(1)) else { continue }
                let name = trash.blob(0)
                body(&result, name.span)
            }
            return result
        }
    }

    /// Where names stand; each walks over all of its rows.
    enum NamesQuery: String, CaseIterable {
        case shown = """
            SELECT substr(cloud_blob_ref, 106), substr(thumb_cloud_blob_ref, 106) FROM attachment
            """
        case spool = "SELECT record, NULL FROM spool"
        case payloads = """
            SELECT payload, NULL FROM entry WHERE payload IS NOT NULL
            UNION ALL SELECT base, sent_payload FROM outbox
            """
        case trash = "SELECT record, trash FROM trash_record"
    }
}

extension CloudBlobRef {
    /// The records' names in a payload; none without one.
    static func names(in payload: [UInt8]?) -> Set<String> {
        guard let payload else { return [] }
        var names: Set<String> = []
        forEachName(in: payload.span) { name in
            names.insert(String(decoding: [UInt8](copying: name), as: UTF8.self))
        }
        return names
    }

    /// Hands out the record's name of everything in a text that could be an address.
    static func forEachName(in text: Span<UInt8>, _ body: (Span<UInt8>) -> Void) {
        let mark = Array("\"cb1.".utf8)
        var index = 0
        while index + mark.count < text.count {
            guard text[index] == mark[0],
                text.extracting(index..<index + mark.count).equals(mark.span)
            else {
                index += 1
                continue
            }
            let start = index + mark.count
            var end = start
            while end < text.count, end - start <= RecordName.maximumCount,
                text[end] != UInt8(ascii: ".")
            {
                end += 1
            }
            body(text.extracting(start..<end))
            index = end
        }
    }
}
