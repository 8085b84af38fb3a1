@testable import LazySync
@testable import TestSupport

extension MergeRow {
    /// All rows, in the order of docs/DESIGN.md.
    static let all = wholeItems + fields + attachments + addresses + limits

    static let wholeItems = [
        MergeRow(
            "changed to the same", base: item("a"), local: item("b"), remote: item("b"),
            shown: item("b"), sent: false),
        MergeRow(
            "changed here only", base: item("a"), local: item("b"), remote: item("a"),
            shown: item("b"), sent: true),
        MergeRow(
            "changed there only", base: item("a"), local: item("a"), remote: item("b"),
            shown: item("b"), sent: false),
        MergeRow(
            "removed there only", base: item("a"), local: item("a"), remote: .removed,
            shown: .removed, sent: false),
        MergeRow(
            "removed here only", base: item("a"), local: .removed, remote: item("a"),
            shown: .removed, sent: true),
        MergeRow(
            "changed here, removed there", base: item("a"), local: item("b"), remote: .removed,
            shown: item("b"), sent: true),
        MergeRow(
            "removed here, changed there", base: item("a"), local: .removed, remote: item("b"),
            shown: item("b"), sent: false),
        MergeRow(
            "removed on both sides", base: item("a"), local: .removed, remote: .removed,
            shown: .removed, sent: false),
        MergeRow(
            "added here, never there", base: .absent, local: item("a"), remote: .absent,
            shown: item("a"), sent: true),
        MergeRow(
            "added here, removed there", base: .absent, local: item("a"), remote: .removed,
            shown: item("a"), sent: true),
        MergeRow(
            "added here and removed again, never there", base: .absent, local: .removed,
            remote: .absent, shown: .removed, sent: false),
        MergeRow(
            "brought back here, still removed there", base: .removed, local: item("a"),
            remote: .removed, shown: item("a"), sent: true),
        MergeRow(
            "removed on both sides, then brought back there", base: .removed, local: .removed,
            remote: item("a"), shown: item("a"), sent: false),
        MergeRow(
            "here, and the server no longer knows of it", base: item("a"), local: item("a"),
            remote: .absent, shown: item("a"), sent: true),
        MergeRow(
            "never here, and there", base: .absent, local: .absent, remote: item("a"),
            shown: item("a"), sent: false),
    ]

    static let fields = [
        MergeRow(
            "one field here, another there", base: item("a", "x"), local: item("b", "x"),
            remote: item("a", "y"), shown: item("b", "y"), sent: true),
        MergeRow(
            "a field here, the same and another there", base: item("a", "x"),
            local: item("b", "x"), remote: item("b", "y"), shown: item("b", "y"), sent: false),
        MergeRow(
            "the title on both sides", base: item("a", "x"), local: item("b", "x"),
            remote: item("c", "x", at: "2"), shown: item("b", "x", at: "2"), sent: true,
            copy: draft("c (conflict copy)", "x", at: "2")),
        MergeRow(
            "the text on both sides", base: item("a", "x"), local: item("b", "y"),
            remote: item("a", "z"), shown: item("b", "y"), sent: true,
            copy: draft("a (conflict copy)", "z")),
        MergeRow(
            "the text changed here, taken away there", base: item("a", "x"),
            local: item("a", "y"), remote: item("a"), shown: item("a", "y"), sent: true),
        MergeRow(
            "the text taken away here, changed there", base: item("a", "x"), local: item("a"),
            remote: item("a", "y"), shown: item("a"), sent: true,
            copy: draft("a (conflict copy)", "y")),
        MergeRow(
            "the times on both sides", base: item("a", at: "1"), local: item("a", at: "2"),
            remote: item("a", at: "3"), shown: item("a", at: "2"), sent: true),
        MergeRow(
            "two items under one id", base: .absent, local: item("a", "x"),
            remote: item("a", "y", at: "1"), shown: item("a", "x"), sent: true,
            copy: draft("a (conflict copy)", "y", at: "1")),
        MergeRow(
            "the title of a conflict copy on both sides", base: item("a (conflict copy)"),
            local: item("b (conflict copy)"), remote: item("c (conflict copy)"),
            shown: item("b (conflict copy)"), sent: true, copy: draft("c (conflict copy)")),
    ]

    static let attachments = [
        MergeRow(
            "an attachment changed on one side", base: item("a", [file(1, "A"), file(2, "B")]),
            local: item("a", [file(1, "C"), file(2, "B")]),
            remote: item("a", [file(1, "A"), file(2, "B", name: "m")]),
            shown: item("a", [file(1, "C"), file(2, "B", name: "m")]), sent: true),
        MergeRow(
            "an attachment removed on one side", base: item("a", [file(1, "A"), file(2, "B")]),
            local: item("a", [file(2, "B")]), remote: item("a", [file(1, "A")]),
            shown: item("a"), sent: true),
        MergeRow(
            "an attachment changed here, removed there", base: item("a", [file(1, "A")]),
            local: item("a", [file(1, "A", name: "m")]), remote: item("a"),
            shown: item("a", [file(1, "A", name: "m")]), sent: true),
        MergeRow(
            "an attachment removed here, changed there", base: item("a", [file(1, "A")]),
            local: item("a"), remote: item("a", [file(1, "B")]),
            shown: item("a", [file(1, "B")]), sent: false),
        MergeRow(
            "an attachment's name here, its bytes there", base: item("a", [file(1, "A")]),
            local: item("a", [file(1, "A", name: "m")]),
            remote: item("a", [file(1, "B", size: 2, thumb: "T")]),
            shown: item("a", [file(1, "B", name: "m", size: 2, thumb: "T")]), sent: true),
        MergeRow(
            "an attachment's name on both sides", base: item("a", [file(1, "A")]),
            local: item("a", [file(1, "A", name: "l")]),
            remote: item("a", "x", [file(1, "A", name: "r")]),
            shown: item("a", "x", [file(1, "A", name: "l")]), sent: true,
            copy: draft("a (conflict copy)", "x", [file(1, "A", name: "r")])),
        MergeRow(
            "an attachment's bytes on both sides", base: item("a", [file(1, "A"), file(2, "X")]),
            local: item("a", [file(1, "B", thumb: "U"), file(2, "X")]),
            remote: item("a", [file(1, "C", name: "m", thumb: "V"), file(2, "X")]),
            shown: item("a", [file(1, "B", name: "m", thumb: "U"), file(2, "X")]), sent: true,
            copy: draft("a (conflict copy)", [file(1, "C", name: "m", thumb: "V")])),
        MergeRow(
            "one attachment added here, one there", base: item("a", [file(1, "A")]),
            local: item("a", [file(2, "B"), file(1, "A")]),
            remote: item("a", [file(3, "C"), file(1, "A")]),
            shown: item("a", [file(3, "C"), file(1, "A"), file(2, "B")]), sent: true),
        MergeRow(
            "two attachments added under one id", base: item("a"),
            local: item("a", [file(1, "A")]), remote: item("a", [file(1, "B")]),
            shown: item("a", [file(1, "A")]), sent: true,
            copy: draft("a (conflict copy)", [file(1, "B")])),
        MergeRow(
            "only the thumbnail on both sides", base: item("a", [file(1, "A")]),
            local: item("a", [file(1, "A", thumb: "T")]),
            remote: item("a", [file(1, "A", thumb: "U")]),
            shown: item("a", [file(1, "A", thumb: "T")]), sent: true),
        MergeRow(
            "the bytes here, only the thumbnail there", base: item("a", [file(1, "A")]),
            local: item("a", [file(1, "B", thumb: "T")]),
            remote: item("a", [file(1, "A", thumb: "U")]),
            shown: item("a", [file(1, "B", thumb: "T")]), sent: true),
    ]

    static let addresses = [
        MergeRow(
            "an address is absent there, and the size stays",
            base: item("a", [file(1, "A", thumb: "T")]),
            local: item("a", "x", [file(1, "A", thumb: "T")]),
            remote: item("b", [withoutAddresses(file(1, "A", thumb: "T"))]),
            shown: item("b", "x", [file(1, "A", thumb: "T")]), sent: true),
        MergeRow(
            "an address is absent there, and nothing else differs",
            base: item("a", [file(1, "A")]), local: item("b", [file(1, "A")]),
            remote: item("b", [file(1, nil)]), shown: item("b", [file(1, "A")]), sent: false),
        MergeRow(
            "an address is absent there, with another size", base: item("a", [file(1, "A")]),
            local: item("a", "x", [file(1, "A")]),
            remote: item("a", [file(1, nil, size: 2)]),
            shown: item("a", "x", [file(1, nil, size: 2)]), sent: true),
        MergeRow(
            "an address was taken away there", base: item("a", [file(1, "A")]),
            local: item("b", [file(1, "A")]), remote: item("a", [fileWithoutBytes(1)]),
            shown: item("b", [fileWithoutBytes(1)]), sent: true),
        MergeRow(
            "the bytes changed here, their address taken away there",
            base: item("a", [file(1, "A")]), local: item("a", [file(1, "B")]),
            remote: item("a", [fileWithoutBytes(1)]), shown: item("a", [file(1, "B")]),
            sent: true),
        MergeRow(
            "the bytes on both sides, and no address here", base: item("a", [file(1, "A")]),
            local: item("a", [file(1, nil, name: "m", size: 2)]),
            remote: item("a", [file(1, "B", size: 3)]),
            shown: item("a", [file(1, "B", name: "m", size: 3)]), sent: true),
        MergeRow(
            "a key wrapped anew there", base: item("a", [file(1, "A")]),
            local: item("b", [file(1, "A")]), remote: item("a", [file(1, "A", wrap: 1)]),
            shown: item("b", [file(1, "A", wrap: 1)]), sent: true),
        MergeRow(
            "a key wrapped anew there, removed here", base: item("a", [file(1, "A")]),
            local: .removed, remote: item("a", [file(1, "A", wrap: 1)]), shown: .removed,
            sent: true),
    ]

    private static func withoutAddresses(_ file: ItemDraft.Attachment) -> ItemDraft.Attachment {
        var file = file
        file.ref = .absent
        file.thumb?.ref = .absent
        return file
    }
}

extension MergeRow {
    private static let many = (1...999).map { file($0, nil) }
    private static let thousand = (2_000..<3_000).map { file($0, nil) }
    private static let long = String(repeating: "x", count: 600_000)
    private static let longNames = (1...600).map {
        file($0, nil, name: String(repeating: "n", count: 1_000))
    }

    static let limits = [
        MergeRow(
            "more than 1,000 attachments together", base: item("a", many),
            local: item("a", many + [file(2_000, "A"), file(2_001, "B")]),
            remote: item("a", "x", many + [file(3_000, "C")]),
            shown: item("a", "x", many + [file(3_000, "C")]), sent: false,
            copy: draft("a (conflict copy)", "x", [file(2_000, "A"), file(2_001, "B")])),
        MergeRow(
            "one record under two ids", base: item("a", [file(1, "A")]),
            local: item("a", [file(1, "A", name: "m")]), remote: item("a", [file(2, "A")]),
            shown: item("a", [file(2, "A")]), sent: false,
            copy: draft("a (conflict copy)", [file(1, "A", name: "m")])),
        MergeRow(
            "more than 1 MiB together", base: item("a"), local: item("b", long),
            remote: item("a", longNames), shown: item("a", longNames), sent: false,
            copy: draft("b (conflict copy)", long)),
        MergeRow(
            "the copy would have more than 1 MiB", base: item("a"),
            local: item("b", "y", longNames), remote: item("a", long, thousand),
            shown: item("a", long, thousand), sent: false,
            copy: draft("b (conflict copy)", "y", longNames)),
    ]
}
