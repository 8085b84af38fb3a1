import SyncPlatform
import Testing

@testable import LazySync

@Suite struct EntryPayloadTests {
    private let decoder = EntryDecoder()
    private let random = SeededRandom(seed: 5)

    private func decode(_ text: String) throws -> (EntryPayload, PayloadBatch) {
        var batch = PayloadBatch()
        let payload = Array(text.utf8)
        let item = try decoder.decode(payload.span, into: &batch)
        return (item, batch)
    }

    private func id(_ digit: String) -> String { String(repeating: digit, count: 32) }

    private func ref() -> String {
        let ref = CloudBlobRef(
            recordName: RecordName(random: random), nonce: random.bytes(24).span,
            wrappedKey: random.bytes(81).span)
        return ref?.description ?? ""
    }

    private func attachment(
        _ digit: String, name: String = "a.jpg", size: String = "7", more: String = ""
    ) -> String {
        #"{"id":"\#(id(digit))","name":"\#(name)","type":"image/jpeg","size":\#(size)\#(more)}"#
    }

    private func item(_ attachments: [String], more: String = "") -> String {
        #"{"title":"t","attachments":[\#(attachments.joined(separator: ","))]\#(more)}"#
    }

    @Test func `an item with everything is read whole`() throws {
        let (original, small) = (ref(), ref())
        let thumb = #"{"type":"image/png","size":12,"ref":"\#(small)"}"#
        let (item, batch) = try decode(
            #"{"title":"Lisbon \u2600","text":"x\ny","created":"c","modified":"m","attachments":["#
                + attachment("a", more: #","ref":"\#(original)","thumb":\#(thumb)"#) + "]}")
        #expect(batch.text(item.title) == "Lisbon ☀")
        #expect(item.text.map(batch.text) == "x\ny")
        #expect(item.created.map(batch.text) == "c")
        #expect(item.modified.map(batch.text) == "m")
        #expect(item.leftOut == 0 && !item.isLossy)
        let only = try #require(batch.attachments.first)
        #expect(item.attachments == 0..<1)
        #expect(only.id.description == id("a"))
        #expect(batch.text(only.name) == "a.jpg" && batch.text(only.type) == "image/jpeg")
        #expect(only.size == 7)
        #expect(address(only.ref, batch) == original)
        let picture = try #require(only.thumb)
        #expect(batch.text(picture.type) == "image/png" && picture.size == 12)
        #expect(address(picture.ref, batch) == small)
    }

    private func address(_ ref: EntryPayload.Ref, _ batch: PayloadBatch) -> String? {
        guard case .packed(let range) = ref else { return nil }
        let bytes = Array(batch.bytes[range])
        return CloudBlobRef(packed: bytes.span)?.description
    }

    @Test func `an item needs no more than a title`() throws {
        let (item, _) = try decode(#"{"title":""}"#)
        #expect(item.attachments.isEmpty && item.text == nil && !item.isLossy)
    }

    @Test(arguments: [
        "", "[]", "{}", #""title""#, #"{"title":1}"#, #"{"title":null}"#, #"{"text":"x"}"#,
        #"{"title":"t","text":1}"#, #"{"title":"t","created":[]}"#,
        #"{"title":"t","attachments":{}}"#, #"{"title":"t","title":"t"}"#,
        #"{"title":"t","attachments":[{"id":1,"id":1}]}"#, #"{"title":"t"} "# + "x",
    ])
    func `what is not an item is refused, and the batch stays as it was`(text: String) throws {
        var batch = PayloadBatch()
        let good = Array(item([attachment("a", more: #","ref":"\#(ref())""#)]).utf8)
        _ = try decoder.decode(good.span, into: &batch)
        let before = (batch.bytes, batch.attachments)
        let payload = Array(text.utf8)
        #expect(throws: FormatError(.payload, "decode an item")) {
            try decoder.decode(payload.span, into: &batch)
        }
        #expect(batch.bytes == before.0 && batch.attachments == before.1)
    }

    @Test func `a payload over 1 MiB is refused, and one of 1 MiB is read`() throws {
        let frame = #"{"title":""}"#.utf8.count
        for (count, fits) in [
            (EntryPayload.maximumCount, true), (EntryPayload.maximumCount + 1, false),
        ] {
            let title = String(repeating: "x", count: count - frame)
            let payload = Array(#"{"title":"\#(title)"}"#.utf8)
            var batch = PayloadBatch()
            if fits {
                let item = try decoder.decode(payload.span, into: &batch)
                #expect(item.title.count == count - frame)
            } else {
                #expect(throws: FormatError(.bounds, "decode an item")) {
                    try decoder.decode(payload.span, into: &batch)
                }
            }
        }
    }

    @Test func `an attachment that breaks a limit is left out, and the others stay`() throws {
        let broken = [
            "1", "null", "[]", "{}",
            attachment("b", name: ""), attachment("b", name: String(repeating: "n", count: 1_025)),
            attachment("b", size: "-1"), attachment("b", size: "1.0"), attachment("b", size: "1e3"),
            attachment("b", size: "\"7\""), attachment("b", size: "281474976710657"),
            attachment("b", size: "18446744073709551615"), attachment("B"), attachment("g"),
            #"{"id":"\#(id("b").dropLast())","name":"n","type":"t","size":1}"#,
            #"{"name":"n","type":"t","size":1}"#, #"{"id":"\#(id("b"))","type":"t","size":1}"#,
            #"{"id":"\#(id("b"))","name":"n","size":1}"#,
            #"{"id":"\#(id("b"))","name":"n","type":"t"}"#,
            #"{"id":"\#(id("b"))","name":"n","type":null,"size":1}"#,
        ]
        for bad in broken {
            let (item, batch) = try decode(item([attachment("a"), bad, attachment("c")]))
            #expect(item.attachments == 0..<2, "\(bad)")
            #expect(batch.attachments.map(\.position) == [0, 2])
            #expect(item.leftOut == 1 && item.isLossy)
        }
    }

    @Test func `limits are reached before they are broken`() throws {
        let name = String(repeating: "n", count: 1_024)
        let (item, batch) = try decode(
            item([attachment("a", name: name, size: "281474976710656"), attachment("b", size: "0")])
        )
        #expect(item.leftOut == 0 && !item.isLossy)
        #expect(batch.attachments.map(\.size) == [1 << 48, 0])
    }

    @Test func `the second of two equal ids is left out, also if the first was broken`() throws {
        let (twice, batch) = try decode(
            item([attachment("a", name: "1"), attachment("b"), attachment("a", name: "2")]))
        #expect(twice.leftOut == 1 && twice.isLossy)
        #expect(batch.attachments.map { batch.text($0.name) } == ["1", "a.jpg"])
        let (both, _) = try decode(item([attachment("a", size: "-1"), attachment("a")]))
        #expect(both.leftOut == 2)
    }

    @Test func `attachments after the 1,000th are left out, and doubles are found among many`()
        throws
    {
        let numbered = (0..<1_005).map { number in
            let digits = String(number, radix: 16)
            let id = String(repeating: "0", count: 32 - digits.count) + digits
            return #"{"id":"\#(id)","name":"n","type":"t","size":1}"#
        }
        let (many, batch) = try decode(item(numbered))
        #expect(many.attachments.count == 1_000 && many.leftOut == 5 && many.isLossy)
        #expect(batch.attachments.last?.position == 999)
        for double in [0, 15, 16, 500] {
            let (twice, _) = try decode(item(Array(numbered.prefix(900)) + [numbered[double]]))
            #expect(twice.attachments.count == 900 && twice.leftOut == 1)
        }
    }

    @Test func `an address may be absent, null, or wrong`() throws {
        let (item, batch) = try decode(
            item([
                attachment("a"), attachment("b", more: #","ref":null"#),
                attachment("c", more: #","ref":"cb1.x""#), attachment("d", more: #","ref":5"#),
            ]))
        #expect(batch.attachments.map(\.ref) == [.absent, .null, .invalid, .invalid])
        #expect(item.leftOut == 0 && item.isLossy)
    }

    @Test func `the second use of a record name in an item is no address`() throws {
        let (one, two) = (ref(), ref())
        let (item, batch) = try decode(
            item([
                attachment(
                    "a", more: #","ref":"\#(one)","thumb":{"type":"t","size":1,"ref":"\#(two)"}"#),
                attachment("b", more: #","ref":"\#(two)""#),
                attachment("c", more: #","ref":"\#(ref())""#),
                attachment("d", more: #","thumb":{"type":"t","size":1,"ref":"\#(one)"}"#),
            ]))
        #expect(batch.attachments[1].ref == .invalid)
        #expect(batch.attachments[3].thumb?.ref == .invalid)
        #expect(address(batch.attachments[2].ref, batch) != nil)
        #expect(item.isLossy && item.leftOut == 0)
        let again = try decode(
            #"{"title":"t","attachments":[\#(attachment("a", more: #","ref":"\#(one)""#))]}"#)
        #expect(address(again.1.attachments[0].ref, again.1) == one)
    }

    @Test func `a record name used twice is found among many`() throws {
        let refs = (0..<200).map { _ in ref() }
        let attachments = (refs + [refs[3], refs[190]]).enumerated().map { number, ref in
            let digits = String(number + 0x1000, radix: 16)
            let id = String(repeating: "0", count: 28) + digits
            return #"{"id":"\#(id)","name":"n","type":"t","size":1,"ref":"\#(ref)"}"#
        }
        let (_, batch) = try decode(item(attachments))
        #expect(batch.attachments.filter { $0.ref == .invalid }.map(\.position) == [200, 201])
    }

    @Test(arguments: ["1", "[]", "null", "{}", #"{"type":"t"}"#, #"{"type":"t","size":-1}"#])
    func `a broken thumbnail is left out alone`(thumb: String) throws {
        let (item, batch) = try decode(item([attachment("a", more: #","thumb":\#(thumb)"#)]))
        #expect(item.leftOut == 0 && item.isLossy)
        #expect(batch.attachments.first?.thumb == nil)
        #expect(batch.bytes.count == "t".count + "a.jpg".count + "image/jpeg".count)
    }

    @Test func `fields that are not known make an item lossy, wherever they are`() throws {
        for text in [
            item([], more: #","x":1"#), item([attachment("a", more: #","x":null"#)]),
            item([attachment("a", more: #","thumb":{"type":"t","size":1,"x":[]}"#)]),
            #"{"title":"t","text":null}"#, #"{"title":"t","attachments":null}"#,
        ] {
            #expect(try decode(text).0.isLossy, "\(text)")
        }
        #expect(try !decode(item([attachment("a")])).0.isLossy)
    }

    @Test(arguments: ["{}", "[]", #"{"deleted":1}"#, "x"])
    func `what is not a tombstone is refused`(text: String) {
        let payload = Array(text.utf8)
        #expect(throws: FormatError.self) { try decoder.decodeTombstone(payload.span) }
    }
}
