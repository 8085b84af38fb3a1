import Testing

@testable import SyncPlatform

private func bytes(_ hex: String) -> [UInt8] {
    Hex.decode(Array(hex.utf8).span) ?? []
}

@Suite struct CipherTests {
    private let random = SeededRandom(seed: 1)

    /// draft-irtf-cfrg-xchacha-03, A.3.1.
    @Test func `a box is that of the published example`() {
        let text = Array(
            ("Ladies and Gentlemen of the class of '99: If I could offer you only one tip for "
                + "the future, sunscreen would be it.").utf8)
        let key = SecretBytes(copying: Array(0x80...0x9F).span)
        let nonce = Array(0x40...0x57) as [UInt8]
        let aad = bytes("50515253c0c1c2c3c4c5c6c7")
        var box = [UInt8](repeating: 0, count: text.count + 16)
        var span = box.mutableSpan
        AEAD.seal(text.span, key: key, nonce: nonce.span, aad: aad.span, into: &span)
        #expect(box.prefix(4) == [0xBD, 0x6D, 0x17, 0x9D])
        #expect(box.suffix(16).elementsEqual(bytes("c0875924c1c7987947deafd8780acf49")))
    }

    @Test(arguments: [0, 1, 16, 63, 64, 65, 1_000])
    func `what is sealed opens, in place and elsewhere, and not if anything differs`(count: Int) {
        let key = random.secret(32)
        let nonce = random.bytes(24)
        let aad = random.bytes(count % 50)
        let text = random.bytes(count)
        var box: [UInt8] = [9, 9] + text
        AEAD.seal(inPlace: &box, from: 2, key: key, nonce: nonce.span, aad: aad.span)
        #expect(box.count == 2 + count + 16)
        var other = [UInt8](repeating: 0, count: count + 16)
        var otherSpan = other.mutableSpan
        AEAD.seal(text.span, key: key, nonce: nonce.span, aad: aad.span, into: &otherSpan)
        #expect(box.dropFirst(2).elementsEqual(other))

        var opened = box
        let opens = AEAD.open(inPlace: &opened, from: 2, key: key, nonce: nonce.span, aad: aad.span)
        #expect(opens && opened == [9, 9] + text)

        for place in [2, box.count - 1] {
            var changed = box
            changed[place] ^= 1
            let opens = AEAD.open(
                inPlace: &changed, from: 2, key: key, nonce: nonce.span, aad: aad.span)
            #expect(!opens && changed == [9, 9])
        }
        var wrongAAD = box
        let opensUnderOther = AEAD.open(
            inPlace: &wrongAAD, from: 2, key: key, nonce: nonce.span, aad: (aad + [0]).span)
        #expect(!opensUnderOther)
    }

    @Test func `a box that is shorter than a tag is refused`() {
        let key = random.secret(32)
        let nonce = random.bytes(24)
        for count in 0..<16 {
            var box = random.bytes(count)
            var nothing: [UInt8] = []
            var span = nothing.mutableSpan
            let opens = AEAD.open(box.span, key: key, nonce: nonce.span, aad: Span(), into: &span)
            let opensInPlace = AEAD.open(
                inPlace: &box, from: 0, key: key, nonce: nonce.span, aad: Span())
            #expect(!opens && !opensInPlace && box.isEmpty)
        }
    }

    @Test func `a chunk opens in its own place only, and is proved by its tag`() {
        let key = random.bytes(32)
        let cipher = ChunkCipher(key: key.span, nonce: random.bytes(24).span)
        let text = random.bytes(1_000)
        var sealed = [UInt8](repeating: 0, count: 1_016)
        var sealedSpan = sealed.mutableSpan
        cipher.seal(chunk: 258, isLast: false, text.span, into: &sealedSpan)
        var opened = [UInt8](repeating: 0, count: 1_000)
        for (chunk, isLast, expected) in [
            (258, false, true), (258, true, false), (257, false, false), (0, false, false),
        ] as [(UInt32, Bool, Bool)] {
            var span = opened.mutableSpan
            let opens = cipher.open(chunk: chunk, isLast: isLast, sealed.span, into: &span)
            #expect(opens == expected)
            if opens { #expect(opened == text) }
            var scratch: [UInt8] = []
            let tag = sealed.span.extracting(1_000...)
            let proves = cipher.proves(
                chunk: chunk, isLast: isLast, text.span, tag: tag, scratch: &scratch)
            #expect(proves == expected)
        }
        var scratch: [UInt8] = []
        let shortTag = sealed.span.extracting(1_001...)
        let proves = cipher.proves(
            chunk: 258, isLast: false, text.span, tag: shortTag, scratch: &scratch)
        #expect(!proves)
    }

    @Test(
        .enabled(if: OpenSSL.loaded != nil, "OpenSSL, or this cipher of it, is not here"),
        arguments: [0, 1, 63, 64, 65, 1_000, 65_536])
    func `OpenSSL and libsodium seal alike, and open what the other sealed`(count: Int) {
        let (key, nonce) = (random.bytes(32), random.bytes(24))
        let text = random.bytes(count)
        let ciphers = [
            ChunkCipher(key: key.span, nonce: nonce.span),
            ChunkCipher(key: key.span, nonce: nonce.span, ChunkBox(openSSL: nil)),
        ]
        var boxes: [[UInt8]] = []
        for cipher in ciphers {
            var sealed = [UInt8](repeating: 0, count: count + 16)
            var span = sealed.mutableSpan
            cipher.seal(chunk: 7, isLast: true, text.span, into: &span)
            boxes.append(sealed)
        }
        #expect(boxes[0] == boxes[1])
        for (cipher, sealed) in zip(ciphers, boxes.reversed()) {
            var opened = [UInt8](repeating: 9, count: count)
            var span = opened.mutableSpan
            let opens = cipher.open(chunk: 7, isLast: true, sealed.span, into: &span)
            #expect(opens && opened == text)
        }
    }

    @Test(arguments: [OpenSSL.loaded, nil])
    func `of a chunk that does not open nothing is left`(openSSL: OpenSSL?) {
        let cipher = ChunkCipher(
            key: random.bytes(32).span, nonce: random.bytes(24).span, ChunkBox(openSSL: openSSL))
        let text = random.bytes(1_000)
        var sealed = [UInt8](repeating: 0, count: 1_016)
        var sealedSpan = sealed.mutableSpan
        cipher.seal(chunk: 0, isLast: false, text.span, into: &sealedSpan)
        sealed[1_015] ^= 1
        var opened = [UInt8](repeating: 9, count: 1_000)
        var span = opened.mutableSpan
        let opens = cipher.open(chunk: 0, isLast: false, sealed.span, into: &span)
        #expect(!opens && opened.allSatisfy { $0 == 0 })
    }

    @Test func `a chunk is a box of XChaCha20-Poly1305 whose nonce ends in number and mark`() {
        let key = random.bytes(32)
        let prefix = random.bytes(19)
        let text = random.bytes(500)
        var box = [UInt8](repeating: 0, count: 516)
        var boxSpan = box.mutableSpan
        let nonce = prefix + [1, 2, 3, 4, 1]
        AEAD.seal(
            text.span, key: SecretBytes(copying: key.span), nonce: nonce.span, aad: Span(),
            into: &boxSpan)
        var sealed = [UInt8](repeating: 0, count: 516)
        var span = sealed.mutableSpan
        ChunkCipher(key: key.span, nonce: prefix.span)
            .seal(chunk: 0x0102_0304, isLast: true, text.span, into: &span)
        #expect(sealed == box)
    }
}

@Suite struct HashTests {
    /// RFC 7693, appendix A, has BLAKE2b-512 of "abc"; this is BLAKE2b-256, from `b2sum -l 256`.
    @Test func `a hash is that of another implementation, in one part or in several`() {
        let expected = "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319"
        let text = Array("abc".utf8)
        #expect(Hex.encode(Hash.blake2b256(text.span).span) == expected)
        var state = HashState()
        state.update(text.span.extracting(0..<1))
        state.update(Span())
        state.update(text.span.extracting(1...))
        let digest = state.finish()
        #expect(Hex.encode(digest.span) == expected)
    }

    @Test func `a key changes the hash, in one part or in several`() {
        let key = SecretBytes(copying: Array(0..<32).span)
        let text = Array("abc".utf8)
        let keyed = Hex.encode(Hash.blake2b256(key: key, text.span).span)
        var state = HashState(key: key)
        state.update(text.span)
        let digest = state.finish()
        #expect(Hex.encode(digest.span) == keyed)
        #expect(keyed != Hex.encode(Hash.blake2b256(text.span).span))
    }

    @Test func `a cost that the library does not know is an error, and no trap`() {
        let password = SecretBytes(copying: Array("x".utf8).span)
        let salt = [UInt8](repeating: 0, count: 16)
        for (operations, memory) in [(0, 1 << 20), (3, 1), (3, .max)] as [(UInt32, UInt64)] {
            #expect(throws: CryptoError.self) {
                try KeyDerivation.argon2id(
                    password: password, salt: salt.span, operations: operations, memory: memory)
            }
        }
        #expect(throws: CryptoError(.cost, "stretch a passphrase")) {
            try KeyDerivation.argon2id(
                password: password, salt: [1].span, operations: 3, memory: 1 << 20)
        }
    }
}

@Suite struct RandomTests {
    @Test func `one seed gives one sequence, and another seed another`() {
        let first = SeededRandom(seed: 3)
        let second = SeededRandom(seed: 3)
        let other = SeededRandom(seed: 4)
        let drawn = (0..<4).map { _ in first.bytes(20) }
        #expect(drawn == (0..<4).map { _ in second.bytes(20) })
        #expect(Set(drawn).count == 4)
        #expect(other.bytes(20) != drawn[0])
        #expect(SystemRandom().bytes(32) != SystemRandom().bytes(32))
    }
}
