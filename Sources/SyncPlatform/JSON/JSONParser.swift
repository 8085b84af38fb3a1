import CSimdJSON
import Synchronization

/// Names one value of the document that a parser holds; good until that parser parses again.
package struct JSONValue: Sendable {
    let index: Int
    let document: UInt64
}

/// Parses JSON and reads what it parsed; reuses its memory, so keep one for many documents.
///
/// Parsing refuses what the formats here refuse: a key twice in an object, too deep, too large.
/// A value is a number into the document, and asking with one of another document stops the
/// program: that is an error of ours, whatever a server sends.
package final class JSONParser {
    /// What kind of value it is.
    package enum Kind: Sendable, Equatable {
        case object, array, string, integer, double, bool, null
    }

    private let parser: OpaquePointer
    private let maxDepth: Int
    // Read dozens of times a document, and never lent out, so no two accesses can overlap; checking
    // that at run time took a third of all decoding.
    @exclusivity(unchecked) var tape: UnsafePointer<UInt64>
    @exclusivity(unchecked) var strings: UnsafePointer<UInt8>
    // Of all documents in the process, so that a value of another parser is never mistaken.
    @exclusivity(unchecked) private var document: UInt64 = 0
    @exclusivity(unchecked) private var duplicates = JSONDuplicates()

    private static let documents = Atomic<UInt64>(0)

    /// Makes a parser that refuses documents beyond these bounds.
    package init(maxBytes: Int = 64 << 20, maxDepth: Int = 32) {
        // simdjson counts a scalar within as a level too; the exact check is in `parse`.
        guard let parser = sync_json_parser_new(maxBytes, maxDepth + 1) else {
            preconditionFailure("no memory for a JSON parser")
        }
        self.parser = parser
        self.maxDepth = maxDepth
        tape = JSONParser.nothing
        strings = UnsafePointer(
            UnsafeRawPointer(JSONParser.nothing).assumingMemoryBound(to: UInt8.self))
    }

    deinit { sync_json_parser_free(parser) }

    /// Parses a document and answers its root.
    ///
    /// - Throws: `JSONError`; values of the document before are no longer good in any case.
    package func parse(_ bytes: Span<UInt8>) throws(JSONError) -> JSONValue {
        document = Self.documents.wrappingAdd(1, ordering: .relaxed).newValue
        var newTape: UnsafePointer<UInt64>?
        var newStrings: UnsafePointer<UInt8>?
        let code = bytes.withPointer { bytes, count in
            sync_json_parse(parser, bytes, count, &newTape, &newStrings)
        }
        guard code == Int32(SYNC_JSON_OK), let newTape, let newStrings else {
            throw switch code {
            case sync_json_too_deep: JSONError(.tooDeep)
            case sync_json_too_large: JSONError(.tooLarge)
            case sync_json_no_memory, Int32(SYNC_JSON_EXCEPTION): JSONError(.outOfMemory)
            default: JSONError(.syntax)
            }
        }
        tape = newTape
        strings = newStrings
        // The first word of the tape is 'r' and where the last one is.
        try duplicates.check(
            tape, end: Int(payload(tape[0])), strings: strings, maxDepth: maxDepth)
        return JSONValue(index: 1, document: document)
    }

    /// Tells what kind of value it is.
    package func kind(_ value: JSONValue) -> Kind {
        switch tag(word(value)) {
        case UInt8(ascii: "{"): .object
        case UInt8(ascii: "["): .array
        case UInt8(ascii: "\""): .string
        case UInt8(ascii: "l"), UInt8(ascii: "u"): .integer
        case UInt8(ascii: "d"): .double
        case UInt8(ascii: "t"), UInt8(ascii: "f"): .bool
        default: .null
        }
    }

    /// Answers the integer if it is one that 64 bits with a sign hold.
    ///
    /// `1.0` and `1e3` are no integers; `-0` is 0.
    package func int64(_ value: JSONValue) -> Int64? {
        guard tag(word(value)) == UInt8(ascii: "l") else { return nil }
        return Int64(bitPattern: tape[value.index + 1])
    }

    /// Answers the integer if it is one that 64 bits without a sign hold.
    package func uint64(_ value: JSONValue) -> UInt64? {
        let bits = tape[value.index + 1]
        switch tag(word(value)) {
        case UInt8(ascii: "u"): return bits
        case UInt8(ascii: "l"): return Int64(bitPattern: bits) >= 0 ? bits : nil
        default: return nil
        }
    }

    /// Answers the number if it was written with a fraction or an exponent.
    package func double(_ value: JSONValue) -> Double? {
        guard tag(word(value)) == UInt8(ascii: "d") else { return nil }
        return Double(bitPattern: tape[value.index + 1])
    }

    /// Answers the truth value, if it is one.
    package func bool(_ value: JSONValue) -> Bool? {
        switch tag(word(value)) {
        case UInt8(ascii: "t"): true
        case UInt8(ascii: "f"): false
        default: nil
        }
    }

    /// Tells whether it is `null`.
    package func isNull(_ value: JSONValue) -> Bool { tag(word(value)) == UInt8(ascii: "n") }

    func word(_ value: JSONValue) -> UInt64 {
        precondition(value.document == document, "a JSON value outlived its document")
        return tape[value.index]
    }

    @inline(__always) func tag(_ word: UInt64) -> UInt8 { UInt8(truncatingIfNeeded: word >> 56) }
    @inline(__always) func payload(_ word: UInt64) -> UInt64 { word & 0x00FF_FFFF_FFFF_FFFF }

    /// Answers the index after the value at `index`.
    @inline(__always) func after(_ index: Int) -> Int {
        let word = tape[index]
        switch tag(word) {
        // The low half of the word says where the first word after the end is.
        case UInt8(ascii: "{"), UInt8(ascii: "["): return Int(word & 0xFFFF_FFFF)
        case UInt8(ascii: "l"), UInt8(ascii: "u"), UInt8(ascii: "d"): return index + 2
        default: return index + 1
        }
    }

    // A tape that ends at once, for the time before the first document.
    private nonisolated(unsafe) static let nothing: UnsafePointer<UInt64> = {
        let tape = UnsafeMutablePointer<UInt64>.allocate(capacity: 2)
        tape.initialize(repeating: 0, count: 2)
        return UnsafePointer(tape)
    }()
}
