// Text of others on a terminal: made harmless, and measured in columns.

extension Unicode.Scalar {
    /// Whether the scalar does something to the text around it instead of standing in it.
    ///
    /// Controls (C0, DEL, C1), line and paragraph separators, and the marks, embeddings, overrides
    /// and isolates that turn the direction of writing.
    var isHazardous: Bool {
        switch value {
        case 0...0x1F, 0x7F...0x9F, 0x061C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }

    /// The visible form of a hazardous scalar, as Swift writes it: `\n`, `\u{1B}`.
    fileprivate var escaped: String {
        switch self {
        case "\n": "\\n"
        case "\r": "\\r"
        case "\t": "\\t"
        default: "\\u{\(String(value, radix: 16, uppercase: true))}"
        }
    }
}

extension String {
    /// The text on one line, with everything visible that could act on a terminal.
    ///
    /// Backslashes stay as they are, so that this changes nothing when done twice; programs that
    /// need every character read `--json`.
    var visible: String { escaping { $0.isHazardous } }

    /// The text with its line breaks and tabs, and everything else visible.
    var visibleLines: String {
        escaping { $0.isHazardous && $0 != "\n" && $0 != "\t" }
    }

    private func escaping(_ isHidden: (Unicode.Scalar) -> Bool) -> String {
        guard unicodeScalars.contains(where: isHidden) else { return self }
        var result = ""
        for scalar in unicodeScalars {
            if isHidden(scalar) {
                result += scalar.escaped
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// The columns that the text takes on a terminal.
    var width: Int {
        // Nearly all text is ASCII, where a byte is a column.
        utf8.allSatisfy { $0 < 0x80 } ? utf8.count : reduce(0) { $0 + $1.width }
    }

    /// The text, cut to a width; what was cut shows as `…`.
    func cut(to columns: Int) -> String {
        guard width > columns else { return self }
        var result = ""
        var room = columns - 1
        for character in self {
            room -= character.width
            if room < 0 { break }
            result.append(character)
        }
        return columns > 0 ? result + "…" : ""
    }

    /// The text, filled with spaces to a width.
    func padded(to columns: Int, alignment: Table.Alignment = .left) -> String {
        let spaces = String(repeating: " ", count: max(0, columns - width))
        return alignment == .left ? self + spaces : spaces + self
    }
}

extension Character {
    /// The columns of a terminal that the character takes: 0, 1 or 2.
    ///
    /// An approximation, as every terminal's: wide are the blocks of East Asian scripts and what is
    /// shown as an emoji.
    fileprivate var width: Int {
        var width = 0
        for scalar in unicodeScalars {
            // VARIATION SELECTOR-16 asks for the emoji form of what stands before it.
            if scalar.isWide || scalar.value == 0xFE0F { return 2 }
            if !scalar.isZeroWidth { width = 1 }
        }
        return width
    }
}

extension Unicode.Scalar {
    fileprivate var isWide: Bool {
        switch value {
        case ..<0x1100: false
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3,
            0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF01...0xFF60, 0xFFE0...0xFFE6, 0x1F1E6...0x1F1FF,
            0x20000...0x3FFFD:
            true
        default: properties.isEmojiPresentation
        }
    }

    fileprivate var isZeroWidth: Bool {
        switch properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format, .control: true
        default: false
        }
    }
}
