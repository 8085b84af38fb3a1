import Glibc

/// Finds the lines of a buffer and what orders them, without reading the rest of their JSON.
struct EntryScan {
    /// What the server must know of an entry: where it is, and what it is called.
    struct Line: Sendable {
        let seq: UInt64
        let id: EntryID
        let version: UInt64
        let offset: Int
        let length: Int
    }

    private let base: UnsafePointer<UInt8>
    private var at: Int
    private let end: Int

    private init(base: UnsafePointer<UInt8>, from start: Int, to end: Int) {
        self.base = base
        at = start
        self.end = end
    }

    /// All lines of `buffer`, in its order.
    static func lines(of buffer: LineBuffer) throws(SetupError) -> [Line] {
        let base = buffer.base.assumingMemoryBound(to: UInt8.self)
        var lines: [Line] = []
        var start = 0
        var released = 0
        while start < buffer.count {
            let newline = memchr(base + start, 0x0A, buffer.count - start)
            let end = newline.map { UnsafeRawPointer($0) - buffer.base } ?? buffer.count
            if end > start {
                var scan = EntryScan(base: base, from: start, to: end)
                guard let line = scan.line() else {
                    throw SetupError("line \(lines.count + 1) of the entries is not an entry")
                }
                lines.append(line)
            }
            start = end + 1
            if start - released > 16 << 20 {
                buffer.letGo(of: released..<start)
                released = start
            }
        }
        buffer.letGo(of: released..<buffer.count)
        return lines
    }

    /// Walks the members of one object until id, seq and version are found.
    private mutating func line() -> Line? {
        let start = at
        var id: EntryID?
        var seq: UInt64?
        var version: UInt64?
        guard skipSpace() == UInt8(ascii: "{") else { return nil }
        repeat {
            at += 1
            guard skipSpace() == UInt8(ascii: "\""), let key = string(),
                skipSpace() == UInt8(ascii: ":")
            else { return nil }
            at += 1
            if skipSpace() == UInt8(ascii: "\"") {
                guard let value = string() else { return nil }
                if key.elementsEqual("id".utf8) {
                    id = EntryID(hex: value)
                } else if key.elementsEqual("seq".utf8) {
                    seq = Decimal64.parse(value)
                } else if key.elementsEqual("version".utf8) {
                    version = Decimal64.parse(value)
                }
            } else {
                while at < end, base[at] != UInt8(ascii: ","), base[at] != UInt8(ascii: "}") {
                    at += 1
                }
            }
            if let id, let seq, let version {
                return Line(seq: seq, id: id, version: version, offset: start, length: end - start)
            }
        } while skipSpace() == UInt8(ascii: ",")
        return nil
    }

    private mutating func skipSpace() -> UInt8 {
        while at < end, base[at] == 0x20 || base[at] == 0x09 || base[at] == 0x0D { at += 1 }
        return at < end ? base[at] : 0
    }

    private mutating func string() -> UnsafeBufferPointer<UInt8>? {
        let start = at + 1
        var close = start
        while close < end {
            guard let quote = memchr(base + close, 0x22, end - close) else { return nil }
            let found = UnsafeRawPointer(quote) - UnsafeRawPointer(base)
            var escapes = found
            while escapes > start, base[escapes - 1] == UInt8(ascii: "\\") { escapes -= 1 }
            if (found - escapes) % 2 == 0 {
                at = found + 1
                return UnsafeBufferPointer(start: base + start, count: found - start)
            }
            close = found + 1
        }
        return nil
    }
}

/// A u64 as the wire writes it: decimal digits without sign or leading zero.
enum Decimal64 {
    static func parse(_ digits: some Collection<UInt8>) -> UInt64? {
        guard let first = digits.first, digits.count == 1 || first != 0x30 else { return nil }
        var value: UInt64 = 0
        for digit in digits {
            guard digit >= 0x30, digit <= 0x39 else { return nil }
            let (product, overflow) = value.multipliedReportingOverflow(by: 10)
            let (sum, carry) = product.addingReportingOverflow(UInt64(digit - 0x30))
            if overflow || carry { return nil }
            value = sum
        }
        return value
    }

    static func parse(_ text: String) -> UInt64? { parse(text.utf8) }
}
