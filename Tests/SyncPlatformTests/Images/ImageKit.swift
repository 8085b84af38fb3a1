import Foundation
import Testing

@testable import SyncPlatform

/// What makes images and looks at them without libvips: Pillow.
enum ImageKit {
    private static let python = "/usr/bin/python3"

    /// Without libvips there is nothing to test but that there is nothing; `scripts/setup` installs both.
    static let isPossible = Vips.shared != nil && succeeds("import PIL")

    /// The colours that the corners of `quarters` have, as one sees them.
    static let quarterNames = ["red", "green", "blue", "white"]

    /// Defines `quarters`: four colours, one a corner.
    private static let prelude = """
        import struct, sys, zlib
        from PIL import Image, ImageCms, ImageOps
        def quarters(width, height, mode='RGB'):
            image = Image.new('RGB', (width, height), 'white')
            image.paste((255, 0, 0), (0, 0, width // 2, height // 2))
            image.paste((0, 255, 0), (width // 2, 0, width, height // 2))
            image.paste((0, 0, 255), (0, height // 2, width // 2, height))
            return image.convert(mode)
        def turned(orientation):
            exif = Image.Exif()
            exif[0x112] = orientation
            return exif.tobytes()
        def chunk(kind, data):
            return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
        def png(width, height, data, extra=b''):
            head = struct.pack('>IIBBBBB', width, height, 8, 2, 0, 0, 0)
            return (b'\\x89PNG\\r\\n\\x1a\\n' + chunk(b'IHDR', head) + extra
                + chunk(b'IDAT', zlib.compress(data, 9)) + chunk(b'IEND', b''))
        def write(name, data):
            with open(name, 'wb') as file:
                file.write(data)

        """

    /// Runs a script in a folder, to make files there.
    static func make(in scratch: Scratch, _ script: String) throws {
        let child = try Child([
            python, "-c", "import os, sys; os.chdir(sys.argv[1])\n" + prelude + script,
            scratch.path,
        ])
        child.finish()
        try #require(child.process.terminationStatus == 0)
    }

    private static func succeeds(_ script: String) -> Bool {
        guard let child = try? Child([python, "-c", script]) else { return false }
        child.finish()
        return child.process.terminationStatus == 0
    }
}

/// What Pillow sees in a JPEG.
struct Seen: Equatable {
    let format: String
    let mode: String
    let width: Int
    let height: Int
    /// What it carries beside its pixels, JFIF's own aside.
    let extras: [String]
    /// The nearest plain colours: upper left, upper right, lower left, lower right.
    let corners: [String]

    init(_ bytes: [UInt8], in scratch: Scratch) throws {
        let path = scratch("seen.jpg")
        try Data(bytes).write(to: URL(filePath: path))
        let child = try Child(["/usr/bin/python3", "-c", Self.script, path])
        defer { child.finish() }
        let words = try #require(child.line()).split(separator: " ").map(String.init)
        format = words[0]
        mode = words[1]
        width = try #require(Int(words[2]))
        height = try #require(Int(words[3]))
        extras = words[4].split(separator: ",").map(String.init).filter { $0 != "-" }
        corners = Array(words[5...])
    }

    private static let script = """
        import sys
        from PIL import Image
        image = Image.open(sys.argv[1])
        image.load()
        width, height = image.size
        extras = [name for name in image.info if not name.startswith('jfif')] + list(image.getexif())
        plain = {'red': (255, 0, 0), 'green': (0, 255, 0), 'blue': (0, 0, 255), 'white': (255,) * 3,
                 'black': (0,) * 3, 'grey': (128,) * 3}
        def name(x, y):
            pixel = image.convert('RGB').getpixel((x, y))
            return min(plain, key=lambda one: sum((a - b) ** 2 for a, b in zip(plain[one], pixel)))
        x, y = width // 4, height // 4
        print(image.format, image.mode, width, height, ','.join(map(str, extras)) or '-', name(x, y),
              name(width - 1 - x, y), name(x, height - 1 - y), name(width - 1 - x, height - 1 - y))
        """
}
