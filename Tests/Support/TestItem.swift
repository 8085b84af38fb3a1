import SyncPlatform

@testable import LazySync

/// A file that an item is to have attached.
struct TestFile {
    var name: String
    var type: String
    var content: [UInt8]
    /// The content of the thumbnail, if it is to have one.
    var thumb: [UInt8]?

    init(
        _ name: String, _ content: [UInt8], type: String = "application/octet-stream",
        thumb: [UInt8]? = nil
    ) {
        self.name = name
        self.type = type
        self.content = content
        self.thumb = thumb
    }

    init(_ name: String, _ text: String, type: String = "text/plain") {
        self.init(name, Array(text.utf8), type: type)
    }

    /// A file of bytes that follow from its name and size.
    init(_ name: String, size: Int, type: String = "application/octet-stream", thumb: Int? = nil) {
        self.init(
            name, Self.bytes(size, name), type: type,
            thumb: thumb.map { Self.bytes($0, name + " thumb") })
    }

    /// A photo with a thumbnail.
    static func photo(_ name: String, size: Int = 300_000, thumb: Int = 3_000) -> TestFile {
        TestFile(name, size: size, type: "image/jpeg", thumb: thumb)
    }

    /// Bytes that look random and are the same each time.
    static func bytes(_ count: Int, _ seed: String) -> [UInt8] {
        let number = Hash.blake2b256(seed.utf8Span.span).span.bigEndian(at: 0, as: UInt64.self)
        return SeededRandom(seed: number).bytes(count)
    }
}

/// One item as its author means it; what is written of it can be made wrong member by member.
struct TestItem {
    /// An address as the payload is to have it.
    enum Ref: Equatable {
        case absent, null
        case text(String)
    }

    struct Thumb {
        var type: String
        var size: UInt64
        var ref: Ref
    }

    struct Attachment {
        var id: AttachmentID
        var name: String
        var type: String
        var size: UInt64
        var ref: Ref
        var thumb: Thumb?
    }

    let id: EntryID
    var title: String
    var text: String?
    var created: String?
    var modified: String?
    var attachments: [Attachment] = []

    /// The name of an attachment in the whole account.
    func key(_ index: Int = 0) -> AttachmentKey {
        AttachmentKey(item: id, id: attachments[index].id)
    }

    /// The record that an attachment's address names; nil if it has none.
    func record(_ index: Int = 0) -> String? { attachments[index].ref.record }

    /// The record that a thumbnail's address names.
    func thumbRecord(_ index: Int = 0) -> String? { attachments[index].thumb?.ref.record }

    /// The payload, as FORMAT.md has it.
    var payload: [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        for (key, value) in [
            ("title", title), ("text", text), ("created", created), ("modified", modified),
        ] {
            guard let value else { continue }
            writer.key(key)
            writer.string(value)
        }
        writer.key("attachments")
        writer.beginArray()
        for attachment in attachments {
            writer.beginObject()
            writer.key("id")
            writer.string("\(attachment.id)")
            writer.key("name")
            writer.string(attachment.name)
            writer.key("type")
            writer.string(attachment.type)
            writer.key("size")
            writer.integer(attachment.size)
            attachment.ref.write(to: &writer)
            if let thumb = attachment.thumb {
                writer.key("thumb")
                writer.beginObject()
                writer.key("type")
                writer.string(thumb.type)
                writer.key("size")
                writer.integer(thumb.size)
                thumb.ref.write(to: &writer)
                writer.endObject()
            }
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
        return writer.bytes
    }
}

extension TestItem.Ref {
    /// The record's name; nil if this is no address.
    var record: String? {
        guard case .text(let text) = self else { return nil }
        return CloudBlobRef(text)?.recordName
    }

    fileprivate func write(to writer: inout JSONWriter) {
        switch self {
        case .absent: return
        case .null:
            writer.key("ref")
            writer.null()
        case .text(let text):
            writer.key("ref")
            writer.string(text)
        }
    }
}
