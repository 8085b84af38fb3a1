/// The words behind a verb, told apart into operands and options.
///
/// Pure: the same words give the same answer, and nothing is looked up.
/// - An option may stand before, between and behind operands; `--` ends the options.
/// - Names are written in full. A value is the next word, or follows `=`; one that itself begins
///   with `--` needs the `=`, so that a forgotten value never swallows the next option.
/// - `-` alone is an operand or a value, as in `--passphrase-file -`.
struct Arguments: Sendable, Equatable {
    /// The verb's name, for messages.
    let verb: String
    let operands: [String]
    /// The options that were given; a flag has an empty value.
    private let given: [Option: String]

    /// Arguments without options.
    init(verb: String, operands: [String] = []) {
        self.verb = verb
        self.operands = operands
        self.given = [:]
    }

    /// Reads the words behind a verb.
    ///
    /// - Throws: a failure with exit 2 for words that the verb does not take.
    init(_ words: some Sequence<String>, of verb: Verb) throws(Failure) {
        var operands: [String] = []
        var given: [Option: String] = [:]
        let declared = verb.allOptions
        var words = words.makeIterator()

        func wrong(_ message: String) -> Failure { Failure(usage: message, verb: verb.name) }

        while let word = words.next() {
            if word == "--" {
                while let operand = words.next() { operands.append(operand) }
                break
            }
            guard word.utf8.first == UInt8(ascii: "-"), word != "-" else {
                operands.append(word)
                continue
            }
            let (name, attached) = Arguments.split(word)
            guard let option = declared.first(where: { "--\($0.name)" == name }) else {
                throw wrong("unknown option '\(name)'")
            }
            switch (option.value, attached) {
            case (nil, nil):
                given[option] = ""
            case (nil, _?):
                throw wrong("option '\(name)' takes no value")
            case (let placeholder?, _):
                let value = attached ?? words.next().flatMap { $0.hasPrefix("--") ? nil : $0 }
                guard let value else {
                    throw wrong("option '\(name)' needs a value: \(name) \(placeholder)")
                }
                guard given.updateValue(value, forKey: option) == nil else {
                    throw wrong("option '\(name)' was given twice")
                }
            }
        }
        if let complaint = verb.complaint(about: operands) { throw wrong(complaint) }
        self.verb = verb.name
        self.operands = operands
        self.given = given
    }

    /// Splits `--name=value`; a word without `=` has no value.
    private static func split(_ word: String) -> (name: String, value: String?) {
        guard let equals = word.firstIndex(of: "=") else { return (word, nil) }
        return (String(word[..<equals]), String(word[word.index(after: equals)...]))
    }
}

// What a verb asks of its options. Each answer is checked here, so that a verb sees only values
// that it can use.
extension Arguments {
    /// Whether an option was given.
    func has(_ option: Option) -> Bool { given[option] != nil }

    /// The value of an option, if it was given.
    subscript(option: Option) -> String? { given[option] }

    /// The value of an option that must be given.
    func required(_ option: Option) throws(Failure) -> String {
        guard let value = given[option] else { throw wrong("'\(verb)' needs --\(option.name)") }
        return value
    }

    /// The value of an option as a whole number of a range.
    func integer(_ option: Option, in range: ClosedRange<Int>) throws(Failure) -> Int? {
        guard let text = given[option] else { return nil }
        // Int takes a sign too, and nobody means one here.
        guard text.utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }),
            let number = Int(text), range.contains(number)
        else {
            throw wrong(
                "--\(option.name) is a number from \(range.lowerBound) to \(range.upperBound), "
                    + "not '\(text)'")
        }
        return number
    }

    /// The value of an option as one of a few words.
    func word(_ option: Option, of words: [String]) throws(Failure) -> String? {
        guard let text = given[option] else { return nil }
        guard words.contains(text) else {
            throw wrong("--\(option.name) is \(words.joined(separator: " or ")), not '\(text)'")
        }
        return text
    }

    /// The value of an option as a part of a file.
    func byteRange(_ option: Option) throws(Failure) -> ByteRange? {
        guard let text = given[option] else { return nil }
        guard let range = ByteRange(text) else {
            throw wrong(
                "--\(option.name) is A-B, A- or -N such as 0-65535, not '\(text)'")
        }
        return range
    }

    /// The value of an option as bytes a second.
    func rate(_ option: Option) throws(Failure) -> Int? {
        guard let text = given[option] else { return nil }
        guard let rate = Quantity.parse(text), rate > 0 else {
            throw wrong("--\(option.name) is bytes a second such as 500k or 2M, not '\(text)'")
        }
        return rate
    }

    /// The one ID that was given, or nil for the option that means all of them.
    func oneOrAll(_ all: Option) throws(Failure) -> String? {
        guard has(all) == operands.isEmpty else {
            throw wrong("'\(verb)' needs either an ID or --all")
        }
        return operands.first
    }

    /// A failure about the words that were given.
    func wrong(_ message: String) -> Failure { Failure(usage: message, verb: verb) }
}
