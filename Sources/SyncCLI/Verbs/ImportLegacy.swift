import LazySync

extension Option {
    fileprivate static let map = value("map", "MAP.json")
    fileprivate static let dryRun = flag("dry-run")
}

extension Verb {
    static let importLegacy = Verb(
        name: "import-legacy",
        summary: "read an old key-value store (only with --dry-run, so far)",
        usage: """
            usage: sync import-legacy FILE --map MAP.json --dry-run

            Reads an old key-value store, a property list (binary or XML) or JSON: a dictionary of arrays
            of records. The map says which array holds items and which fields are their title, text and
            times. Every record is compared with what would be read back of it; what would be left out is
            named, with the reason. The old file is only read. Writing the records is not in this version:
            an item that was made here needs the outbox to reach the server, and there is none yet.

            options
              --map MAP.json      {"version":1,"arrays":[{"array":"notes","title":"name","text":"body",
                                  "created":"date","modified":"changed","times":"unix","skip":["id"]}]};
                                  times: how numbers are meant, unix, milliseconds or reference (2001)
              --dry-run           say what would be imported; needed

            examples
              sync import-legacy notes.plist --map map.json --dry-run
              sync import-legacy old.json --map map.json --dry-run --json | jq .leftOut
            """,
        operands: .one("FILE"),
        options: [.map, .dryRun],
        run: importLegacy)

    private static func importLegacy(_ context: Context) async throws -> ExitCode {
        let arguments = context.arguments
        let map = try arguments.required(.map)
        guard arguments.has(.dryRun) else {
            throw Failure(
                .notPossible, code: "notYet", "nothing was imported: this version has no outbox",
                hint: "--dry-run says what would be imported")
        }
        let report = try await SyncEngine.planLegacyImport(of: arguments.operands[0], map: map)
        context.console.print(report.json, text: report.lines(context.console.output))
        return .done
    }
}

extension LegacyReport {
    fileprivate var json: JSON {
        [
            "records": .integer(records),
            "items": .integer(items),
            "imported": .integer(0),
            "leftOut": .array(
                leftOut.map { one in
                    [
                        "array": .string(one.array),
                        "index": .integer(orNull: one.index),
                        "field": .string(orNull: one.field),
                        "reason": .string(one.reason),
                    ]
                }),
            "unmapped": .object(
                unmapped.sorted { $0.key < $1.key }.map {
                    .init(key: $0.key, value: .integer($0.value))
                }),
        ]
    }

    fileprivate func lines(_ output: Output) -> [String] {
        var lines = output.facts([
            "records": "\(records)",
            "items": "\(items), compared one by one",
            "imported": "0, a dry run",
            "left out": "\(leftOut.count)",
        ])
        for one in leftOut {
            let place = [one.array, one.index.map(String.init), one.field].compactMap { $0 }
            lines.append("  \(place.joined(separator: ".")): \(one.reason)".visible)
        }
        for (field, count) in unmapped.sorted(by: { $0.key < $1.key }) {
            lines.append("  \(field): the map does not name it, in \(count) records".visible)
        }
        return lines
    }
}
