import Testing

@testable import SyncPlatform

@Suite struct JSONWriterTests {
    @Test func `objects and arrays are written in the order given, with commas where they belong`()
    {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("b")
        writer.beginArray()
        writer.integer(1)
        writer.beginArray()
        writer.endArray()
        writer.beginObject()
        writer.endObject()
        writer.null()
        writer.endArray()
        writer.key("a")
        writer.bool(true)
        writer.key("c")
        writer.string("x")
        writer.endObject()
        let expected = #"{"b":[1,[],{},null],"a":true,"c":"x"}"#
        #expect(String(decoding: writer.bytes, as: UTF8.self) == expected)
    }

    @Test func `only quotes, backslashes and controls are escaped`() {
        var writer = JSONWriter()
        writer.string("a/b\"c\\d\n\r\t\u{8}\u{C}\u{0}\u{1F}\u{7F}é😀")
        let expected = #""a/b\"c\\d\n\r\t\b\f\u0000\u001f"# + "\u{7F}é😀\""
        #expect(String(decoding: writer.bytes, as: UTF8.self) == expected)
    }

    @Test(arguments: [
        #"{"a":[1,-1,0,18446744073709551615,-9223372036854775808],"b":{"c":null,"d":[true,false]}}"#,
        "[0.1,1.7976931348623157e+308,5e-324,-0.0,123456.789]", #""\u0000\"\\""#, "[]", "{}",
        #"{"":{"":[]}}"#,
    ])
    func `a parsed value is written again as the same value`(text: String) throws {
        let parser = JSONParser()
        var writer = JSONWriter()
        writer.value(try parser.parse(Array(text.utf8).span), of: parser)
        #expect(String(decoding: writer.bytes, as: UTF8.self) == text)
    }

    @Test func `writing goes on behind what is there`() {
        var writer = JSONWriter(appendingTo: Array("x=".utf8))
        writer.integer(UInt64.max)
        #expect(String(decoding: writer.bytes, as: UTF8.self) == "x=18446744073709551615")
    }
}
