/// One verb of the command: what it takes, what it says of itself, and what it does.
///
/// A verb is one file in `Verbs/` and one line in the table of `Verbs.swift`.
struct Verb: Sendable {
    let name: String
    /// What it does, in a few words, for the list of verbs.
    let summary: String
    /// What `sync help VERB` prints: how it is written, what its options mean, and real examples.
    let usage: String
    var operands = Operands.none
    /// Its own options; those that every verb takes are added by `allOptions`.
    var options: [Option] = []
    /// Whether it may talk to the server, and so takes `--limit-rate`.
    var usesNetwork = false
    /// Whether bytes that it brought stay when it is interrupted.
    var keepsBytes = false
    let run: @Sendable (Context) async throws -> ExitCode

    /// Every option that the verb takes.
    var allOptions: [Option] { options + Option.common + (usesNetwork ? [.limitRate] : []) }

    /// How many words other than options a verb takes, and what they are called.
    struct Operands: Sendable {
        let name: String
        let count: ClosedRange<Int>

        static let none = Operands(name: "", count: 0...0)

        static func one(_ name: String) -> Operands { Operands(name: name, count: 1...1) }
        static func optional(_ name: String) -> Operands { Operands(name: name, count: 0...1) }
        static func any(_ name: String) -> Operands { Operands(name: name, count: 0...Int.max) }
        static func some(_ name: String) -> Operands { Operands(name: name, count: 1...Int.max) }
    }

    /// What is wrong with the number of operands; nil if it is right.
    func complaint(about operands: [String]) -> String? {
        if operands.count < self.operands.count.lowerBound {
            return "'\(name)' needs \(self.operands.name)"
        }
        let most = self.operands.count.upperBound
        return operands.count > most ? "too many words: '\(operands[most])'" : nil
    }
}

extension Verb {
    /// Finds the verb that a command line names, and reads its other words.
    ///
    /// `--help` behind a verb is `help VERB`, whatever else stands there.
    static func choose(from words: [String]) throws(Failure) -> (Verb, Arguments) {
        guard let name = words.first else {
            throw Failure(usage: "no verb was given", hint: "'sync help' lists the verbs")
        }
        switch name {
        case "--help", "-h": return (.help, Arguments(verb: Verb.help.name))
        case "--version": return (.version, Arguments(verb: Verb.version.name))
        default: break
        }
        guard let verb = named(name) else {
            let what = name.hasPrefix("-") ? "the verb comes first, before" : "unknown verb"
            throw Failure(usage: "\(what) '\(name)'", hint: "'sync help' lists the verbs")
        }
        let rest = words.dropFirst()
        if rest.prefix(while: { $0 != "--" }).contains("--help") {
            return (.help, Arguments(verb: Verb.help.name, operands: [name]))
        }
        return (verb, try Arguments(rest, of: verb))
    }

    /// The verb of a name.
    static func named(_ name: String) -> Verb? {
        all.first { $0.name == name }
    }
}
