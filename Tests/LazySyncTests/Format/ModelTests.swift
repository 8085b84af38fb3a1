import Foundation
import SyncPlatform
import Testing

@testable import LazySync

@Suite struct IdentifierTests {
    @Test func `an identifier is 32 lower-case hex digits, both ways`() throws {
        let text = "00112233445566778899aabbccddeeff"
        let id = try #require(EntryID(text))
        #expect(id.description == text)
        #expect(hex(id.bytes) == text)
        let same = EntryID(bytes: id.bytes.span)
        #expect(same == id)
        var buffer = [UInt8](repeating: 9, count: 18)
        id.write(to: &buffer, at: 1)
        #expect(buffer == [9] + id.bytes + [9])
    }

    @Test(arguments: [
        "", "0011223344556677889", "00112233445566778899AABBCCDDEEFF",
        "00112233445566778899aabbccddeef", "00112233445566778899aabbccddeeff0",
        "00112233445566778899aabbccddeefg", " 0112233445566778899aabbccddeeff",
        "00112233-4455-6677-8899-aabbccdd", "éé112233445566778899aabbccddee",
    ])
    func `any other text is no identifier`(text: String) { #expect(EntryID(text) == nil) }

    @Test func `identifiers are ordered as their bytes are`() {
        let random = SeededRandom(seed: 8)
        let ids = (0..<200).map { _ in AttachmentID(random: random) }
        #expect(Set(ids).count == 200)
        let sorted = ids.sorted().map(\.bytes)
        #expect(sorted == ids.map(\.bytes).sorted { $0.lexicographicallyPrecedes($1) })
        #expect(AttachmentID(bytes: [1, 2].span) == nil)
    }
}

@Suite struct RecordNameTests {
    @Test func `a record name is 1 to 64 of its alphabet`() {
        for name in ["a", "A-z_0", String(repeating: "x", count: 64)] {
            #expect(RecordName(name)?.description == name)
        }
        for name in [
            "", "a/b", "a.b", "é", "a b", "a\n", "a\u{0}", String(repeating: "x", count: 65),
        ] {
            #expect(RecordName(name) == nil)
        }
        #expect(RecordName(random: SeededRandom(seed: 1)).description.utf8.count == 22)
    }
}

@Suite struct TimestampTests {
    @Test(
        arguments: [
            ("1970-01-01T00:00:00Z", 0, 0), ("2026-11-01T09:00:00Z", 1_793_523_600, 0),
            ("2026-11-01T10:30:00+01:30", 1_793_523_600, 0),
            ("2026-10-31t23:00:00-10:00", 1_793_523_600, 0),
            ("1969-12-31T23:59:59.5z", -1, 500_000_000),
            ("2000-02-29T00:00:00-00:00", 951_782_400, 0),
            ("2016-12-31T23:59:60Z", 1_483_228_800, 0),
            ("2017-01-01T00:59:60+01:00", 1_483_228_800, 0),
            ("0000-01-01T00:00:00Z", -62_167_219_200, 0),
            ("9999-12-31T23:59:59Z", 253_402_300_799, 0),
            ("2026-11-01T09:00:00.1234567899Z", 1_793_523_600, 123_456_789),
        ] as [(String, Int64, UInt32)])
    func `RFC 3339 is read as a moment in UTC`(text: String, seconds: Int64, nanos: UInt32) throws {
        let time = try #require(Timestamp(text))
        #expect(time.seconds == seconds && time.nanoseconds == nanos)
        #expect(Timestamp(time.description) == time)
    }

    @Test(arguments: [
        "", "2026-11-01", "2026-11-01T09:00:00", "2026-11-01 09:00:00Z", "2026-11-01T09:00Z",
        "2026-13-01T09:00:00Z", "2026-00-01T09:00:00Z", "2026-02-29T09:00:00Z",
        "1900-02-29T00:00:00Z", "2026-04-31T09:00:00Z", "2026-11-00T09:00:00Z",
        "2026-11-01T24:00:00Z", "2026-11-01T09:60:00Z", "2026-11-01T09:00:61Z",
        "2026-11-01T09:00:60Z", "2026-11-01T09:00:00.Z", "2026-11-01T09:00:00,5Z",
        "2026-11-01T09:00:00+1:00", "2026-11-01T09:00:00+0100", "2026-11-01T09:00:00+24:00",
        "2026-11-01T09:00:00+01:60", "2026-11-01T09:00:00ZZ", "2026-11-01T09:00:00Z ",
        "+2026-11-01T09:00:00Z", "2026-11-01T09:00:0\u{661}Z", "0000-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01", "2026-11-01T09:00:00.",
    ])
    func `any other text is no time`(text: String) { #expect(Timestamp(text) == nil) }

    @Test func `days are those of Foundation's calendar`() throws {
        let random = SeededRandom(seed: 9)
        let formatter = ISO8601DateFormatter()
        for _ in 0..<500 {
            let seconds = Int64(random.number() % 253_402_300_800)
            let text = formatter.string(from: Date(timeIntervalSince1970: Double(seconds)))
            #expect(Timestamp(text)?.seconds == seconds)
            #expect(Timestamp(seconds: seconds)?.description == text)
        }
        #expect(Timestamp(seconds: .max) == nil && Timestamp(seconds: 0, nanoseconds: .max) == nil)
        #expect(
            Timestamp(seconds: 1, nanoseconds: 20_000)?.description == "1970-01-01T00:00:01.00002Z")
    }
}

@Suite struct ListOrderTests {
    private func key(_ created: String?, _ id: String) -> [UInt8] {
        let entry = known(EntryID(String(repeating: id, count: 32)))
        return ListOrder.key(created: created.flatMap { Timestamp($0) }, entry: entry)
    }

    @Test func `a descending walk is newest first, and by id where the times are equal`() {
        let listed = [
            key("2026-11-01T09:00:00.5Z", "1"), key("2026-11-01T10:00:00+01:00", "2"),
            key("2026-11-01T09:00:00Z", "1"), key("1969-01-01T00:00:00Z", "f"),
            key(nil, "9"), key("no time", "8"), key("", "7"),
        ]
        #expect(listed.sorted { $1.lexicographicallyPrecedes($0) } == listed)
        #expect(listed.allSatisfy { $0.count == ListOrder.byteCount })
        #expect(key(nil, "1").prefix(13).allSatisfy { $0 == 0 })
    }
}
