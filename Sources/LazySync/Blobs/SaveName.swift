internal import SyncPlatform

/// Where a file goes that a person wants, under its own name made safe.
enum SaveName {
    /// Longest name that common file systems take, in bytes.
    private static let longest = 255

    /// Where a file is to go: under a safe and free name in a folder, or to a file that is not there
    /// yet.
    ///
    /// Somebody may take the name before it is used: in a folder another one is asked for then.
    static func path(for name: String, in destination: String) throws -> String {
        guard try isFolder(destination) else { return destination }
        let folder = destination.hasSuffix("/") ? String(destination.dropLast()) : destination
        let safe = safe(name)
        for number in 1...10_000 {
            let path = folder + "/" + (number == 1 ? safe : numbered(safe, number))
            if try FileSystem.facts(path) == nil { return path }
        }
        throw SyncError(.storage, "save", "there are too many files of that name")
    }

    /// Refuses a destination that cannot be one, before bytes are fetched for it.
    static func check(_ destination: String) throws {
        guard !destination.isEmpty else {
            throw SyncError(.invalidInput, "save", "the destination has no name")
        }
        if try isFolder(destination) {
            guard try FileSystem.facts(destination) != nil else { throw noFolder(destination) }
        } else if try FileSystem.facts(destination) != nil {
            throw taken(destination)
        } else if try FileSystem.facts(FileSystem.folder(of: destination)) == nil {
            throw noFolder(destination)
        }
    }

    /// What a person can do something about is told as such.
    static func refusal(_ error: FileError, _ destination: String) -> any Error {
        switch error.code {
        case .exists: taken(destination)
        case .notFound: noFolder(destination)
        default: error
        }
    }

    private static func taken(_ destination: String) -> SyncError {
        SyncError(
            .invalidInput, "save", "\(destination) is there already",
            hint: "nothing is written over; name a folder, or a file that is not there")
    }

    private static func noFolder(_ destination: String) -> SyncError {
        SyncError(.invalidInput, "save", "there is no folder for \(destination)")
    }

    /// A display name as a file's name: one component, nothing hidden, nothing a terminal obeys.
    static func safe(_ name: String) -> String {
        var safe = String.UnicodeScalarView()
        for scalar in name.unicodeScalars {
            let isSeparator = scalar == "/" || scalar == "\\" || scalar == ":"
            switch scalar.properties.generalCategory {
            case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator,
                .paragraphSeparator:
                safe.append(scalar == "\u{200D}" ? scalar : "_")
            default:
                safe.append(isSeparator ? "_" : scalar)
            }
        }
        // By scalars: a dot that an accent follows is another character, and hides a file all the
        // same.
        while let first = safe.first, isPadding(first) { safe.removeFirst() }
        while let last = safe.last, isPadding(last) { safe.removeLast() }
        return shortened(String(safe), to: longest)
    }

    private static func isPadding(_ scalar: Unicode.Scalar) -> Bool {
        scalar == "." || scalar.properties.isWhitespace
    }

    /// The name with a number before its extension.
    private static func numbered(_ name: String, _ number: Int) -> String {
        let (stem, suffix) = parts(name)
        let tail = " (\(number))" + suffix
        return shortened(stem, to: longest - tail.utf8.count) + tail
    }

    /// Cuts whole characters off the stem, so that the extension stays.
    private static func shortened(_ name: String, to count: Int) -> String {
        var (stem, suffix) = parts(name)
        // One character can have more bytes than a name may.
        while stem.utf8.count + suffix.utf8.count > count, !stem.isEmpty { stem.removeLast() }
        return (stem.isEmpty ? "attachment" : stem) + suffix
    }

    /// The name and its extension, if that is short enough to be one.
    private static func parts(_ name: String) -> (stem: String, suffix: String) {
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex,
            name[dot...].utf8.count <= 32
        else { return (name, "") }
        return (String(name[..<dot]), String(name[dot...]))
    }

    private static func isFolder(_ path: String) throws(FileError) -> Bool {
        if path.hasSuffix("/") { return true }
        guard try FileSystem.facts(path) != nil else { return false }
        do {
            // A link to a folder is what the person named.
            return try FileSystem.facts(FileSystem.realPath(path))?.kind == .directory
        } catch {
            // A link that leads nowhere is something in the way.
            if error.code == .notFound { return false }
            throw error
        }
    }
}
