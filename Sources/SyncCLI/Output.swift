import LazySync

/// Turns results into lines: JSON for programs, text for people.
///
/// Pure: nothing is written here.
struct Output: Sendable {
    /// Whether results are JSON.
    var json = false
    /// The columns of the terminal on standard output; nil if it is none.
    var columns: Int?

    /// One result: an object, or its text.
    func lines(_ object: @autoclosure () -> JSON, text: @autoclosure () -> [String]) -> [String] {
        json ? [object().text] : text()
    }

    /// Labels and values under each other; a value that is nil is left out.
    func facts(_ facts: KeyValuePairs<String, String?>) -> [String] {
        let labels = facts.map(\.key.count).max() ?? 0
        return facts.compactMap { label, value in
            value.map { "\(label.padded(to: labels + 2))\($0.visible)" }
        }
    }

    /// A table's lines, aligned on a terminal.
    func table(_ columns: [Table.Column], _ rows: [[String]]) -> [String] {
        Table(columns: columns, rows: rows).lines(width: self.columns)
    }

    /// An id as it is shown in a list: all of it for programs, its beginning for people.
    func id(_ id: some CustomStringConvertible) -> String {
        columns == nil ? id.description : String(id.description.prefix(8))
    }

    /// A size as it is shown in a list: bytes for programs.
    func size(_ bytes: Int64) -> String {
        columns == nil ? String(bytes) : Quantity.size(bytes)
    }

    /// A failure: one object, or two lines at the most.
    func lines(_ failure: Failure) -> [String] {
        let object: JSON = [
            "error": .string(failure.message),
            "code": .string(failure.code),
            "exit": .integer(Int64(failure.exit.rawValue)),
            "hint": .string(orNull: failure.hint),
            "id": failure.id.map(JSON.string),
            "nextAttempt": failure.nextAttempt.map { .string($0.description) },
        ]
        return lines(
            object,
            text: ["sync: error: \(failure.message.visible)"]
                + lines(hints: failure.hint.map { [$0] } ?? []))
    }
}

extension Output {
    /// Failures that stand together; for people, what to do stands once behind all that it helps.
    func lines(_ failures: [Failure]) -> [String] {
        guard !json else { return failures.flatMap { lines($0) } }
        return failures.indices.flatMap { index in
            let failure = failures[index]
            let isLast = index == failures.count - 1 || failures[index + 1].hint != failure.hint
            return lines(isLast ? failure : failure.withoutHint)
        }
    }

    /// What to do about failures that were printed without it.
    func lines(hints: [String]) -> [String] { hints.map { "sync: hint: \($0.visible)" } }
}

// The shapes that several verbs print.
extension Output {
    /// A list of attachments.
    ///
    /// What has still to be sent says so at the end of its line; with `pins`, what is pinned too.
    func lines(_ attachments: [Attachment], pins: Bool = false) -> [String] {
        guard !json else { return attachments.map(\.json.text) }
        let pins = pins && attachments.contains(where: \.isPinned)
        let uploads = attachments.contains { $0.upload != nil }
        let columns: [Table.Column] =
            [
                .init(), .init(), .init(alignment: .right), .init(isFlexible: true),
                .init(isFlexible: true), .init(isFlexible: true),
            ] + (uploads ? [.init()] : []) + (pins ? [.init()] : [])
        let rows = attachments.map { attachment in
            [
                id(attachment.key.id), attachment.state.text, size(attachment.size),
                attachment.type.visible, attachment.name.visible, attachment.itemTitle.visible,
            ] + (uploads ? [attachment.upload?.text ?? ""] : [])
                + (pins ? [attachment.isPinned ? "pinned" : ""] : [])
        }
        return table(columns, rows)
    }
}

extension Attachment {
    /// The object of `list`.
    var json: JSON {
        [
            "id": .string(key.id.description),
            "item": .string(key.item.description),
            "title": .string(itemTitle),
            "name": .string(name),
            "type": .string(type),
            "size": .integer(size),
            "state": .string(state.name),
            "reason": state.reason.map { .string($0.rawValue) },
            "thumb": .string(orNull: thumbnail?.name),
            "pinned": .bool(isPinned),
            "upload": .string(orNull: upload?.name),
            "uploadReason": upload?.reason.map { .string($0.rawValue) },
        ]
    }
}

extension UploadState {
    /// The state in a line of text: `waiting`, `refused(storeFull)`.
    var text: String {
        guard let reason else { return name }
        return "\(name)(\(reason.rawValue))"
    }
}

extension BlobState {
    /// The words of all states, in the order of their lives.
    static let names = ["remote", "pending", "here", "unavailable"]

    /// The state in a line of text: `here`, `unavailable(notFound)`.
    var text: String {
        guard let reason else { return name }
        return "\(name)(\(reason.rawValue))"
    }
}
