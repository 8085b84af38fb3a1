import Testing

@testable import SyncCLI

@Suite struct ByteRangeTests {
    @Test(
        arguments: [
            ("0-0", .from(0, through: 0)), ("0-99", .from(0, through: 99)),
            ("100-", .from(100, through: nil)), ("-7", .last(7)), ("007-8", .from(7, through: 8)),
            ("4294967296-4294967297", .from(1 << 32, through: 1 << 32 + 1)),
        ] as [(String, ByteRange)])
    func `a range is two ends, a beginning, or a number of last bytes`(
        text: String, range: ByteRange
    ) {
        #expect(ByteRange(text) == range)
    }

    @Test(arguments: [
        "", "-", "5", "5-4", "-0", "a-b", "0x1-2", "+1-2", "1-+2", "1--2", "--1", "1-2-3", " 1-2",
        "1-2,5-6", "bytes=0-1", "99999999999999999999-", "-99999999999999999999", "1.5-2", "１-２",
    ])
    func `anything else is none`(text: String) {
        #expect(ByteRange(text) == nil)
    }

    @Test func `what goes beyond the end is left out, what begins there is none`() {
        func bytes(_ text: String, of size: Int64) -> Range<Int64>? {
            ByteRange(text)?.bytes(of: size)
        }
        #expect(bytes("0-9", of: 100) == 0..<10)
        #expect(bytes("90-99", of: 100) == 90..<100 && bytes("90-500", of: 100) == 90..<100)
        #expect(bytes("90-9223372036854775807", of: 100) == 90..<100)
        #expect(bytes("99-", of: 100) == 99..<100 && bytes("-1", of: 100) == 99..<100)
        #expect(bytes("-500", of: 100) == 0..<100)
        #expect(bytes("100-", of: 100) == nil && bytes("100-100", of: 100) == nil)
        #expect(bytes("0-", of: 0) == 0..<0 && bytes("-1", of: 0) == 0..<0)
        #expect(bytes("0-0", of: 0) == nil)
    }
}
