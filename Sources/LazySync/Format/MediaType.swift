/// The media types of files that people keep, by their names' extensions.
enum MediaType {
    /// What is said of a file of which nothing is known.
    static let unknown = "application/octet-stream"

    /// The media type of a file by its name.
    static func of(_ name: String) -> String {
        guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")) else { return unknown }
        return known[name[name.utf8.index(after: dot)...].lowercased()] ?? unknown
    }

    private static let known = [
        "avif": "image/avif", "bmp": "image/bmp", "gif": "image/gif", "heic": "image/heic",
        "heif": "image/heif", "jpeg": "image/jpeg", "jpg": "image/jpeg", "jxl": "image/jxl",
        "png": "image/png", "svg": "image/svg+xml", "tif": "image/tiff", "tiff": "image/tiff",
        "webp": "image/webp",
        "aac": "audio/aac", "flac": "audio/flac", "m4a": "audio/mp4", "mp3": "audio/mpeg",
        "oga": "audio/ogg", "ogg": "audio/ogg", "opus": "audio/ogg", "wav": "audio/wav",
        "avi": "video/x-msvideo", "m4v": "video/mp4", "mkv": "video/x-matroska",
        "mov": "video/quicktime", "mp4": "video/mp4", "mpeg": "video/mpeg", "mpg": "video/mpeg",
        "webm": "video/webm",
        "css": "text/css", "csv": "text/csv", "htm": "text/html", "html": "text/html",
        "ics": "text/calendar", "md": "text/markdown", "txt": "text/plain", "vcf": "text/vcard",
        "xml": "application/xml",
        "doc": "application/msword",
        "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "epub": "application/epub+zip", "gz": "application/gzip", "json": "application/json",
        "odt": "application/vnd.oasis.opendocument.text", "pdf": "application/pdf",
        "ppt": "application/vnd.ms-powerpoint",
        "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        "rtf": "application/rtf", "tar": "application/x-tar",
        "xls": "application/vnd.ms-excel",
        "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "zip": "application/zip", "zst": "application/zstd",
    ]
}
