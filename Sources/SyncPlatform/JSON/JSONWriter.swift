/// Writes JSON, member by member, in the order given and without white space.
///
/// Text must be valid UTF-8; only quotes, backslashes and control characters are escaped.
package struct JSONWriter {
    /// What was written so far.
    package private(set) var bytes: [UInt8]
    // Whether the next key or element needs a comma before it.
    private var follows = false

    /// Begins to write behind what `bytes` holds.
    package init(appendingTo bytes: [UInt8] = []) { self.bytes = bytes }

    /// Opens an object.
    package mutating func beginObject() { open(UInt8(ascii: "{")) }
    /// Closes an object.
    package mutating func endObject() { close(UInt8(ascii: "}")) }
    /// Opens an array.
    package mutating func beginArray() { open(UInt8(ascii: "[")) }
    /// Closes an array.
    package mutating func endArray() { close(UInt8(ascii: "]")) }

    /// Writes a key; its value is what is written next.
    package mutating func key(_ key: Span<UInt8>) {
        separate()
        quoted(key)
        bytes.append(UInt8(ascii: ":"))
        follows = false
    }

    /// Writes a key; its value is what is written next.
    package mutating func key(_ key: String) { self.key(key.utf8Span.span) }

    /// Writes a string.
    package mutating func string(_ text: Span<UInt8>) {
        separate()
        quoted(text)
        follows = true
    }

    /// Writes a string.
    package mutating func string(_ text: String) { string(text.utf8Span.span) }

    /// Writes an integer.
    package mutating func integer(_ number: some BinaryInteger) {
        plain(String(number))
    }

    /// Writes a finite number so that it reads back as the same.
    package mutating func double(_ number: Double) {
        precondition(number.isFinite, "JSON has no such number")
        plain("\(number)")
    }

    /// Writes a truth value.
    package mutating func bool(_ value: Bool) { plain(value ? "true" : "false") }

    /// Writes `null`.
    package mutating func null() { plain("null") }

    /// Writes a value that was parsed, whatever is in it.
    package mutating func value(_ value: JSONValue, of parser: JSONParser) {
        switch parser.kind(value) {
        case .object:
            beginObject()
            var members = parser.members(value)
            while let member = parser.next(&members) {
                parser.withString(member.key) { key($0) }
                self.value(member.value, of: parser)
            }
            endObject()
        case .array:
            beginArray()
            var elements = parser.elements(value)
            while let element = parser.next(&elements) { self.value(element, of: parser) }
            endArray()
        case .string:
            parser.withString(value) { string($0) }
        case .integer:
            if let number = parser.uint64(value) {
                integer(number)
            } else {
                integer(parser.int64(value) ?? 0)
            }
        case .double: double(parser.double(value) ?? 0)
        case .bool: bool(parser.bool(value) ?? false)
        case .null: null()
        }
    }

    private mutating func open(_ bracket: UInt8) {
        separate()
        bytes.append(bracket)
        follows = false
    }

    private mutating func close(_ bracket: UInt8) {
        bytes.append(bracket)
        follows = true
    }

    private mutating func plain(_ text: String) {
        separate()
        bytes.append(contentsOf: text.utf8)
        follows = true
    }

    private mutating func separate() {
        if follows { bytes.append(UInt8(ascii: ",")) }
    }

    private mutating func quoted(_ text: Span<UInt8>) {
        bytes.append(UInt8(ascii: "\""))
        text.withUnsafeBufferPointer { text in
            var clean = 0
            for index in text.indices {
                let byte = text[index]
                guard byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
                else { continue }
                bytes.append(contentsOf: text[clean..<index])
                clean = index + 1
                escape(byte)
            }
            bytes.append(contentsOf: text[clean...])
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private mutating func escape(_ byte: UInt8) {
        bytes.append(UInt8(ascii: "\\"))
        switch byte {
        case 0x08: bytes.append(UInt8(ascii: "b"))
        case 0x09: bytes.append(UInt8(ascii: "t"))
        case 0x0A: bytes.append(UInt8(ascii: "n"))
        case 0x0C: bytes.append(UInt8(ascii: "f"))
        case 0x0D: bytes.append(UInt8(ascii: "r"))
        case 0x00..<0x20:
            let digits = Array("0123456789abcdef".utf8)
            bytes.append(contentsOf: "u00".utf8)
            bytes.append(digits[Int(byte >> 4)])
            bytes.append(digits[Int(byte & 15)])
        default: bytes.append(byte)
        }
    }
}
