import Foundation
import Testing

@testable import SyncCLI

@Suite struct JSONTests {
    @Test func `keys stay in their order, and what is nil is left out`() {
        let json: JSON = [
            "b": .string("x"), "a": nil, "c": .null, "d": [:],
            "e": .array([.bool(true), .integer(-1)]),
        ]
        #expect(json.text == #"{"b":"x","c":null,"d":{},"e":[true,-1]}"#)
    }

    @Test func `numbers are written whole`() {
        #expect(JSON.unsigned(.max).text == "18446744073709551615")
        #expect(JSON.integer(Int64.min).text == "-9223372036854775808")
        #expect(JSON.number(4.235).text == "4.235")
        #expect(JSON.number(.infinity).text == "null")
        #expect(JSON.integer(orNull: nil).text == "null")
        #expect(JSON.string(orNull: nil).text == "null")
    }

    @Test func `what JSON or a terminal would take amiss is escaped`() {
        #expect(JSON.string("a\"b\\c\n\r\t").text == #""a\"b\\c\n\r\t""#)
        #expect(
            JSON.string("\u{0}\u{1B}[31m\u{7F}\u{9B}").text == #""\u0000\u001b[31m\u007f\u009b""#)
        #expect(JSON.string("\u{202E}\u{2028}\u{61C}").text == #""\u202e\u2028\u061c""#)
        #expect(JSON.string("한국어 👩‍👧 é").text == "\"한국어 👩‍👧 é\"")
        #expect(JSON.string("\r\n").text == #""\r\n""#)
    }

    @Test func `another reader of JSON gets back every string`() throws {
        let scalars =
            (0...0x2FFF).compactMap(Unicode.Scalar.init) + ["\u{FFFF}", "\u{1F600}", "\u{10FFFF}"]
        var string = ""
        string.unicodeScalars.append(contentsOf: scalars)
        let data = Data(JSON.array([.string(string)]).text.utf8)
        let read = try #require(JSONSerialization.jsonObject(with: data) as? [String])
        // By scalars: == would also take what is only equivalent.
        #expect(read.first.map { Array($0.unicodeScalars) } == scalars)
    }
}
