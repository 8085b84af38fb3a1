extension FileSystem {
    /// Moves a file, or a folder with all that is in it, to another place, also on another volume.
    ///
    /// When it returns, the bytes are on the disk under their new names. Killed or failed, each file
    /// is whole at its old place, at its new one or at both, and the next call goes on.
    /// - Throws: `exists` if another file has the name; `notOurs` for a link, a device, or what is
    ///   somebody else's.
    package static func move(_ path: String, to target: String) throws(FileError) {
        guard let source = try facts(path) else { return }
        let there = try facts(target)
        if there == nil {
            do {
                try rename(path, to: target)
                try Directory.sync(folder(of: target))
                return try Directory.sync(folder(of: path))
            } catch {
                if error.code != .otherVolume { throw error }
            }
        }
        switch source.kind {
        case .directory:
            try Directory.make(target)
            for name in try Directory.list(path) {
                try move("\(path)/\(name)", to: "\(target)/\(name)")
            }
            try Directory.sync(folder(of: target))
            try Directory.remove(path)
        case .regular:
            let file = try File(path, for: .read)
            if there == nil {
                try copy(file, to: target, mode: source.mode)
            } else if try !hasSameBytes(file, target) {
                throw FileError(.exists, operation: "move", path: target)
            }
            try remove(path)
        case .symbolicLink, .other:
            throw FileError(.notOurs, operation: "move", path: path)
        }
        try Directory.sync(folder(of: path))
    }

    /// Whether a file is a copy that an earlier call had finished.
    private static func hasSameBytes(
        _ file: File, _ path: String
    ) throws(FileError) -> Bool {
        let other = try File(path, for: .read)
        guard try file.facts().size == other.facts().size else { return false }
        var offset: Int64 = 0
        while true {
            let piece = try file.read(count: 1 << 18, at: offset)
            if try other.read(count: 1 << 18, at: offset) != piece { return false }
            if piece.isEmpty { return true }
            offset += Int64(piece.count)
        }
    }
}
