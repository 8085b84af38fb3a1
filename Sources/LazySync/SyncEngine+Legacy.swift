internal import SyncPlatform

/// What an old key-value store would bring.
public struct LegacyReport: Sendable, Hashable {
    /// One record or field that is left out.
    public struct LeftOut: Sendable, Hashable {
        /// The array that it is in.
        public let array: String
        /// The record's place in it, from 0; nil for all of the array.
        public let index: Int?
        /// The field; nil for all of the record.
        public let field: String?
        /// Why.
        public let reason: String
    }

    /// Records of the arrays that the map names.
    public var records = 0
    /// Records that would become items, each read back as it is.
    public var items = 0
    /// Everything that is left out, in the order of the map and the file.
    public var leftOut: [LeftOut] = []
    /// Fields that the map does not name (`array.field`), with how many records have each.
    public var unmapped: [String: Int] = [:]
}

extension SyncEngine {
    /// Reads an old key-value store (a property list, binary or XML, or JSON) by a map, compares
    /// every record with what would be read back of it, and tells what would be left out.
    ///
    /// The file is only read, and nothing is written anywhere.
    /// - Throws: `invalidInput` if the file or the map is none.
    public static func planLegacyImport(
        of path: String, map: String
    ) async throws(SyncError) -> LegacyReport {
        try await SyncError.mapping("read an old file") {
            try await Blocking.run {
                let map = try read(map, limit: 1 << 20) { bytes throws(LegacyProblem) in
                    try LegacyMap(bytes)
                }
                let store = try read(path, limit: LegacyLimits.file) {
                    bytes throws(LegacyProblem) in
                    try LegacyFile.read(bytes)
                }
                do throws(LegacyProblem) {
                    return LegacyReport(try LegacyPlan(store, map))
                } catch {
                    throw refusal(path, error.detail)
                }
            }
        }
    }

    private static func read<Value>(
        _ path: String, limit: Int, _ parse: ([UInt8]) throws(LegacyProblem) -> Value
    ) throws(SyncError) -> Value {
        let bytes: [UInt8]
        do throws(FileError) {
            bytes = try File(chosenByUser: path).readAll(limit: limit)
        } catch {
            throw refusal(path, "\(error)")
        }
        do throws(LegacyProblem) {
            return try parse(bytes)
        } catch {
            throw refusal(path, error.detail)
        }
    }

    private static func refusal(_ path: String, _ detail: String) -> SyncError {
        SyncError(.invalidInput, "read an old file", "'\(path)': \(detail)")
    }
}

extension LegacyReport {
    init(_ plan: LegacyPlan) {
        let differences = plan.differences(from: plan.payloads())
        records = plan.records
        items = plan.items.count - differences.count
        unmapped = plan.unmapped
        leftOut = (plan.leftOut + differences).map {
            LeftOut(array: $0.array, index: $0.index, field: $0.field, reason: $0.reason)
        }
    }
}
