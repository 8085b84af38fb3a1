/// The kinds of image that are scaled, told by a file's first bytes.
///
/// HEIF and AVIF are not among them: their decoders believe the size in the compressed bytes, whatever
/// the header says, and 40 KB can make them take gigabytes.
enum ImageFormat: Sendable {
    case jpeg, png, gif, webp, tiff

    /// How many bytes of a file tell what it is.
    static let headBytes = 16

    /// What these first bytes of a file say; `nil` for anything else.
    ///
    /// Decided here, so that nothing else costs the loading of libvips, or gets near it.
    init?(head: [UInt8]) {
        func has(_ text: StaticString, at offset: Int = 0) -> Bool {
            let end = offset + text.utf8CodeUnitCount
            return head.count >= end
                && text.withUTF8Buffer { head[offset..<end].elementsEqual($0) }
        }
        if head.starts(with: [0xFF, 0xD8, 0xFF]) {
            self = .jpeg
        } else if head.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
            self = .png
        } else if has("GIF87a") || has("GIF89a") {
            self = .gif
        } else if has("RIFF") && has("WEBP", at: 8) {
            self = .webp
        } else if head.starts(with: [0x49, 0x49, 0x2A, 0])
            || head.starts(with: [0x4D, 0x4D, 0, 0x2A])
        {
            self = .tiff
        } else {
            return nil
        }
    }

    /// The largest file that is looked at.
    ///
    /// Loaders keep in memory: of JPEG the markers, twice; of the last ones the whole file.
    var maximumFileBytes: Int64 {
        switch self {
        case .png, .tiff: 512 << 20
        case .jpeg: 128 << 20
        case .gif, .webp: 64 << 20
        }
    }

    /// Whether a loader has all of the image in memory at once, and not some rows at a time.
    ///
    /// `isInterlaced`: what comes row by row otherwise comes in passes, each over the whole image.
    func isWhole(isInterlaced: Bool) -> Bool {
        switch self {
        case .jpeg, .png, .tiff: isInterlaced
        case .gif, .webp: true
        }
    }
}
