import Foundation
import Testing

@testable import SyncPlatform

struct ImageBasicsTests {
    /// The first bytes of a PNG; nobody gets to see that there are no more.
    private static let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    @Test(arguments: ["libvips-that-nobody-has.so", "libc.so.6"])
    func `without the library, or with one that lacks what is needed, there is no thumbnail`(
        library: String
    ) throws {
        let scratch = try Scratch()
        try Data(Self.png).write(to: URL(filePath: scratch("a.png")))
        #expect(Vips(library: library) == nil)
        let scaler = ImageScaler(patience: .seconds(20), library: library)
        #expect(scaler.thumbnail(ofFile: scratch("a.png")) == nil)
    }

    @Test func `what a file grows by while it is read is left out`() throws {
        let scratch = try Scratch()
        try Data("twelve bytes".utf8).write(to: URL(filePath: scratch("a")))
        let file = try File(scratch("a"), for: .readWrite)
        let source = try #require(ImageSource(file, patience: .seconds(20)))
        try file.truncate(to: 4096)
        var bytes = [UInt8](repeating: 1, count: 4096)
        #expect(
            bytes.withUnsafeMutableBytes { source.read(into: $0.baseAddress, count: 4096) } == 12)
        #expect(
            bytes.withUnsafeMutableBytes { source.read(into: $0.baseAddress, count: 4096) } == 0)
        #expect(bytes[12...].allSatisfy { $0 == 1 })
    }

    @Test func `first bytes tell an image from what only has its name`() {
        #expect(ImageFormat(head: [0xFF, 0xD8, 0xFF, 0xE0]) == .jpeg)
        #expect(ImageFormat(head: Self.png) == .png)
        #expect(ImageFormat(head: Array("GIF89a".utf8)) == .gif)
        #expect(ImageFormat(head: Array("RIFF....WEBPVP8 ".utf8)) == .webp)
        #expect(ImageFormat(head: Array("II*\0".utf8)) == .tiff)
        #expect(ImageFormat(head: Array("MM\0*".utf8)) == .tiff)
        let others = [
            "", "GIF", "RIFF....WAVE", "%PDF-1.7", "<svg xmlns=", "<?xml", "P6 9 9 255", "BM",
            "\0\0\0\u{18}ftypheic", "\0\0\0\u{18}ftypavif", "8BPS", "gimp xcf",
            "push graphic-context",
        ]
        for text in others { #expect(ImageFormat(head: Array(text.utf8)) == nil, "\(text)") }
    }
}
