import Testing

@testable import SyncPlatform

@Suite struct JSONParserTests {
    private func parse(_ text: String, maxBytes: Int = 1 << 20) throws(JSONError) -> (
        JSONParser, JSONValue
    ) {
        let parser = JSONParser(maxBytes: maxBytes)
        return (parser, try parser.parse(Array(text.utf8).span))
    }

    private func code(_ bytes: [UInt8], maxBytes: Int = 1 << 20) -> JSONError.Code? {
        do {
            _ = try JSONParser(maxBytes: maxBytes).parse(bytes.span)
            return nil
        } catch {
            return error.code
        }
    }

    private func code(_ text: String) -> JSONError.Code? { code(Array(text.utf8)) }

    @Test func `values are read as what they are`() throws {
        let (json, root) = try parse(
            #"{"a":"é\n\ud83d\ude00","b":[1,-2,true,false,null],"c":{"d":18446744073709551615}}"#)
        #expect(json.kind(root) == .object)
        let a = try #require(json.member("a", of: root))
        #expect(json.string(a) == "é\n😀")
        #expect(json.stringCount(a) == 7)
        var elements = json.elements(try #require(json.member("b", of: root)))
        var kinds: [JSONParser.Kind] = []
        while let element = json.next(&elements) { kinds.append(json.kind(element)) }
        #expect(kinds == [.integer, .integer, .bool, .bool, .null])
        let c = try #require(json.member("c", of: root))
        let d = try #require(json.member("d", of: c))
        #expect(json.uint64(d) == .max)
        #expect(json.int64(d) == nil)
        #expect(json.member("x", of: root) == nil)
        #expect(json.member("x", of: d) == nil)
    }

    @Test func `members come in the order of the text`() throws {
        let (json, root) = try parse(#"{"z":1,"a":[{"q":[]}],"m":{}}"#)
        var members = json.members(root)
        var keys: [String?] = []
        while let (key, _) = json.next(&members) { keys.append(json.string(key)) }
        #expect(keys == ["z", "a", "m"])
    }

    @Test func `a walk through what is no container is empty`() throws {
        let (json, root) = try parse("[7]")
        var members = json.members(root)
        #expect(json.next(&members) == nil)
        var walk = json.elements(root)
        let seven = try #require(json.next(&walk))
        var inner = json.elements(seven)
        #expect(json.next(&inner) == nil)
        #expect(json.string(seven) == nil && json.bool(seven) == nil && !json.isNull(seven))
    }

    @Test(
        arguments: [
            ("0", 0), ("-0", 0), ("9223372036854775807", Int64.max),
            ("-9223372036854775808", Int64.min), ("1.0", nil), ("1e3", nil), ("1e-400", nil),
            ("-0.0", nil), ("9223372036854775808", nil), (#""1""#, nil), ("true", nil),
        ] as [(String, Int64?)])
    func `only plain integers are integers`(text: String, expected: Int64?) throws {
        let (json, root) = try parse(text)
        #expect(json.int64(root) == expected)
    }

    @Test func `2^63 is an integer without a sign, and 2^64 is no number at all`() throws {
        let (json, root) = try parse("9223372036854775808")
        #expect(json.uint64(root) == 1 << 63)
        #expect(code("18446744073709551616") == .syntax)
        #expect(code("-9223372036854775809") == .syntax)
        #expect(code("1e400") == .syntax)
        let (other, negative) = try parse("-1")
        #expect(other.uint64(negative) == nil)
    }

    @Test(arguments: [
        "", " ", "{", "[1,]", "01", "+1", ".5", "1.", "nul", "{}x", "1 2", "{\"a\"}", "'a'",
        "{a:1}", "\u{FEFF}{}", "\"\n\"", #""\x""#, "[1 2]", "{\"a\":1,}", "NaN", "\"",
    ])
    func `what is not JSON is refused`(text: String) { #expect(code(text) == .syntax) }

    @Test(arguments: [#""\ud800""#, #""\udc00""#, #""\ud800\u0041""#, #"{"\udfff":1}"#])
    func `half of a surrogate pair is refused`(text: String) { #expect(code(text) == .syntax) }

    @Test(
        arguments: [
            [0xFF], [0xC0, 0x80], [0xE0, 0x80, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80],
            [0xC3], [0x80], [0xF0, 0x9F, 0x98],
        ] as [[UInt8]])
    func `damaged UTF-8 is refused`(damage: [UInt8]) {
        #expect(code([0x22] + damage + [0x22]) == .syntax)
    }

    @Test(arguments: [
        #"{"a":1,"a":2}"#, #"{"a":1,"b":{"c":1,"c":1}}"#, #"[[{"x":{},"y":1,"x":[]}]]"#,
        #"{"é":1,"\u00e9":2}"#, #"{"a":1,"\u0061":2}"#, #"{"":1,"":2}"#,
        #"{"attachments":[],"text":"","attachments":[]}"#, #"{"\u0000a":1,"\u0000a":2}"#,
        #"{"ab":1,"abc":2,"a":3,"ab":4}"#,
    ])
    func `a key twice in an object is refused, however it is written`(text: String) {
        #expect(code(text) == .duplicateKey)
    }

    @Test(arguments: [
        #"{"a":1,"A":2,"aa":3,"":4}"#, #"[{"a":1},{"a":1}]"#, #"{"a":{"a":{"a":1}}}"#,
        #"{"attachment":1,"attachments":2,"attachmenta":3}"#, #"{"é":1,"e\u0301":2}"#,
        #"{"a":1,"a\u0000":2,"a\u0000\u0000":3}"#,
    ])
    func `equal keys of different objects, and keys that only look alike, are right`(text: String) {
        #expect(code(text) == nil)
    }

    @Test(arguments: [2, 16, 17, 18, 1_000])
    func `the double is found in objects of any size and place`(count: Int) {
        for double in [0, count / 2, count - 1] {
            let keys = (0..<count).map { "key number \($0)" } + ["key number \(double)"]
            let members = keys.map { "\"\($0)\":0" }
            #expect(code("{" + members.joined(separator: ",") + "}") == .duplicateKey)
            #expect(code("{" + members.dropLast().joined(separator: ",") + "}") == nil)
        }
    }

    @Test func `a hundred thousand keys take no quadratic time`() {
        // Alike in length and first bytes, so that nothing short tells them apart.
        let members = (0..<100_000).map { "\"the same long beginning \($0 + 100_000)\":0" }
        let text = Array(("{" + members.joined(separator: ",") + "}").utf8)
        let start = ContinuousClock.now
        #expect(code(text, maxBytes: 64 << 20) == nil)
        // Each with each would be five thousand million comparisons.
        #expect(ContinuousClock.now - start < .seconds(20))
    }

    @Test func `32 levels are read and 33 are refused, whatever they are made of`() {
        for (open, close) in [("[", "]"), ("{\"a\":", "}"), ("[[{\"a\":", "}]]")] {
            let levels = open.filter { $0 == "[" || $0 == "{" }.count
            for (count, expected) in [(30, nil), (33, JSONError.Code.tooDeep)] {
                let times = count / levels
                for inner in ["1", "\"\""] {
                    let text =
                        String(repeating: open, count: times) + inner
                        + String(repeating: close, count: times)
                    #expect(code(text) == expected, "\(count) of \(open)")
                }
            }
        }
        let arrays = { String(repeating: "[", count: $0) + String(repeating: "]", count: $0) }
        #expect(code(arrays(32)) == nil)
        #expect(code(arrays(33)) == .tooDeep)
        #expect(code(arrays(34)) == .tooDeep)
        // Never closed, so it is no JSON before it is too deep.
        #expect(code(String(repeating: "[", count: 100_000)) == .syntax)
        #expect(code(arrays(100_000)) == .tooDeep)
        let objects =
            String(repeating: "{\"a\":", count: 31) + "{}" + String(repeating: "}", count: 31)
        #expect(code(objects) == nil)
        #expect(code("[" + objects + "]") == .tooDeep)
    }

    @Test func `a document is refused at one byte over the limit, and taken at it`() {
        let text = Array(("\"" + String(repeating: "a", count: 98) + "\"").utf8)
        #expect(code(text, maxBytes: 100) == nil)
        #expect(code(text, maxBytes: 99) == .tooLarge)
        #expect(code(Array("[]".utf8), maxBytes: 2) == nil)
    }

    @Test func `a parser is good for the next document after one that failed`() throws {
        let parser = JSONParser()
        for size in [1, 10_000, 3, 100_000, 50] {
            let text = "[\"" + String(repeating: "x", count: size) + "\"]"
            let root = try parser.parse(Array(text.utf8).span)
            var elements = parser.elements(root)
            let element = try #require(parser.next(&elements))
            #expect(parser.stringCount(element) == size)
            #expect(throws: JSONError.self) { try parser.parse(Array("{\"a\":1,".utf8).span) }
            #expect(throws: JSONError.self) { try parser.parse(Array("[\"a".utf8).span) }
        }
    }

    @Test func `a value that outlived its document stops the program`() async {
        await #expect(processExitsWith: .failure) {
            let parser = JSONParser()
            let old = try parser.parse(Array("[1]".utf8).span)
            _ = try parser.parse(Array("[2]".utf8).span)
            _ = parser.kind(old)
        }
    }

    @Test func `any damage to a document is refused or read, and never harms`() throws {
        let original = Array(
            #"{"title":"Lisbon \u00e9","n":[1,-2,3.5,true,null],"o":{"a":{"b":"c"}}}"#.utf8)
        let parser = JSONParser()
        let random = SeededRandom(seed: 7)
        for _ in 0..<20_000 {
            var text = original
            for _ in 0..<(1 + Int(random.number() % 3)) {
                let place = Int(random.number() % UInt64(text.count))
                switch random.number() % 3 {
                case 0: text[place] = UInt8(truncatingIfNeeded: random.number())
                case 1: text.remove(at: place)
                default: text.insert(contentsOf: text[place...].prefix(5), at: place)
                }
            }
            guard let root = try? parser.parse(text.span) else { continue }
            var writer = JSONWriter()
            writer.value(root, of: parser)
            // What was written reads back, and is written the same again.
            let again = try parser.parse(writer.bytes.span)
            var second = JSONWriter()
            second.value(again, of: parser)
            #expect(second.bytes == writer.bytes)
        }
    }
}
