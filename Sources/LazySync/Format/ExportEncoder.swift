internal import SyncPlatform

extension ExportLine {
    /// The line with its newline: the same values give the same bytes.
    var bytes: [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        switch self {
        case .header(let header): header.write(to: &writer)
        case .entry(let entry): entry.write(to: &writer)
        case .staged(let staged): staged.write(to: &writer)
        case .end(let end): end.write(to: &writer)
        }
        writer.endObject()
        return writer.bytes + [UInt8(ascii: "\n")]
    }
}

extension JSONWriter {
    fileprivate mutating func member(_ key: String, _ text: String?) {
        guard let text else { return }
        self.key(key)
        string(text)
    }

    fileprivate mutating func member(_ key: String, _ number: some BinaryInteger) {
        self.key(key)
        integer(number)
    }

    fileprivate mutating func member(_ key: String, binary: [UInt8]?) {
        guard let binary else { return }
        self.key(key)
        string(Base64URL.encode(binary.span))
    }

    fileprivate mutating func member(
        _ key: String, _ facts: EntryFacts, _ leaf: SetDigest
    ) {
        member(key, "\(facts.id)")
        member("version", facts.version)
        member("epoch", facts.epoch)
        member("kind", facts.kind == .live ? "item" : "tombstone")
        member("leaf", binary: leaf.bytes)
    }
}

extension ExportHeader {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.member("format", ExportLine.format)
        writer.member("version", ExportLine.version)
        writer.member("minor", minor)
        writer.member("account", "\(account)")
        writer.member("name", name)
        writer.member("server", server)
        writer.member("head", binary: head?.bytes)
    }
}

extension ExportedEntry {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.member("entry", facts, leaf)
        guard let item else { return }
        writer.member("title", item.title)
        writer.member("text", item.text)
        writer.member("created", item.created)
        writer.member("modified", item.modified)
        writer.member("payload", binary: item.payload)
        writer.key("attachments")
        writer.beginArray()
        for attachment in item.attachments { attachment.write(to: &writer) }
        writer.endArray()
    }
}

extension ExportedEntry.Attachment {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("id", "\(id)")
        writer.member("position", position)
        writer.member("name", name)
        writer.member("type", type)
        writer.member("size", size)
        writer.member("address", address.word)
        writer.member("ref", ref?.description)
        if let thumb {
            writer.key("thumb")
            writer.beginObject()
            writer.member("type", thumb.type)
            writer.member("size", thumb.size)
            writer.member("address", thumb.address.word)
            writer.member("ref", thumb.ref?.description)
            writer.endObject()
        }
        writer.endObject()
    }
}

extension ExportedStaged {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.member("staged", facts, leaf)
        writer.member("sealed", binary: sealed)
    }
}

extension ExportEnd {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.member("end", entries)
        writer.member("attachments", attachments)
        writer.member("staged", staged)
        writer.member("digest", binary: digest)
    }
}
