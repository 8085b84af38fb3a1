import LazySync

// What the verbs that change items have in common.

extension Option {
    static let title = value("title", "T")
    static let textFile = value("text-file", "F|-")
}

extension Arguments {
    /// More than this is no text of an item.
    static let textLimit = 1 << 20

    /// The text of the file that `--text-file` names, as it is.
    ///
    /// - Throws: a failure with exit 2 for what is no text, or too much of it.
    func text() throws(Failure) -> String? {
        guard let path = self[.textFile] else { return nil }
        let bytes = try Host.read(path, limit: Self.textLimit)
        guard let text = String(validating: bytes, as: UTF8.self) else {
            let file = path == "-" ? "standard input" : "'\(path)'"
            throw Failure(
                usage: "\(file) is not UTF-8 text", hint: "add it as a file: sync add FILE")
        }
        return text
    }
}

/// What a change was about: an item, or an attachment of one.
struct Changed: Sendable, Hashable {
    let item: EntryID
    /// nil for all of the item.
    var attachment: AttachmentID?
    /// The file that was added, as it was named.
    var file: String?

    /// `ITEM`, or `ITEM/ID`: the word that verbs take for it.
    var word: String { attachment.map { "\(item)/\($0)" } ?? "\(item)" }

    var json: JSON {
        [
            "item": .string(item.description),
            "id": .string(orNull: attachment?.description),
            "file": file.map(JSON.string),
        ]
    }
}

extension Output {
    /// What was changed, a word a line for programs: each is what `open`, `edit` or `remove` take.
    func lines(_ changed: [Changed]) -> [String] {
        if json { return changed.map(\.json.text) }
        guard columns != nil else { return changed.map(\.word) }
        return table(
            [.init(), .init(isFlexible: true)],
            changed.map { [short($0.item, $0.attachment), ($0.file ?? "").visible] })
    }

    /// The word for an item or an attachment, as it is shown in a list.
    func short(_ item: EntryID, _ attachment: AttachmentID?) -> String {
        attachment.map { "\(id(item))/\(id($0))" } ?? id(item)
    }
}
