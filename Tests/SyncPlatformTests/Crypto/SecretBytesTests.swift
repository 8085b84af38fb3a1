import Testing

@testable import SyncPlatform

@Suite struct SecretBytesTests {
    private let key = SecretBytes(copying: [1, 2, 3, 254].span)

    @Test func `what was filled in is what is lent out`() {
        let copy: [UInt8] = key.withBytes { [UInt8](copying: $0) }
        #expect(copy == [1, 2, 3, 254])
        #expect(key.count == 4)
        let empty = SecretBytes(copying: Span())
        #expect(empty.count == 0 && empty == SecretBytes(count: 0) { _ in })
    }

    @Test func `a secret shows nothing of itself, however it is printed`() {
        var dumped = ""
        dump(key, to: &dumped)
        for text in ["\(key)", String(reflecting: key), dumped, "\([key])"] {
            #expect(!text.contains("254"))
            #expect(text.contains("SecretBytes(4)"))
        }
    }

    @Test func `secrets are equal by their bytes`() {
        #expect(key == SecretBytes(copying: [1, 2, 3, 254].span))
        #expect(key != SecretBytes(copying: [1, 2, 3, 255].span))
        #expect(key != SecretBytes(copying: [1, 2, 3].span))
    }

    @Test func `an error while filling gives no secret`() {
        struct Stop: Error {}
        #expect(throws: Stop.self) {
            try SecretBytes(count: 8) { (_: inout MutableSpan<UInt8>) throws(Stop) in throw Stop() }
        }
    }

    @Test func `a secret cannot be changed once it is made`() async {
        await #expect(processExitsWith: .failure) {
            let key = SecretBytes(copying: [1, 2, 3].span)
            UnsafeMutablePointer(mutating: key.pointer)[0] = 9
        }
    }

    @Test func `wiping leaves zeros, or nothing`() {
        var bytes: [UInt8] = [1, 2, 3]
        var span = bytes.mutableSpan
        ConstantTime.wipe(&span)
        #expect(bytes == [0, 0, 0])
        ConstantTime.wipe(&bytes)
        #expect(bytes.isEmpty)
    }

    @Test func `comparing in constant time compares`() {
        let few: [UInt8] = [1, 2]
        for (other, expected) in [([1, 2], true), ([1, 3], false), ([1], false), ([], false)]
            as [([UInt8], Bool)]
        {
            let isEqual = ConstantTime.equal(few.span, other.span)
            #expect(isEqual == expected)
        }
        let nothing = ConstantTime.equal(Span(), Span())
        #expect(nothing)
    }
}
