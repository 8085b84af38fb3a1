import CVips
import Glibc

/// Makes thumbnails of photos by libvips, where it is installed.
///
/// Nothing is loaded before the first file that begins as an image does. Files may be hostile: only
/// loaders that are tested with such files run, a header's promises are judged before anything is
/// decoded, and of a file that is cut or broken nothing comes. A call blocks, so it has no place on
/// the cooperative pool; calls at the same time do not wait for each other, and each needs memory of
/// its own.
package struct ImageScaler: Sendable {
    /// The most bytes that a thumbnail has.
    package static let maximumBytes = 256 << 10
    private static let quality: CInt = 78

    // An option of the loader: libvips 8.14 drops it when it is one of the thumbnail.
    // Of a file that is cut or broken, nothing; a loader's mere warnings do not count, since cameras
    // write JPEGs that libjpeg warns of.
    private static let loading = "[fail_on=error]"

    /// The library; asked for when there is an image.
    private let vips: @Sendable () -> Vips?
    private let patience: Duration

    /// Scales with the system's libvips; without it, there is no thumbnail of anything.
    package init() {
        self.init(patience: .seconds(20))
    }

    /// Gives up a file after so long.
    ///
    /// `library`: the name of another libvips, for a process that uses no other.
    init(patience: Duration, library: String? = nil) {
        self.patience = patience
        if let library {
            vips = { Vips(library: library) }
        } else {
            vips = { Vips.shared }
        }
    }

    /// Makes a JPEG of a file's image: its longer side has at most `pixels`, and it is never larger
    /// than the image.
    ///
    /// Turned as EXIF says, in sRGB, on white where the image is transparent, without metadata; the
    /// first image of those that move. `nil` if libvips 8.13 or later is not there, or the file is no
    /// JPEG, PNG, WebP, GIF or TIFF, is broken or cut, or is too large.
    package func thumbnail(of file: File, pixels: Int = 256) -> [UInt8]? {
        precondition((1...1024).contains(pixels), "a thumbnail is small")
        guard let file = ImageSource(file, patience: patience),
            let format = ImageFormat(head: file.head(ImageFormat.headBytes)),
            file.size <= format.maximumFileBytes, let vips = vips()
        else { return nil }
        defer {
            vips.clearErrors()
            vips.leaveThread()
        }
        return file.withVips(vips) { source in
            guard let header = Header(source, Self.loading, vips), header.fits(format) else {
                return nil
            }
            // A profile that does not fit its image is no reason to have nothing.
            let profiles = header.hasProfile ? ["srgb", nil] : [nil]
            for profile in profiles {
                if let bytes = Self.scale(source, vips, CInt(pixels), profile) { return bytes }
            }
            return nil
        }
    }

    /// Makes a thumbnail of the file of that path, which the user named: links are followed.
    package func thumbnail(ofFile path: String, pixels: Int = 256) -> [UInt8]? {
        // O_NONBLOCK: opening a FIFO would wait for its other end. Regular files do not mind.
        let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { return nil }
        return thumbnail(of: File(adopting: descriptor, path: path), pixels: pixels)
    }

    private static func scale(
        _ source: OpaquePointer, _ vips: Vips, _ pixels: CInt, _ profile: String?
    ) -> [UInt8]? {
        var image: OpaquePointer?
        let code = vips_shrink_source(vips.thumbnail, source, &image, pixels, loading, profile)
        guard let image else { return nil }
        defer { vips.unref(UnsafeMutableRawPointer(image)) }
        guard code == 0, let white = vips.newArray([255], 1) else { return nil }
        defer { vips.unrefArray(white) }

        var bytes: UnsafeMutableRawPointer?
        var count = 0
        let written = vips_write_jpeg(vips.writeJPEG, image, &bytes, &count, quality, white)
        defer { vips.free(bytes) }
        guard written == 0, let bytes, (1...maximumBytes).contains(count) else { return nil }
        return [UInt8](UnsafeRawBufferPointer(start: bytes, count: count))
    }
}

/// What an image's header says.
private struct Header {
    let width: Int64
    let height: Int64
    let bytesAPixel: Int64
    let isInterlaced: Bool
    let hasProfile: Bool

    /// Reads the header; nothing is decoded yet.
    init?(_ source: OpaquePointer, _ options: String, _ vips: Vips) {
        guard let image = vips_open_source(vips.openSource, source, options) else { return nil }
        defer { vips.unref(UnsafeMutableRawPointer(image)) }
        width = Int64(vips.width(image))
        height = Int64(vips.height(image))
        bytesAPixel = Int64(vips.bands(image)) * Int64(vips.sizeOfSample(vips.sample(image)))
        isInterlaced = vips.typeOf(image, "interlaced") != 0
        hasProfile = vips.typeOf(image, "icc-profile-data") != 0
    }

    /// Whether what it promises may be decoded.
    ///
    /// A side is as long as a JPEG's can be: ten million rows of one pixel would take twelve seconds.
    /// In all there are as many pixels as the largest photos of phones have; and where they are all
    /// in memory at once, of which loaders need twice their bytes, as many as cameras make.
    func fits(_ format: ImageFormat) -> Bool {
        let pixels = width * height
        let isWhole = format.isWhole(isInterlaced: isInterlaced)
        return (1...65_535).contains(width) && (1...65_535).contains(height)
            && pixels <= 200_000_000
            && (!isWhole || pixels * bytesAPixel <= 200_000_000)
    }
}
