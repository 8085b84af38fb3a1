import Foundation
import Testing

@testable import SyncPlatform
@testable import TestSupport

@Suite(.enabled(if: ImageKit.isPossible, "needs libvips42 and python3-pil"))
struct HostileImageTests {
    private let scratch: Scratch
    private let scaler = ImageScaler()

    init() throws {
        scratch = try Scratch()
    }

    @Test func `what is no regular file, or no image, has no thumbnail and holds nobody up`() throws
    {
        try #require(mkfifo(scratch("pipe.jpg"), 0o600) == 0)
        try FileManager.default.createSymbolicLink(
            atPath: scratch("link.jpg"), withDestinationPath: scratch("pipe.jpg"))
        try FileManager.default.createDirectory(
            atPath: scratch("folder.jpg"), withIntermediateDirectories: false)
        try Data().write(to: URL(filePath: scratch("empty.jpg")))
        try Data("a letter".utf8).write(to: URL(filePath: scratch("text.jpg")))
        try Data("<svg xmlns='http://www.w3.org/2000/svg'/>".utf8).write(
            to: URL(filePath: scratch("drawing.jpg")))
        try Data([0xFF, 0xD8, 0xFF]).write(to: URL(filePath: scratch("begun.jpg")))
        for name in scratch.names {
            #expect(scaler.thumbnail(ofFile: scratch(name)) == nil, "\(name)")
        }
        #expect(scaler.thumbnail(ofFile: scratch("missing.jpg")) == nil)
        #expect(scaler.thumbnail(ofFile: "/dev/zero") == nil)
    }

    @Test func `of a cut image there is nothing`() throws {
        try ImageKit.make(
            in: scratch,
            """
            import os
            image = Image.frombytes('RGB', (300, 200), os.urandom(300 * 200 * 3))
            image.save('once.jpg')
            image.save('progressive.jpg', progressive=True)
            image.save('a.png')
            image.save('a.webp')
            image.save('a.gif')
            image.save('a.tif', compression='tiff_lzw')
            """)
        for name in scratch.names {
            let whole = try Data(contentsOf: URL(filePath: scratch(name)))
            #expect(scaler.thumbnail(ofFile: scratch(name)) != nil, "\(name)")
            for part in [4, 40, whole.count / 2, whole.count - 200] {
                try whole.prefix(part).write(to: URL(filePath: scratch("cut")))
                #expect(scaler.thumbnail(ofFile: scratch("cut")) == nil, "\(name) \(part)")
            }
        }
    }

    @Test func `what promises too much is not begun, and nobody hears of it`() async throws {
        try ImageKit.make(in: scratch, Self.bombs)
        #expect(scratch.names.count == 8)
        let result = await #expect(
            processExitsWith: .success, observing: [\.standardErrorContent]
        ) { [folder = scratch.path as String] in
            let scaler = ImageScaler()
            let before = try Memory.peak()
            for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
                #expect(scaler.thumbnail(ofFile: "\(folder)/\(name)") == nil, "\(name)")
            }
            #expect(try Memory.peak() - before < 64 << 20 || Memory.isChecked)
        }
        #expect(result?.standardErrorContent == [])
    }

    /// Small files that say that they are large.
    private static let bombs = """
        import io
        def larger(name, width, height, **options):
            file = io.BytesIO()
            Image.new('RGB', (64, 64)).save(file, 'JPEG', **options)
            data = bytearray(file.getvalue())
            at = data.index(b'\\xff\\xc2' if options else b'\\xff\\xc0') + 5
            data[at:at + 4] = struct.pack('>HH', height, width)
            write(name, data)
        write('square.png', png(50000, 50000, bytes(100000)))
        write('tall.png', png(1, 10000000, bytes(40000000)))
        write('wide.png', png(10000000, 1, bytes(30000001)))
        larger('square.jpg', 65535, 65535)
        larger('progressive.jpg', 12000, 8000, progressive=True)
        write('square.gif', b'GIF89a' + struct.pack('<HHBBB', 65535, 65535, 0, 0, 0)
            + b',' + struct.pack('<HHHHB', 0, 0, 65535, 65535, 0x80) + bytes(6) + b'\\2\\2L\\1\\0;')
        head = struct.pack('>IIBBBBB', 8000, 8000, 16, 6, 0, 0, 1)
        write('passes.png', b'\\x89PNG\\r\\n\\x1a\\n' + chunk(b'IHDR', head)
            + chunk(b'IDAT', zlib.compress(bytes(9000000))) + chunk(b'IEND', b''))
        image = io.BytesIO()
        Image.new('RGB', (64, 64)).save(image, 'PNG')
        write('tail.png', image.getvalue())
        os.truncate('tail.png', (512 << 20) + 1)
        """

    @Test func `a large photo takes little memory and leaves no file`() async throws {
        try ImageKit.make(
            in: scratch,
            """
            photo = quarters(12000, 8000)
            photo.save('a.jpg', exif=turned(6))
            photo.save('b.png', compress_level=1)
            quarters(9, 9).save('first.png')
            os.mkdir('temporary')
            """)
        await #expect(processExitsWith: .success) { [folder = scratch.path as String] in
            setenv("TMPDIR", "\(folder)/temporary", 1)
            let scaler = ImageScaler()
            // The library itself is no part of it.
            #expect(scaler.thumbnail(ofFile: "\(folder)/first.png") != nil)
            for (name, limit) in [("a.jpg", 32 << 20), ("b.png", 96 << 20)] {
                let before = try Memory.peak()
                #expect(scaler.thumbnail(ofFile: "\(folder)/\(name)") != nil)
                let growth = try Memory.peak() - before
                #expect(growth < limit || Memory.isChecked, "\(name): \(growth >> 20) MiB")
            }
            let left = try FileManager.default.contentsOfDirectory(atPath: "\(folder)/temporary")
            #expect(left == [])
        }
    }

    @Test func `a file that is made to take long is given up`() throws {
        // Texts that unpack to a thousand times their size; nobody wants to read them.
        try ImageKit.make(
            in: scratch,
            """
            text = chunk(b'zTXt', b'a\\0\\0' + zlib.compress(bytes(4000000), 9))
            write('slow.png', png(10, 10, bytes(310), text * 100))
            write('quick.png', png(10, 10, bytes(310)))
            """)
        let hasty = ImageScaler(patience: .milliseconds(100))
        #expect(hasty.thumbnail(ofFile: scratch("slow.png")) == nil)
        #expect(scaler.thumbnail(ofFile: scratch("quick.png")) != nil)
        #expect(ImageScaler(patience: .zero).thumbnail(ofFile: scratch("quick.png")) == nil)
    }

    @Test func `no change of bytes brings it down`() async throws {
        try ImageKit.make(
            in: scratch,
            """
            image = quarters(64, 48)
            profile = ImageCms.ImageCmsProfile(ImageCms.createProfile('sRGB')).tobytes()
            image.save('a.jpg', exif=turned(6), icc_profile=profile)
            image.save('b.jpg', progressive=True)
            image.save('a.png', icc_profile=profile)
            quarters(64, 48, 'P').save('b.png')
            image.save('a.webp')
            image.save('b.webp', lossless=True)
            image.save('a.gif')
            image.save('b.gif', save_all=True, append_images=[image.rotate(90)])
            image.save('a.tif', compression='tiff_lzw')
            image.save('b.tif', compression='jpeg')
            """)
        let environment = ProcessInfo.processInfo.environment
        let seed =
            environment["LAZYSYNC_SEED"].flatMap { UInt64($0) } ?? .random(in: 0...UInt64.max)
        let rounds = environment["LAZYSYNC_ROUNDS"].flatMap { Int($0) } ?? 2000
        print("changed images: LAZYSYNC_SEED=\(seed)")
        await #expect(processExitsWith: .success) {
            [folder = scratch.path as String, seed = seed as UInt64, rounds = rounds as Int] in
            let scaler = ImageScaler()
            let images = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
                .map { [UInt8](try Data(contentsOf: URL(filePath: "\(folder)/\($0)"))) }
            var chance = SeededGenerator(seed: seed)
            var made = 0
            for round in 0..<rounds {
                let bytes = changed(images[round % images.count], by: &chance)
                try Data(bytes).write(to: URL(filePath: "\(folder)/changed"))
                guard let thumbnail = scaler.thumbnail(ofFile: "\(folder)/changed") else {
                    continue
                }
                made += 1
                #expect(thumbnail.starts(with: [0xFF, 0xD8, 0xFF]))
                #expect(thumbnail.count <= ImageScaler.maximumBytes)
            }
            // It is no test of images if all of them are refused, or none.
            #expect((rounds / 10..<rounds * 9 / 10).contains(made), "\(made) thumbnails")
        }
    }
}

/// Some bytes flipped, overwritten, cut out or put in: mostly near the beginning, where the structure is.
private func changed(_ image: [UInt8], by chance: inout SeededGenerator) -> [UInt8] {
    var bytes = image
    for _ in 0..<Int.random(in: 1...6, using: &chance) where bytes.count > 16 {
        let isEarly = Bool.random(using: &chance)
        let at = Int.random(in: 0..<(isEarly ? min(300, bytes.count) : bytes.count), using: &chance)
        switch Int.random(in: 0..<6, using: &chance) {
        case 0: bytes[at] ^= 1 << UInt8.random(in: 0..<8, using: &chance)
        case 1: bytes[at] = UInt8.random(in: 0...255, using: &chance)
        case 2: for place in at..<min(at + 4, bytes.count) { bytes[place] = 0xFF }
        case 3: for place in at..<min(at + 4, bytes.count) { bytes[place] = 0 }
        case 4:
            let count = Int.random(in: 1...32, using: &chance)
            bytes.removeSubrange(at..<min(at + count, bytes.count))
        default:
            let count = Int.random(in: 1...32, using: &chance)
            bytes.insert(
                contentsOf: (0..<count).map { _ in UInt8.random(in: 0...255, using: &chance) },
                at: at)
        }
    }
    return bytes
}

/// What this process has taken of the memory.
private enum Memory {
    /// Sanitizers keep what was freed, and a shadow of everything.
    static let isChecked =
        dlsym(nil, "__asan_init") != nil || dlsym(nil, "__tsan_init") != nil

    /// The most bytes that it ever had.
    static func peak() throws -> Int {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
        return try #require(Int(line.filter(\.isNumber))) << 10
    }
}
