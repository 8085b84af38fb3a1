internal import SyncPlatform

/// What an old key-value store brings, or would bring.
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
    /// Records that become items, each read back as it is.
    public var items = 0
    /// Items that were added; 0 where it was only planned.
    public var imported = 0
    /// Items that were here before, be it since somebody removed them.
    public var known = 0
    /// Whether this very file was imported before by this very map: then nothing is done.
    public var isRepeated = false
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
            try await Blocking.run { LegacyReport(try LegacySource(path, map: map).plan) }
        }
    }

    /// Adds what an old key-value store holds, as items that wait to be sent: once, without doubles,
    /// all of it or nothing, and compared record for record with what is read back.
    ///
    /// The file is only read. A record that says the same is the same item each time, so one that is
    /// here, or was removed here, is not added again.
    /// - Throws: `invalidInput` if the file or the map is none; `storage` if a record does not read
    ///   back as it was: then nothing was added.
    public func importLegacy(
        of path: String, map: String
    ) async throws(SyncError) -> LegacyReport {
        try await working("import an old file") { () async throws(SyncError) in
            let source = try await SyncError.mapping("read an old file") {
                try await Blocking.run { try LegacySource(path, map: map) }
            }
            return try await self.change("import an old file") { store in
                try store.importLegacy(source)
            }
        }
    }
}

/// An old file and what becomes of its records.
struct LegacySource: Sendable {
    let plan: LegacyPlan
    /// Stands for the file's and the map's very bytes.
    let name: String

    /// Reads both.
    ///
    /// It blocks: not for the cooperative pool.
    init(_ path: String, map mapPath: String) throws {
        let mapBytes = try Self.read(mapPath, limit: 1 << 20)
        let bytes = try Self.read(path, limit: LegacyLimits.file)
        let map = try Self.parse(mapPath) { () throws(LegacyProblem) in try LegacyMap(mapBytes) }
        plan = try Self.parse(path) { () throws(LegacyProblem) in
            try LegacyPlan(try LegacyFile.read(bytes), map)
        }
        let parts = [Hash.blake2b256(bytes.span), Hash.blake2b256(mapBytes.span)]
        name = "import-legacy " + parts.map { Hex.encode($0.span) }.joined(separator: " ")
    }

    private static func read(_ path: String, limit: Int) throws(SyncError) -> [UInt8] {
        do throws(FileError) {
            return try File(chosenByUser: path).readAll(limit: limit)
        } catch {
            throw refusal(path, "\(error)")
        }
    }

    private static func parse<Value>(
        _ path: String, _ body: () throws(LegacyProblem) -> Value
    ) throws(SyncError) -> Value {
        do throws(LegacyProblem) {
            return try body()
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
        let differences = plan.differences(from: plan.payloads()).map(\.leftOut)
        records = plan.records
        items = plan.items.count - differences.count
        unmapped = plan.unmapped
        leftOut = (plan.leftOut + differences).map {
            LeftOut(array: $0.array, index: $0.index, field: $0.field, reason: $0.reason)
        }
    }
}
