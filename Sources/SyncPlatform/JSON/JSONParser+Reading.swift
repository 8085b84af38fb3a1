import Glibc

/// Goes through the members of an object in the order in which they are written.
package struct JSONMembers: Sendable {
    var index: Int
    let end: Int
    let document: UInt64
}

/// Goes through the elements of an array.
package struct JSONElements: Sendable {
    var index: Int
    let end: Int
    let document: UInt64
}

extension JSONParser {
    /// Begins a walk through an object; through nothing if it is none.
    package func members(_ value: JSONValue) -> JSONMembers {
        let word = word(value)
        let isObject = tag(word) == UInt8(ascii: "{")
        return JSONMembers(
            index: value.index + 1, end: isObject ? Int(word & 0xFFFF_FFFF) - 1 : value.index + 1,
            document: value.document)
    }

    /// Answers the next member, or nil at the end.
    package func next(_ members: inout JSONMembers) -> (key: JSONValue, value: JSONValue)? {
        guard members.index < members.end else { return nil }
        let key = JSONValue(index: members.index, document: members.document)
        _ = word(key)
        let value = JSONValue(index: members.index + 1, document: members.document)
        members.index = after(value.index)
        return (key, value)
    }

    /// Begins a walk through an array; through nothing if it is none.
    package func elements(_ value: JSONValue) -> JSONElements {
        let word = word(value)
        let isArray = tag(word) == UInt8(ascii: "[")
        return JSONElements(
            index: value.index + 1, end: isArray ? Int(word & 0xFFFF_FFFF) - 1 : value.index + 1,
            document: value.document)
    }

    /// Answers the next element, or nil at the end.
    package func next(_ elements: inout JSONElements) -> JSONValue? {
        guard elements.index < elements.end else { return nil }
        let element = JSONValue(index: elements.index, document: elements.document)
        _ = word(element)
        elements.index = after(element.index)
        return element
    }

    /// Finds a member by its key; nil if there is none or if the value is no object.
    package func member(_ key: StaticString, of object: JSONValue) -> JSONValue? {
        var members = members(object)
        while let member = next(&members) {
            if string(member.key, is: key) { return member.value }
        }
        return nil
    }

    /// Lends the bytes of a string (UTF-8, unescaped); nil if the value is none.
    package func withString<R, E: Error>(
        _ value: JSONValue, _ body: (_ bytes: Span<UInt8>) throws(E) -> R
    ) throws(E) -> R? {
        let word = word(value)
        guard tag(word) == UInt8(ascii: "\"") else { return nil }
        let start = strings + Int(payload(word))
        let span = Span<UInt8>(_unsafeStart: start + 4, count: length(start))
        return try body(span)
    }

    /// Answers a string; nil if the value is none.
    package func string(_ value: JSONValue) -> String? {
        withString(value) { bytes in
            bytes.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
        }
    }

    /// Tells whether the value is a string of exactly these bytes.
    package func string(_ value: JSONValue, is text: StaticString) -> Bool {
        let word = word(value)
        guard tag(word) == UInt8(ascii: "\"") else { return false }
        let start = strings + Int(payload(word))
        return length(start) == text.utf8CodeUnitCount
            && memcmp(start + 4, text.utf8Start, text.utf8CodeUnitCount) == 0
    }

    /// Answers how many bytes a string has; nil if the value is none.
    package func stringCount(_ value: JSONValue) -> Int? {
        let word = word(value)
        return tag(word) == UInt8(ascii: "\"") ? length(strings + Int(payload(word))) : nil
    }

    /// Appends the bytes of a string and answers where they are; nil if the value is none.
    package func append(_ value: JSONValue, to bytes: inout [UInt8]) -> Range<Int>? {
        let word = word(value)
        guard tag(word) == UInt8(ascii: "\"") else { return nil }
        let start = strings + Int(payload(word))
        let first = bytes.count
        bytes.append(contentsOf: UnsafeBufferPointer(start: start + 4, count: length(start)))
        return first..<bytes.count
    }

    @inline(__always) private func length(_ string: UnsafePointer<UInt8>) -> Int {
        Int(UnsafeRawPointer(string).loadUnaligned(as: UInt32.self))
    }
}
