import Testing

@testable import SyncCLI

private let limit = Option.value("limit", "N")
private let state = Option.value("state", "S")
private let all = Option.flag("all")

private func parse(
    _ words: String..., operands: Verb.Operands = .some("ID")
) throws(Failure) -> Arguments {
    let verb = Verb(
        name: "try", summary: "", usage: "", operands: operands, options: [limit, state, all],
        usesNetwork: true
    ) { _ in .done }
    return try Arguments(words, of: verb)
}

/// What is wrong with words, as a person reads it.
private func complaint(_ work: () throws(Failure) -> some Any) -> String? {
    do throws(Failure) {
        _ = try work()
        return nil
    } catch {
        #expect(error.exit == .usage)
        #expect(error.hint == "see 'sync help try'")
        return error.message
    }
}

@Suite struct ArgumentsTests {
    @Test func `options stand before, between and behind operands`() throws {
        let arguments = try parse("--limit", "5", "a", "--all", "b", "--state=here", "--json")
        #expect(arguments.operands == ["a", "b"])
        #expect(arguments[limit] == "5")
        #expect(arguments[state] == "here")
        #expect(arguments.has(all))
        #expect(arguments.has(.json))
        #expect(!arguments.has(.quiet))
        #expect(arguments[.home] == nil)
    }

    @Test func `a value may be empty, hold an equals sign, or be a dash`() throws {
        #expect(try parse("a", "--state=")[state] == "")
        #expect(try parse("a", "--state=x=y")[state] == "x=y")
        #expect(try parse("a", "--state", "-")[state] == "-")
        #expect(try parse("a", "--state", "-5")[state] == "-5")
        #expect(try parse("a", "--state=--json")[state] == "--json")
    }

    @Test func `two dashes end the options`() throws {
        let arguments = try parse("a", "--", "--all", "--", "-x")
        #expect(arguments.operands == ["a", "--all", "--", "-x"])
        #expect(!arguments.has(all))
    }

    @Test func `one dash is an operand`() throws {
        #expect(try parse("-").operands == ["-"])
    }

    @Test(arguments: [
        (["a", "--nope"], "unknown option '--nope'"),
        (["a", "--nope=5"], "unknown option '--nope'"),
        (["a", "--lim", "5"], "unknown option '--lim'"),
        (["a", "-limit", "5"], "unknown option '-limit'"),
        (["a", "-x"], "unknown option '-x'"),
        (["a", "--=5"], "unknown option '--'"),
        (["a", "--limit"], "option '--limit' needs a value: --limit N"),
        (["a", "--limit", "--all"], "option '--limit' needs a value: --limit N"),
        (["a", "--limit", "--"], "option '--limit' needs a value: --limit N"),
        (["a", "--limit=1", "--limit=1"], "option '--limit' was given twice"),
        (["a", "--all=yes"], "option '--all' takes no value"),
    ])
    func `words that a verb does not take are refused`(words: [String], message: String) {
        let verb = Verb(
            name: "try", summary: "", usage: "", operands: .some("ID"), options: [limit, all]
        ) { _ in .done }
        #expect(complaint { () throws(Failure) in try Arguments(words, of: verb) } == message)
    }

    @Test func `a verb gets as many operands as it takes`() {
        #expect(
            complaint { () throws(Failure) in try parse(operands: .one("ID")) } == "'try' needs ID")
        #expect(complaint { () throws(Failure) in try parse() } == "'try' needs ID")
        #expect(
            complaint { () throws(Failure) in try parse("a", "b", operands: .one("ID")) }
                == "too many words: 'b'")
        #expect(
            complaint { () throws(Failure) in try parse("a", operands: .none) }
                == "too many words: 'a'")
        #expect(complaint { () throws(Failure) in try parse(operands: .optional("ID")) } == nil)
    }

    @Test(arguments: ["0", "101", "-1", "+5", "5x", "", " 5", "٥", "99999999999999999999"])
    func `a number outside its range is refused`(text: String) throws {
        let arguments = try parse("a", "--limit=\(text)")
        #expect(
            complaint { () throws(Failure) in try arguments.integer(limit, in: 1...100) }
                == "--limit is a number from 1 to 100, not '\(text)'")
    }

    @Test func `values are read as what they are`() throws {
        let arguments = try parse("a", "--limit=100", "--state", "here", "--limit-rate=500k")
        #expect(try arguments.integer(limit, in: 1...100) == 100)
        #expect(try arguments.word(state, of: ["remote", "here"]) == "here")
        #expect(try arguments.rate(.limitRate) == 512_000)
        #expect(try parse("a").integer(limit, in: 1...100) == nil)
        #expect(try parse("a").word(state, of: ["here"]) == nil)
        #expect(try parse("a").rate(.limitRate) == nil)
    }

    @Test func `a word outside its set, a rate of nothing and a missing value are refused`() throws
    {
        let arguments = try parse("a", "--state", "gone", "--limit-rate=0")
        #expect(
            complaint { () throws(Failure) in try arguments.word(state, of: ["remote", "here"]) }
                == "--state is remote or here, not 'gone'")
        #expect(
            complaint { () throws(Failure) in try arguments.rate(.limitRate) }
                == "--limit-rate is bytes a second such as 500k or 2M, not '0'")
        #expect(
            complaint { () throws(Failure) in try arguments.required(limit) }
                == "'try' needs --limit")
    }
}
