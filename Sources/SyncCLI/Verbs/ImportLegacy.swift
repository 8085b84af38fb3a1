import LazySync

extension Option {
    fileprivate static let map = value("map", "MAP.json")
    fileprivate static let dryRun = flag("dry-run")
}

extension Verb {
    static let importLegacy = Verb(
        name: "import-legacy",
        summary: "take over the records of an old key-value store, once",
        usage: """
            usage: sync import-legacy FILE --map MAP.json [--dry-run]

            Takes over an old key-value store, a property list (binary or XML) or JSON: a dictionary of
            arrays of records. The map says which array holds items and which fields are their title,
            text and times. Every record is compared with what is read back of it; what is left out is
            named, with the reason. All of it is added or nothing, and the same record only once, however
            often this is run. The items wait to be sent, as all that is added. The old file is only read.

            options
              --map MAP.json      {"version":1,"arrays":[{"array":"notes","title":"name","text":"body",
                                  "created":"date","modified":"changed","times":"unix","skip":["id"]}]};
                                  times: how numbers are meant, unix, milliseconds or reference (2001)
              --dry-run           only say what would be imported; needs no account

            examples
              sync import-legacy notes.plist --map map.json --dry-run
              sync import-legacy notes.plist --map map.json && sync push
              sync import-legacy old.json --map map.json --json | jq .leftOut
            """,
        operands: .one("FILE"),
        options: [.map, .dryRun],
        run: importLegacy)

    private static func importLegacy(_ context: Context) async throws -> ExitCode {
        let arguments = context.arguments
        let map = try arguments.required(.map)
        let file = arguments.operands[0]
        let isDry = arguments.has(.dryRun)
        let report =
            isDry
            ? try await SyncEngine.planLegacyImport(of: file, map: map)
            : try await context.openEngine().importLegacy(of: file, map: map)
        context.console.print(
            report.json, text: report.lines(context.console.output, isDry: isDry))
        return .done
    }
}

extension LegacyReport {
    fileprivate var json: JSON {
        [
            "records": .integer(records),
            "items": .integer(items),
            "imported": .integer(imported),
            "known": .integer(known),
            "repeated": .bool(isRepeated),
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

    fileprivate func lines(_ output: Output, isDry: Bool) -> [String] {
        var lines = output.facts([
            "records": "\(records)",
            "items": "\(items), compared one by one",
            "imported": isRepeated
                ? "0, this file was imported before" : isDry ? "0, a dry run" : "\(imported)",
            "here before": known == 0 ? nil : "\(known)",
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
