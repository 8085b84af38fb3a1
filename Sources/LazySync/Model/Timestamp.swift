internal import SyncPlatform

/// A moment in UTC, to the nanosecond; RFC 3339 as text.
///
/// Times are for people and for the order of a list; nothing in the sync depends on them.
public struct Timestamp: Hashable, Comparable, Sendable, LosslessStringConvertible {
    /// Seconds since the beginning of 1970; leap seconds do not count.
    public let seconds: Int64
    /// What is beyond the second, below 1,000,000,000.
    public let nanoseconds: UInt32

    /// The beginning of 1970.
    static let beginning = Timestamp(unchecked: 0)

    // The years 0000 to 9999, which is what four digits can say.
    private static let secondRange: ClosedRange<Int64> = -62_167_219_200...253_402_300_799

    /// Makes a moment; nil outside the years 0000 to 9999.
    public init?(seconds: Int64, nanoseconds: UInt32 = 0) {
        guard Self.secondRange.contains(seconds), nanoseconds < 1_000_000_000 else { return nil }
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    private init(unchecked seconds: Int64) {
        self.seconds = seconds
        nanoseconds = 0
    }

    /// Reads RFC 3339, strictly: with an offset or `Z`, a fraction of any length, a leap second.
    public init?(_ text: String) { self.init(text: text.utf8Span.span) }

    /// Reads RFC 3339, strictly; nil for anything else, also a day that no calendar has.
    init?(text: Span<UInt8>) {
        guard text.count >= 20, text.count <= 64,
            let year = text.digits(at: 0, count: 4), text[4] == UInt8(ascii: "-"),
            let month = text.digits(at: 5, count: 2), text[7] == UInt8(ascii: "-"),
            let day = text.digits(at: 8, count: 2), text[10] | 0x20 == UInt8(ascii: "t"),
            let hour = text.digits(at: 11, count: 2), text[13] == UInt8(ascii: ":"),
            let minute = text.digits(at: 14, count: 2), text[16] == UInt8(ascii: ":"),
            let second = text.digits(at: 17, count: 2),
            (1...12).contains(month), day >= 1, day <= Self.days(in: month, of: year),
            hour <= 23, minute <= 59, second <= 60
        else { return nil }
        var index = 19
        guard let nanoseconds = Self.fraction(text, &index),
            let offset = Self.offset(text, index)
        else { return nil }
        let midnight = Self.daysSince1970(year, month, day) * 86_400
        let total = midnight + hour * 3_600 + minute * 60 + second - offset
        // A leap second is the last of a day in UTC, wherever the clock stood that was read.
        if second == 60, (total % 86_400 + 86_400) % 86_400 != 0 { return nil }
        self.init(seconds: total, nanoseconds: nanoseconds)
    }

    /// The text in UTC, with as many digits of a fraction as it needs.
    public var description: String {
        let secondOfDay = (seconds % 86_400 + 86_400) % 86_400
        let (year, month, day) = Self.date((seconds - secondOfDay) / 86_400)
        var text = Self.padded(year, 4) + "-" + Self.padded(month, 2) + "-" + Self.padded(day, 2)
        text += "T" + Self.padded(secondOfDay / 3_600, 2)
        text += ":" + Self.padded(secondOfDay / 60 % 60, 2)
        text += ":" + Self.padded(secondOfDay % 60, 2)
        if nanoseconds > 0 {
            var digits = Self.padded(Int64(nanoseconds), 9)
            while digits.hasSuffix("0") { digits.removeLast() }
            text += "." + digits
        }
        return text + "Z"
    }

    /// Tells which of two comes first.
    public static func < (left: Timestamp, right: Timestamp) -> Bool {
        (left.seconds, left.nanoseconds) < (right.seconds, right.nanoseconds)
    }

    /// Reads a fraction if there is one; what is beyond a nanosecond is dropped.
    private static func fraction(_ text: Span<UInt8>, _ index: inout Int) -> UInt32? {
        guard text[index] == UInt8(ascii: ".") else { return 0 }
        index += 1
        let start = index
        var nanoseconds: UInt32 = 0
        var scale: UInt32 = 100_000_000
        while index < text.count, let digit = text.digits(at: index, count: 1) {
            nanoseconds += UInt32(digit) * scale
            scale /= 10
            index += 1
        }
        return index > start ? nanoseconds : nil
    }

    /// Reads the offset from UTC, which must be the end of the text.
    private static func offset(_ text: Span<UInt8>, _ index: Int) -> Int64? {
        guard index < text.count else { return nil }
        if text[index] | 0x20 == UInt8(ascii: "z") { return index + 1 == text.count ? 0 : nil }
        guard index + 6 == text.count, let hours = text.digits(at: index + 1, count: 2),
            text[index + 3] == UInt8(ascii: ":"),
            let minutes = text.digits(at: index + 4, count: 2),
            hours <= 23, minutes <= 59
        else { return nil }
        switch text[index] {
        case UInt8(ascii: "+"): return hours * 3_600 + minutes * 60
        case UInt8(ascii: "-"): return -(hours * 3_600 + minutes * 60)
        default: return nil
        }
    }

    private static func days(in month: Int64, of year: Int64) -> Int64 {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    // The two below are Howard Hinnant's days_from_civil and civil_from_days: years that begin in
    // March, in eras of 400, so that the leap day comes last
    // (https://howardhinnant.github.io/date_algorithms.html).
    private static func daysSince1970(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let year = month <= 2 ? year - 1 : year
        let era = (year >= 0 ? year : year - 399) / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    private static func date(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let days = days + 719_468
        let era = (days >= 0 ? days : days - 146_096) / 146_097
        let dayOfEra = days - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        let month = shifted < 10 ? shifted + 3 : shifted - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * shifted + 2) / 5 + 1)
    }

    private static func padded(_ number: Int64, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}

extension Span where Element == UInt8 {
    /// Reads `count` decimal digits; nil if one of them is none or beyond the end.
    fileprivate func digits(at start: Int, count: Int) -> Int64? {
        guard self.count - start >= count else { return nil }
        var number: Int64 = 0
        for index in start..<(start + count) {
            let digit = self[index] &- UInt8(ascii: "0")
            guard digit <= 9 else { return nil }
            number = number * 10 + Int64(digit)
        }
        return number
    }
}
