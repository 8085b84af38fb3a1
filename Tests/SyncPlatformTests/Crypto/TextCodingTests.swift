import Foundation
import Testing

@testable import SyncPlatform

@Suite struct TextCodingTests {
    private let random = SeededRandom(seed: 11)

    @Test func `base64url is Foundation's without padding, and reads back`() throws {
        for count in 0..<200 {
            let bytes = random.bytes(count)
            let expected = Data(bytes).base64EncodedString()
                .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
            let text: String = Base64URL.encode(bytes.span)
            #expect(text == expected)
            #expect(Base64URL.encodedCount(count) == text.utf8.count)
            #expect(Base64URL.decodedCount(text.utf8.count) == count)
            let read = Base64URL.decode(Array(text.utf8).span)
            #expect(read == bytes)
            var buffer = [UInt8](repeating: 0, count: count)
            var span = buffer.mutableSpan
            let decodes = Base64URL.decode(Array(text.utf8).span, into: &span)
            #expect(decodes && buffer == bytes)
        }
    }

    @Test func `each text of up to three characters is read if and only if it is canonical`() {
        let alphabet = Array("AQgwBCDEFZaz019-_+/=. \n".utf8) + [0, 0x80, 0xFF]
        for first in alphabet {
            for second in alphabet {
                for third in alphabet.map({ [$0] }) + [[]] {
                    let text = [first, second] + third
                    guard let bytes = Base64URL.decode(text.span) else { continue }
                    #expect(Array((Base64URL.encode(bytes.span) as String).utf8) == text)
                }
            }
        }
    }

    @Test(arguments: ["A", "AAAAA", "AB", "AAB", "AA==", "AA+A", "AA/A", "A A", "AAA\n", "AAÄ"])
    func `text that is not canonical base64url is refused, and nothing is added`(text: String) {
        var bytes: [UInt8] = [7]
        let decodes = Base64URL.decode(Array(text.utf8).span, appendingTo: &bytes)
        #expect(!decodes && bytes == [7])
    }

    @Test func `hex is lower case and even, both ways`() {
        let bytes = random.bytes(33)
        let text = Hex.encode(bytes.span)
        #expect(text == bytes.map { String(format: "%02x", $0) }.joined())
        let read = Hex.decode(Array(text.utf8).span)
        #expect(read == bytes)
        for wrong in ["0", "0g", "AB", " 0", "é"] {
            let read = Hex.decode(Array(wrong.utf8).span)
            #expect(read == nil)
        }
        let digits = Array("0123456789abcdef0".utf8)
        let number = Hex.decode64(digits.span, at: 0)
        let next = Hex.decode64(digits.span, at: 1)
        let beyond = Hex.decode64(digits.span, at: 2)
        #expect(number == 0x0123_4567_89AB_CDEF && next == 0x1234_5678_9ABC_DEF0 && beyond == nil)
    }
}
