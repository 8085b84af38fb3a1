import Testing

@testable import SyncCLI

@Suite struct VerbTests {
    @Test func `the first word names the verb`() throws {
        let (verb, arguments) = try Verb.choose(from: ["open", "4f2a", "--stdout"])
        #expect(verb.name == "open")
        #expect(arguments.operands == ["4f2a"])
    }

    @Test(arguments: [
        ([], "no verb was given"),
        (["nope"], "unknown verb 'nope'"),
        (["pusch"], "unknown verb 'pusch'"),
        (["--json", "list"], "the verb comes first, before '--json'"),
    ])
    func `without a known verb the help is named`(words: [String], message: String) {
        let expected = Failure(usage: message, hint: "'sync help' lists the verbs")
        #expect(throws: expected) { try Verb.choose(from: words) }
    }

    @Test func `help behind a verb wins over words that are wrong`() throws {
        let (verb, arguments) = try Verb.choose(from: ["list", "--limit", "--help", "--nope"])
        #expect(verb.name == "help")
        #expect(arguments.operands == ["list"])
        #expect(throws: Failure.self) { try Verb.choose(from: ["list", "--", "--help"]) }
    }

    @Test func `the usual options of every command name verbs`() throws {
        #expect(try Verb.choose(from: ["--help"]).0.name == "help")
        #expect(try Verb.choose(from: ["-h"]).0.name == "help")
        #expect(try Verb.choose(from: ["--version"]).0.name == "version")
    }

    @Test(arguments: Verb.all.map(\.name))
    func `the help of a verb names its options and has examples`(name: String) throws {
        let verb = try #require(Verb.named(name))
        let help = verb.help
        #expect(verb.usage.hasPrefix("usage: sync \(name)"))
        #expect(verb.usage.contains("\nexamples\n  "))
        for option in verb.allOptions {
            #expect(help.contains("  --\(option.name) \(option.value ?? "")"))
        }
        // And nothing else: what the help shows is taken.
        for line in help.split(separator: "\n") where line.hasPrefix("  --") {
            let name = line.dropFirst(4).prefix { $0 != " " }
            #expect(verb.allOptions.contains { $0.name == name })
        }
        for line in help.split(separator: "\n") { #expect(String(line).width <= 100) }
    }

    @Test func `every verb stands once in the table and in the overview`() {
        let names = Verb.all.map(\.name)
        #expect(Set(names).count == names.count)
        for name in names { #expect(Verb.overview.contains("\n  \(name) ")) }
        for code in ExitCode.allCases { #expect(Verb.overview.contains("\n  \(code.rawValue) ")) }
    }

    @Test(arguments: Verb.all.map(\.name))
    func `no option of a verb has the name of another`(name: String) throws {
        let options = try #require(Verb.named(name)).allOptions.map(\.name)
        #expect(Set(options).count == options.count)
    }

    @Test func `a rate is taken by the verbs that use the network`() throws {
        #expect(try Verb.choose(from: ["restore", "--limit-rate", "2M"]).1[.limitRate] == "2M")
        #expect(throws: Failure.self) { try Verb.choose(from: ["list", "--limit-rate", "2M"]) }
    }
}
