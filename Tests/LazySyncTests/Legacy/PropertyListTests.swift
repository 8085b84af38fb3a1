import Foundation
import Testing

@testable import LazySync
@testable import TestSupport

/// Property lists as Foundation writes them, and as somebody might who means harm.
@Suite struct PropertyListTests {
    private static func written(
        _ value: Any, _ format: PropertyListSerialization.PropertyListFormat
    ) throws -> [UInt8] {
        [UInt8](
            try PropertyListSerialization.data(fromPropertyList: value, format: format, options: 0))
    }

    private static let formats: [PropertyListSerialization.PropertyListFormat] = [.xml, .binary]

    private static func refusal(
        _ bytes: [UInt8], location: SourceLocation = #_sourceLocation
    ) -> String {
        let problem = #expect(throws: LegacyProblem.self, sourceLocation: location) {
            try LegacyFile.read(bytes)
        }
        return problem?.detail ?? ""
    }

    @Test(arguments: [0, 1]) func `every kind of value is read`(format: Int) throws {
        let value: [String: Any] = [
            "text": "a <b> & \"c\" 'd'\nü 여행 \u{1F600}", "empty": "", "yes": true, "no": false,
            "small": 7, "byte": 200, "word": 65_000, "large": 5_000_000_000, "negative": -1,
            "lowest": Int64.min, "highest": Int64.max, "half": 0.5, "float": Float(1.25),
            "date": Date(timeIntervalSince1970: 1_780_000_000),
            "old": Date(timeIntervalSince1970: -1_000_000_000), "data": Data([1, 2, 3]),
            "list": (0..<40).map { "element \($0)" } as [Any], "none": [] as [Any],
            "deep": ["a": ["b": ["c"]]],
        ]
        let read = try LegacyFile.read(Self.written(value, Self.formats[format]))
        guard case .dictionary(let found) = read else {
            Issue.record("\(read)")
            return
        }
        #expect(found.count == value.count)
        let expected: [String: LegacyValue] = [
            "text": .text("a <b> & \"c\" 'd'\nü 여행 \u{1F600}"), "empty": .text(""),
            "yes": .bool(true), "no": .bool(false), "small": .integer(7), "byte": .integer(200),
            "word": .integer(65_000), "large": .integer(5_000_000_000), "negative": .integer(-1),
            "lowest": .integer(.min), "highest": .integer(.max), "half": .real(0.5),
            "float": .real(1.25), "date": .date(known(Timestamp(seconds: 1_780_000_000))),
            "old": .date(known(Timestamp(seconds: -1_000_000_000))), "data": .data,
            "list": .array((0..<40).map { .text("element \($0)") }), "none": .array([]),
            "deep": .dictionary(["a": .dictionary(["b": .array([.text("c")])])]),
        ]
        for (key, value) in expected { #expect(found[key] == value, "\(key)") }
    }

    @Test func `what people and programs write by hand is read too`() throws {
        let text = """
            \u{FEFF}<?xml version="1.0" encoding="utf-8"?>
            <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/x.dtd">
            <!-- a comment --><plist version="1.0">
            <dict ><key>a</key><string>x&#65;&#x1F600;<![CDATA[<&>]]>y<!-- z --></string>
            <key>b</key><integer> -0x10 </integer><key>c</key><true></true><key>d</key><array/>
            <key/><data>AAEC
            AwQ=</data><key>e</key><real>1e3</real></dict></plist>
            """
        #expect(
            try LegacyFile.read(Array(text.utf8))
                == .dictionary([
                    "a": .text("xA\u{1F600}<&>y"), "b": .integer(-16), "c": .bool(true),
                    "d": .array([]), "": .data, "e": .real(1_000),
                ]))
    }

    @Test(arguments: [
        ("<plist><dict><key>a</key></dict></plist>", "a key has no value"),
        ("<plist><dict><string>a</string></dict></plist>", "a key was to come"),
        ("<plist><dict><key>a</key><true/><key>a</key><true/></dict></plist>", "a key twice"),
        ("<plist><string>a</integer></plist>", "</string> was to come"),
        ("<plist><array><true/></plist>", "</array> was to come"),
        ("<plist><true/><true/></plist>", "two values"),
        ("<plist></plist>", "nothing in it"),
        ("<plist><true/></plist>x", "behind it"),
        ("<plist><string>a", "ends within <string>"),
        ("<plist><string>&x;</string></plist>", "an entity"),
        ("<plist><string>&#xD800;</string></plist>", "a character's number"),
        ("<plist><string>&#0;</string></plist>", "a character's number"),
        ("<plist><integer>1.5</integer></plist>", "an integer"),
        ("<plist><date>yesterday</date></plist>", "a date"),
        ("<plist><html/></plist>", "no property list has"),
        ("<html/>", "begins with <plist>"),
        ("<!DOCTYPE plist [<!ENTITY a \"aaaa\">]><plist><string>&a;</string></plist>", "declares"),
        ("<?xml version=\"1.0\" encoding=\"UTF-16\"?><plist><true/></plist>", "encoding"),
        ("\n\n<plist>\n<what/></plist>", "line 4"),
    ])
    func `XML that is no property list is refused, with the line`(text: String, detail: String) {
        #expect(Self.refusal(Array(text.utf8)).contains(detail))
    }

    @Test func `what is nested too deeply is refused, and takes no stack`() throws {
        let many = 1_000_000
        let xml = "<plist>" + String(repeating: "<array>", count: many)
        #expect(Self.refusal(Array(xml.utf8)).contains("too deeply"))
        let json = [UInt8](repeating: UInt8(ascii: "["), count: many)
        #expect(Self.refusal(json) != "")
        // Each list holds the next one.
        var list = Binary()
        for index in 0..<200 { list.objects.append([0xA1, UInt8(index + 1)]) }
        list.objects.append([0x09])
        #expect(Self.refusal(list.bytes).contains("too deeply"))
        // One holds itself.
        list.objects = [[0xA1, 0]]
        #expect(Self.refusal(list.bytes).contains("too deeply"))
    }

    @Test func `a small file that would be a large one is refused`() {
        // Each list names the next one ten times: 10^9 values.
        var list = Binary()
        for index in 0..<9 {
            list.objects.append([0xAA] + [UInt8](repeating: UInt8(index + 1), count: 10))
        }
        list.objects.append([0x09])
        #expect(Self.refusal(list.bytes).contains("too many values"))
        // A text of a megabyte, a thousand times.
        let text = [0x5F, 0x12, 0x00, 0x10, 0x00, 0x00] + [UInt8](repeating: 0x61, count: 1 << 20)
        list.objects = [
            [0xAF, 0x11, 0x03, 0xE8] + [UInt8](repeating: 1, count: 1_000), text,
        ]
        #expect(Self.refusal(list.bytes).contains("too much text"))
    }

    @Test(arguments: 0..<4 as Range<UInt64>)
    func `whatever is changed in a list, it is read or refused`(seed: UInt64) throws {
        let value: [String: Any] = [
            "notes": (0..<20).map { index in
                [
                    "name": "note \(index)", "body": "ü\(index)", "n": index,
                    "d": Double(index) / 3,
                    "at": Date(timeIntervalSince1970: Double(index)), "b": Data([1, 2]),
                    "t": true,
                ] as [String: Any]
            }
        ]
        var random = SeededGenerator(seed: seed)
        for format in Self.formats {
            let bytes = try Self.written(value, format)
            for _ in 0..<1_500 {
                var changed = bytes
                for _ in 0...Int.random(in: 0...3, using: &random) {
                    let place = Int.random(in: 0..<changed.count, using: &random)
                    switch Int.random(in: 0..<4, using: &random) {
                    case 0: changed[place] = UInt8.random(in: .min ... .max, using: &random)
                    case 1: changed[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                    case 2: changed.remove(at: place)
                    // Where a binary list says where all else is.
                    default: changed[changed.count - 1 - place % 40] ^= 1
                    }
                }
                do throws(LegacyProblem) {
                    _ = try LegacyFile.read(changed)
                } catch {
                    #expect(!error.detail.isEmpty)
                }
            }
        }
    }

    /// A binary list of objects as they are to stand in the file, the first of them its root.
    private struct Binary {
        var objects: [[UInt8]] = []

        var bytes: [UInt8] {
            var bytes = Array("bplist00".utf8)
            var offsets: [UInt8] = []
            func big(_ number: Int, _ count: Int) -> [UInt8] {
                (0..<count).map { UInt8(truncatingIfNeeded: number >> (8 * (count - 1 - $0))) }
            }
            for object in objects {
                offsets += big(bytes.count, 4)
                bytes += object
            }
            let table = bytes.count
            bytes += offsets + [0, 0, 0, 0, 0, 0, 4, 1]
            return bytes + big(objects.count, 8) + big(0, 8) + big(table, 8)
        }
    }
}
