import Foundation
import Testing

@testable import SyncPlatform

@Suite(.enabled(if: ImageKit.isPossible, "needs libvips42 and python3-pil"))
struct ImageScalerTests {
    private let scratch: Scratch
    private let scaler = ImageScaler()

    init() throws {
        scratch = try Scratch()
    }

    private func seen(_ name: String, pixels: Int = 256) throws -> Seen {
        try Seen(#require(scaler.thumbnail(ofFile: scratch(name), pixels: pixels)), in: scratch)
    }

    @Test func `a photo becomes a small JPEG without what it carried`() throws {
        try ImageKit.make(
            in: scratch,
            """
            exif = Image.Exif()
            exif[0x10f] = 'a camera'
            profile = ImageCms.ImageCmsProfile(ImageCms.createProfile('sRGB')).tobytes()
            quarters(1200, 800).save('a.jpg', exif=exif.tobytes(), icc_profile=profile, comment='here')
            """)
        let bytes = try #require(scaler.thumbnail(ofFile: scratch("a.jpg")))
        #expect(bytes.count < 10_000)
        let seen = try Seen(bytes, in: scratch)
        #expect(seen.format == "JPEG" && seen.mode == "RGB")
        #expect((seen.width, seen.height) == (256, 171))
        #expect(seen.extras == [])
        #expect(seen.corners == ImageKit.quarterNames)
    }

    @Test(arguments: 1...8) func `a photo is turned as EXIF says`(orientation: Int) throws {
        // As a camera would have stored what is seen the right way up once it is turned.
        try ImageKit.make(
            in: scratch,
            """
            way = {2: Image.FLIP_LEFT_RIGHT, 3: Image.ROTATE_180, 4: Image.FLIP_TOP_BOTTOM,
                   5: Image.TRANSPOSE, 6: Image.ROTATE_90, 7: Image.TRANSVERSE, 8: Image.ROTATE_270}
            image, orientation = quarters(600, 400), \(orientation)
            if orientation in way:
                image = image.transpose(way[orientation])
            for name in 'a.jpg', 'a.png', 'a.webp':
                image.save(name, exif=turned(orientation))
            """)
        for name in ["a.jpg", "a.png", "a.webp"] {
            let seen = try seen(name)
            #expect((seen.width, seen.height) == (256, 171), "\(name)")
            #expect(seen.corners == ImageKit.quarterNames, "\(name)")
            #expect(seen.extras == [], "\(name)")
        }
    }

    @Test func `every kind of image that is read gives the same picture`() throws {
        try ImageKit.make(
            in: scratch,
            """
            image = quarters(600, 400)
            image.save('progressive.jpg', progressive=True)
            image.save('true.png')
            image.save('lossy.webp')
            image.save('whole.webp', lossless=True)
            quarters(600, 400, 'P').save('palette.gif')
            image.save('moving.gif', save_all=True, append_images=[Image.new('RGB', (600, 400))])
            image.save('moving.webp', save_all=True, append_images=[Image.new('RGB', (600, 400))])
            image.save('plain.tif')
            image.save('packed.tif', compression='tiff_lzw')
            """)
        for name in scratch.names {
            let seen = try seen(name)
            #expect((seen.width, seen.height) == (256, 171), "\(name)")
            #expect(seen.corners == ImageKit.quarterNames, "\(name)")
        }
    }

    @Test func `what is grey or has sixteen bits is read too`() throws {
        try ImageKit.make(
            in: scratch,
            """
            Image.new('L', (600, 400), 128).save('grey.jpg')
            Image.new('L', (600, 400), 128).save('grey.png')
            Image.new('I;16', (600, 400), 128 << 8).save('deep.png')
            Image.new('1', (600, 400), 1).save('bits.png')
            """)
        for name in ["grey.jpg", "grey.png", "deep.png"] {
            #expect(try seen(name).corners == Array(repeating: "grey", count: 4), "\(name)")
        }
        #expect(try seen("bits.png").corners == Array(repeating: "white", count: 4))
    }

    @Test func `what is meant for print is read too, darker as print is`() throws {
        try ImageKit.make(in: scratch, "quarters(600, 400, 'CMYK').save('a.jpg')")
        let seen = try seen("a.jpg")
        #expect(seen.mode == "RGB" && seen.corners.last == "white")
        #expect(seen.corners.prefix(2) == ["red", "green"])
    }

    @Test func `what is transparent becomes white`() throws {
        try ImageKit.make(
            in: scratch,
            """
            clear = Image.new('RGBA', (600, 400), (0, 0, 0, 0))
            clear.paste((255, 0, 0, 255), (0, 0, 300, 200))
            for name in 'a.png', 'a.webp', 'a.tif':
                clear.save(name)
            Image.new('LA', (600, 400), (0, 0)).save('grey.png')
            """)
        for name in ["a.png", "a.webp", "a.tif"] {
            #expect(try seen(name).corners == ["red", "white", "white", "white"], "\(name)")
        }
        #expect(try seen("grey.png").corners == Array(repeating: "white", count: 4))
    }

    @Test func `a profile that does not fit its image is left out`() throws {
        try ImageKit.make(
            in: scratch,
            """
            profile = ImageCms.ImageCmsProfile(ImageCms.createProfile('sRGB')).tobytes()
            quarters(600, 400).save('broken.jpg', icc_profile=profile[:200] + bytes(400))
            quarters(600, 400, 'L').save('other.jpg', icc_profile=profile)
            """)
        #expect(try seen("broken.jpg").corners == ImageKit.quarterNames)
        #expect(try seen("other.jpg").width == 256)
    }

    @Test func `a small image keeps its size, and a thin one a pixel`() throws {
        try ImageKit.make(
            in: scratch,
            """
            quarters(40, 30).save('small.png')
            quarters(30000, 2).save('thin.png')
            """)
        let small = try seen("small.png")
        #expect((small.width, small.height) == (40, 30))
        let thin = try seen("thin.png")
        #expect((thin.width, thin.height) == (256, 1))
    }

    @Test func `the size is the caller's, and the noisiest thumbnail is small enough`() throws {
        try ImageKit.make(
            in: scratch,
            """
            import os
            Image.frombytes('RGB', (700, 700), os.urandom(700 * 700 * 3)).save('noise.png')
            Image.frombytes('RGB', (256, 256), os.urandom(256 * 256 * 3)).save('exact.png')
            """)
        #expect(try seen("noise.png", pixels: 64).width == 64)
        #expect(try seen("exact.png").width == 256)
        let bytes = try #require(scaler.thumbnail(ofFile: scratch("exact.png")))
        #expect(bytes.count < ImageScaler.maximumBytes / 2)
    }

    @Test func `an open file stays where it was, and a link is followed`() throws {
        try ImageKit.make(in: scratch, "quarters(600, 400).save('a.jpg')")
        let file = try File(scratch("a.jpg"), for: .read)
        let bytes = try #require(scaler.thumbnail(of: file))
        #expect(scaler.thumbnail(of: file) == bytes)
        try FileManager.default.createSymbolicLink(
            atPath: scratch("link"), withDestinationPath: scratch("a.jpg"))
        #expect(scaler.thumbnail(ofFile: scratch("link")) == bytes)
    }

    @Test func `many at once give what one gives`() async throws {
        try ImageKit.make(in: scratch, "quarters(900, 600).save('a.jpg')")
        let path = scratch("a.jpg")
        let one = try #require(scaler.thumbnail(ofFile: path))
        try await withThrowingTaskGroup(of: [UInt8]?.self) { group in
            for _ in 0..<24 {
                group.addTask { [scaler] in
                    try await Blocking.run { scaler.thumbnail(ofFile: path) }
                }
            }
            for try await other in group { #expect(other == one) }
        }
    }
}
