internal import SyncPlatform

/// Reads a binary property list ("bplist00").
///
/// Objects are named by number, so a file can name one twice, or itself: depth, values and bytes
/// are counted as they would be written out.
struct BinaryPropertyList {
    private let bytes: [UInt8]
    private let offsetBytes: Int
    private let refBytes: Int
    private let count: Int
    private let table: Int
    private var values = 0
    private var textBytes = 0
    /// Texts that were read, so that one that is named often is in memory once.
    private var texts: [Int: String] = [:]

    private static let trailer = 32

    static func read(_ bytes: [UInt8]) throws(LegacyProblem) -> LegacyValue {
        var (list, top) = try open(bytes)
        return try list.object(top, depth: 0)
    }

    private static func open(
        _ bytes: [UInt8]
    ) throws(LegacyProblem) -> (list: BinaryPropertyList, top: Int) {
        guard bytes.starts(with: "bplist00".utf8), bytes.count >= 8 + trailer else {
            throw LegacyProblem("it is no binary property list of version 00")
        }
        let start = bytes.count - trailer
        let (offsetBytes, refBytes) = (Int(bytes[start + 6]), Int(bytes[start + 7]))
        guard (1...8).contains(offsetBytes), (1...8).contains(refBytes),
            let count = number(bytes, start + 8, 8), let top = number(bytes, start + 16, 8),
            let table = number(bytes, start + 24, 8), count >= 1, top < count,
            // A table of offsets takes room: this bounds the count before it is used.
            table >= 8, table <= start, count <= (start - table) / offsetBytes
        else { throw damaged }
        let list = BinaryPropertyList(
            bytes: bytes, offsetBytes: offsetBytes, refBytes: refBytes, count: count, table: table)
        return (list, top)
    }

    private init(bytes: [UInt8], offsetBytes: Int, refBytes: Int, count: Int, table: Int) {
        self.bytes = bytes
        self.offsetBytes = offsetBytes
        self.refBytes = refBytes
        self.count = count
        self.table = table
    }

    private static let damaged = LegacyProblem("the binary property list is damaged")

    /// An unsigned number that an index can be; nil beyond the file's end.
    private static func number(_ bytes: [UInt8], _ start: Int, _ count: Int) -> Int? {
        guard start >= 0, count <= bytes.count, start <= bytes.count - count else { return nil }
        var value: UInt64 = 0
        for byte in bytes[start..<(start + count)] { value = value << 8 | UInt64(byte) }
        return Int(exactly: value)
    }

    private mutating func object(_ index: Int, depth: Int) throws(LegacyProblem) -> LegacyValue {
        values += 1
        guard values <= LegacyLimits.values else { throw LegacyProblem("it has too many values") }
        guard depth <= LegacyLimits.depth else { throw LegacyProblem("it is nested too deeply") }
        guard index < count,
            let offset = Self.number(bytes, table + index * offsetBytes, offsetBytes),
            offset >= 8, offset < table
        else { throw Self.damaged }
        let marker = bytes[offset]
        let low = Int(marker & 15)
        switch marker >> 4 {
        case 0x0:
            switch low {
            case 0: return .null
            case 8: return .bool(false)
            case 9: return .bool(true)
            default: throw Self.damaged
            }
        case 0x1: return try integer(offset + 1, low)
        case 0x2: return .real(try real(offset + 1, low))
        case 0x3:
            guard low == 3 else { throw Self.damaged }
            return try Self.date(secondsSince2001: real(offset + 1, 3)).map(LegacyValue.date)
                ?? .null
        case 0x4:
            _ = try range(offset, low, unit: 1)
            return .data
        case 0x5, 0x6: return .text(try text(index, offset, low, isWide: marker >> 4 == 6))
        case 0x8: return .integer(Int64(try self.number(offset + 1, low + 1)))
        case 0xA, 0xC: return .array(try array(offset, low, depth))
        case 0xD: return .dictionary(try dictionary(offset, low, depth))
        default: throw Self.damaged
        }
    }

    // MARK: Kinds

    private func number(_ start: Int, _ count: Int) throws(LegacyProblem) -> Int {
        guard let number = Self.number(bytes, start, count), start + count <= table else {
            throw Self.damaged
        }
        return number
    }

    private func bits(_ start: Int, _ count: Int) throws(LegacyProblem) -> UInt64 {
        guard start + count <= table else { throw Self.damaged }
        return bytes[start..<(start + count)].reduce(0) { $0 << 8 | UInt64($1) }
    }

    private func integer(_ start: Int, _ power: Int) throws(LegacyProblem) -> LegacyValue {
        switch power {
        case 0...2: return .integer(Int64(try number(start, 1 << power)))
        case 3: return .integer(Int64(bitPattern: try bits(start, 8)))
        case 4:
            // Sixteen bytes are how numbers beyond 2^63 are written.
            guard try bits(start, 8) == 0 else { throw LegacyProblem("a number is too large") }
            let low = try bits(start + 8, 8)
            return Int64(exactly: low).map(LegacyValue.integer) ?? .real(Double(low))
        default: throw Self.damaged
        }
    }

    private func real(_ start: Int, _ power: Int) throws(LegacyProblem) -> Double {
        switch power {
        case 2: Double(Float(bitPattern: UInt32(truncatingIfNeeded: try bits(start, 4))))
        case 3: Double(bitPattern: try bits(start, 8))
        default: throw Self.damaged
        }
    }

    /// A moment as these files count it; nil for one that no calendar has.
    static func date(secondsSince2001 seconds: Double) -> Timestamp? {
        guard seconds.isFinite, abs(seconds) < 1e12 else { return nil }
        let whole = seconds.rounded(.down)
        // A microsecond is as much as a double of today's dates holds.
        let micros = min(999_999, ((seconds - whole) * 1_000_000).rounded(.down))
        return Timestamp(
            seconds: Int64(whole) + 978_307_200, nanoseconds: UInt32(micros) * 1_000)
    }

    /// Where an object's elements are: behind its marker, and its count if that is written out.
    private func range(
        _ offset: Int, _ low: Int, unit: Int
    ) throws(LegacyProblem) -> (start: Int, count: Int) {
        var (start, count) = (offset + 1, low)
        if low == 15 {
            guard start < table, bytes[start] >> 4 == 1, bytes[start] & 15 <= 3 else {
                throw Self.damaged
            }
            let length = 1 << Int(bytes[start] & 15)
            count = try number(start + 1, length)
            start += 1 + length
        }
        guard start <= table, count <= (table - start) / unit else { throw Self.damaged }
        return (start, count)
    }

    private mutating func text(
        _ index: Int, _ offset: Int, _ low: Int, isWide: Bool
    ) throws(LegacyProblem) -> String {
        let (start, count) = try range(offset, low, unit: isWide ? 2 : 1)
        textBytes += count * (isWide ? 3 : 1)
        guard textBytes <= LegacyLimits.bytes else { throw LegacyProblem("it has too much text") }
        if let known = texts[index] { return known }
        let text: String?
        if isWide {
            let units = (0..<count).map { place in
                UInt16(bytes[start + 2 * place]) << 8 | UInt16(bytes[start + 2 * place + 1])
            }
            text = String(validating: units, as: UTF16.self)
        } else {
            let ascii = bytes[start..<(start + count)]
            text = ascii.allSatisfy { $0 < 128 } ? String(decoding: ascii, as: UTF8.self) : nil
        }
        guard let text else { throw LegacyProblem("a text is none") }
        texts[index] = text
        return text
    }

    private mutating func array(
        _ offset: Int, _ low: Int, _ depth: Int
    ) throws(LegacyProblem) -> [LegacyValue] {
        let (start, count) = try range(offset, low, unit: refBytes)
        var found: [LegacyValue] = []
        for place in 0..<count {
            let ref = try number(start + place * refBytes, refBytes)
            found.append(try object(ref, depth: depth + 1))
        }
        return found
    }

    private mutating func dictionary(
        _ offset: Int, _ low: Int, _ depth: Int
    ) throws(LegacyProblem) -> [String: LegacyValue] {
        let (start, count) = try range(offset, low, unit: 2 * refBytes)
        var found: [String: LegacyValue] = [:]
        for place in 0..<count {
            let key = try object(number(start + place * refBytes, refBytes), depth: depth + 1)
            guard case .text(let name) = key else { throw Self.damaged }
            let ref = try number(start + (count + place) * refBytes, refBytes)
            let value = try object(ref, depth: depth + 1)
            guard found.updateValue(value, forKey: name) == nil else {
                throw LegacyProblem("it has a key twice")
            }
        }
        return found
    }
}
