/// Amounts as people write and read them.
enum Quantity {
    /// Reads `512`, `500k`, `2M` or `1G`, where a letter is a power of 1024.
    ///
    /// - Returns: nil for anything else, and for what is too large for a number.
    static func parse(_ text: String) -> Int? {
        var digits = text[...]
        let unit: Int
        switch text.last {
        case "k", "K": unit = 1 << 10
        case "m", "M": unit = 1 << 20
        case "g", "G": unit = 1 << 30
        default: unit = 1
        }
        if unit > 1 { digits.removeLast() }
        // Int takes a sign too, and an amount has none.
        guard digits.utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }),
            let number = Int(digits)
        else { return nil }
        let (product, overflow) = number.multipliedReportingOverflow(by: unit)
        return overflow ? nil : product
    }

    /// So many of something: `1 file`, `2 files`.
    static func count(_ number: Int, _ one: String) -> String {
        number == 1 ? "1 \(one)" : "\(number) \(one)s"
    }

    /// A size for a person: `999 B`, `1.5 KiB`, `320 MiB`.
    static func size(_ bytes: Int64) -> String {
        guard bytes >= 1024 else { return "\(bytes) B" }
        var value = Double(bytes) / 1024
        var unit = 0
        let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]
        // What would round to 1024 belongs to the next unit.
        while value >= 1023.5, unit < units.count - 1 {
            value /= 1024
            unit += 1
        }
        return
            "\(value < 99.95 ? decimal(value, places: 1) : decimal(value, places: 0)) \(units[unit])"
    }

    /// A rate for a person: `1.5 MiB/s`.
    static func rate(_ bytesPerSecond: Double) -> String {
        // A moment that is too short to measure gives a rate that no number holds.
        size(Int64(min(bytesPerSecond, 1e18))) + "/s"
    }

    /// A time span for a person: `0:04`, `12:30`, `1:02:03`.
    static func time(_ seconds: Double) -> String {
        let seconds = Int(seconds.rounded(.up))
        let (minutes, rest) = seconds.quotientAndRemainder(dividingBy: 60)
        guard minutes >= 60 else { return "\(minutes):\(twoDigits(rest))" }
        return "\(minutes / 60):\(twoDigits(minutes % 60)):\(twoDigits(rest))"
    }

    /// A number that is not negative, with so many decimal places.
    static func decimal(_ value: Double, places: Int) -> String {
        let scale = (0..<places).reduce(1) { scale, _ in scale * 10 }
        let (whole, rest) = Int((value * Double(scale)).rounded()).quotientAndRemainder(
            dividingBy: scale)
        guard places > 0 else { return "\(whole)" }
        let digits = String(rest)
        return "\(whole)." + String(repeating: "0", count: places - digits.count) + digits
    }

    private static func twoDigits(_ number: Int) -> String {
        number < 10 ? "0\(number)" : "\(number)"
    }
}
