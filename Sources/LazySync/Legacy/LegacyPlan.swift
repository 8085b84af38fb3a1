internal import SyncPlatform

/// What an old file's records become, and what is left out and why; pure.
///
/// The ids follow from what is in a record, so the same record is the same item each time, and two
/// records that say the same are one.
struct LegacyPlan: Sendable, Equatable {
    /// A record that becomes an item.
    struct Item: Sendable, Equatable {
        let id: EntryID
        let array: String
        /// The record's place in its array, from 0.
        let index: Int
        let draft: ItemDraft
    }

    /// A record, or a field of one, that is left out.
    struct LeftOut: Sendable, Equatable {
        let array: String
        /// nil for all of the array.
        let index: Int?
        /// nil for all of the record.
        let field: String?
        let reason: String
    }

    private(set) var items: [Item] = []
    private(set) var leftOut: [LeftOut] = []
    private(set) var records = 0
    /// Fields that the map does not name, with how many records have each.
    private(set) var unmapped: [String: Int] = [:]

    private var seen: Set<EntryID> = []

    /// Decides about every record.
    ///
    /// - Throws: `LegacyProblem` if the file is no dictionary of arrays.
    init(_ store: LegacyValue, _ map: LegacyMap) throws(LegacyProblem) {
        guard case .dictionary(let arrays) = store else {
            throw LegacyProblem("the file is no dictionary of arrays")
        }
        for fields in map.arrays {
            switch arrays[fields.array] {
            case .array(let records)?:
                for (index, record) in records.enumerated() { add(record, index, fields) }
            case nil: leaveOut(fields.array, nil, nil, "the file has no such array")
            case let other?: leaveOut(fields.array, nil, nil, "it is \(other.kind), no array")
            }
        }
        let named = Set(map.arrays.map(\.array))
        for name in arrays.keys.sorted() where !named.contains(name) {
            leaveOut(name, nil, nil, "the map does not name it")
        }
    }

    private mutating func add(_ record: LegacyValue, _ index: Int, _ fields: LegacyMap.Array) {
        records += 1
        guard case .dictionary(let values) = record else {
            leaveOut(fields.array, index, nil, "it is \(record.kind), no record")
            return
        }
        for name in values.keys where !fields.named.contains(name) {
            unmapped["\(fields.array).\(name)", default: 0] += 1
        }
        guard case .text(let title)? = values[fields.title] else {
            let kind = values[fields.title].map { "its title is \($0.kind)" } ?? "it has no title"
            leaveOut(fields.array, index, nil, kind)
            return
        }
        var draft = ItemDraft(title: title)
        draft.text = text(values, fields.text, fields, index)
        draft.created = time(values, fields.created, fields, index)
        draft.modified = time(values, fields.modified, fields, index)
        guard draft.fits else {
            leaveOut(fields.array, index, nil, "it is larger than an item can be")
            return
        }
        let id = Self.id(of: draft, in: fields.array)
        guard seen.insert(id).inserted else {
            leaveOut(fields.array, index, nil, "a record before it says the same")
            return
        }
        items.append(Item(id: id, array: fields.array, index: index, draft: draft))
    }

    private mutating func text(
        _ values: [String: LegacyValue], _ field: String?, _ fields: LegacyMap.Array, _ index: Int
    ) -> String? {
        guard let field, let value = values[field] else { return nil }
        switch value {
        case .text(let text): return text
        case .null: return nil
        default:
            leaveOut(fields.array, index, field, "it is \(value.kind), no text")
            return nil
        }
    }

    private mutating func time(
        _ values: [String: LegacyValue], _ field: String?, _ fields: LegacyMap.Array, _ index: Int
    ) -> String? {
        guard let field, let value = values[field] else { return nil }
        let moment: Timestamp?
        switch (value, fields.times) {
        case (.date(let date), _): moment = date
        // As its author wrote it, if it is a time at all.
        case (.text(let text), _):
            if Timestamp(text) != nil { return text }
            moment = nil
        case (.integer(let number), let times?): moment = Self.moment(Double(number), times)
        case (.real(let number), let times?): moment = Self.moment(number, times)
        case (.null, _): return nil
        default: moment = nil
        }
        if moment == nil {
            leaveOut(fields.array, index, field, "it is \(value.kind), no time")
        }
        return moment?.description
    }

    private static func moment(_ number: Double, _ times: LegacyMap.Times) -> Timestamp? {
        let since1970: Double = 978_307_200
        return switch times {
        case .reference: BinaryPropertyList.date(secondsSince2001: number)
        case .unix: BinaryPropertyList.date(secondsSince2001: number - since1970)
        case .milliseconds: BinaryPropertyList.date(secondsSince2001: number / 1_000 - since1970)
        }
    }

    private mutating func leaveOut(
        _ array: String, _ index: Int?, _ field: String?, _ reason: String
    ) {
        leftOut.append(LeftOut(array: array, index: index, field: field, reason: reason))
    }

    /// An id that follows from what the record says.
    private static func id(of draft: ItemDraft, in array: String) -> EntryID {
        var bytes = Array("lazysync/legacy-item\0".utf8)
        for part in [array, draft.title, draft.text, draft.created, draft.modified] {
            bytes.append(part == nil ? 0 : 1)
            bytes.append(bigEndian: UInt64(part?.utf8.count ?? 0))
            bytes += Array((part ?? "").utf8)
        }
        let hash = Hash.blake2b256(bytes.span)
        guard let id = EntryID(bytes: hash.span.extracting(0..<EntryID.byteCount)) else {
            preconditionFailure("a hash is longer than an id")
        }
        return id
    }

    // MARK: Comparing

    /// Compares every record with what is read back of it, as `payloads` has it by id; answers the
    /// places of those that differ.
    func differences(
        from payloads: [EntryID: [UInt8]]
    ) -> [(id: EntryID, leftOut: LeftOut)] {
        let decoder = EntryDecoder()
        return items.compactMap { item in
            let reason: String
            switch payloads[item.id].map({ Self.isSame(item.draft, $0, decoder) }) {
            case true?: return nil
            case false?: reason = "it reads back as another"
            case nil: reason = "it is not there"
            }
            let leftOut = LeftOut(
                array: item.array, index: item.index, field: nil, reason: reason)
            return (item.id, leftOut)
        }
    }

    private static func isSame(
        _ draft: ItemDraft, _ payload: [UInt8], _ decoder: EntryDecoder
    ) -> Bool {
        var batch = PayloadBatch()
        guard let item = try? decoder.decode(payload.span, into: &batch) else { return false }
        func isSame(_ text: String?, _ range: Range<Int>?) -> Bool {
            guard let text, let range else { return text == nil && range == nil }
            return batch.bytes[range].elementsEqual(text.utf8)
        }
        return isSame(draft.title, item.title) && isSame(draft.text, item.text)
            && isSame(draft.created, item.created) && isSame(draft.modified, item.modified)
            && item.attachments.isEmpty && !item.isLossy
    }

    /// The payloads that the items would be sealed with.
    func payloads() -> [EntryID: [UInt8]] {
        let decoder = EntryDecoder()
        var found: [EntryID: [UInt8]] = [:]
        for item in items { found[item.id] = try? item.draft.encode(using: decoder) }
        return found
    }
}

extension ItemDraft {
    /// Whether its payload is within the format's limit.
    fileprivate var fits: Bool {
        // Escaping takes at most six bytes for one: most need no second look.
        let texts = [title, text ?? "", created ?? "", modified ?? ""]
        let count = texts.reduce(0) { $0 + $1.utf8.count }
        if count < EntryPayload.maximumCount / 8 { return true }
        guard count <= EntryPayload.maximumCount else { return false }
        return (try? encode(using: EntryDecoder())) != nil
    }
}
