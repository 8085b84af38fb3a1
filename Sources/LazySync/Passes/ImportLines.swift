internal import SyncPlatform

/// The lines of an export file, each decoded, checked and in its place; from a file or a pipe.
///
/// The last line comes only if nothing is missing before or behind it.
final class ImportLines {
    private let file: File
    private let decoder = ExportDecoder()
    private var buffer: [UInt8] = []
    private var start = 0
    private var isAtEnd = false
    private var number = 0
    private var hash: HashState? = HashState()
    private var counts = ExportEnd()
    private var lastEntry: EntryID?
    private var lastStaged: EntryID?

    private static let blockCount = 1 << 20

    /// Lines and members that were left out.
    var leftOut: Int { decoder.leftOut }

    init(_ path: String) throws(FileError) {
        file = try File(chosenByUser: path)
    }

    /// The first line.
    func header() throws -> ExportHeader {
        guard case .header(let header) = try next() else { throw problem("it is no header") }
        return header
    }

    /// The next line.
    ///
    /// - Throws: `SyncError` that names the line.
    func next() throws -> ExportLine {
        while true {
            let line = try nextBytes()
            let decoded: ExportLine?
            do throws(ExportProblem) {
                decoded = try decoder.decode(line.span)
            } catch {
                throw problem(error.detail, isNewer: error.isNewer)
            }
            if case .end(let end)? = decoded {
                try check(end)
                return .end(end)
            }
            hash?.update(line.span)
            hash?.update([UInt8(ascii: "\n")].span)
            guard let decoded else { continue }
            try place(decoded)
            return decoded
        }
    }

    /// Keeps lines in their order.
    private func place(_ line: ExportLine) throws {
        switch line {
        case .header: guard number == 1 else { throw problem("a second header") }
        case .entry(let entry):
            guard number > 1, lastStaged == nil, lastEntry.map({ $0 < entry.facts.id }) != false
            else { throw problem("it is not in its place") }
            lastEntry = entry.facts.id
            counts.entries += 1
            counts.attachments += entry.item?.attachments.count ?? 0
        case .staged(let staged):
            guard number > 1, lastStaged.map({ $0 < staged.facts.id }) != false else {
                throw problem("it is not in its place")
            }
            lastStaged = staged.facts.id
            counts.staged += 1
        case .end: break
        }
    }

    private func check(_ end: ExportEnd) throws {
        guard number > 1 else { throw problem("it is no header") }
        if let hash = hash.take() { counts.digest = [UInt8](copying: hash.finish().span) }
        guard counts == end else {
            throw problem("the lines before it are not those that were written")
        }
        guard start == buffer.count, try fill() == false else {
            number += 1
            throw problem("there is more behind the last line")
        }
    }

    // MARK: Bytes

    private func nextBytes() throws -> [UInt8] {
        number += 1
        var scanned = start
        while true {
            if let newline = buffer[scanned...].firstIndex(of: UInt8(ascii: "\n")) {
                defer { start = newline + 1 }
                return Array(buffer[start..<newline])
            }
            scanned = buffer.count
            guard buffer.count - start <= ExportLine.maximumCount else {
                throw problem("it is too long")
            }
            let shift = start
            guard try fill() else {
                throw problem(
                    start == buffer.count
                        ? "the file ends before its last line" : "the file ends within it")
            }
            scanned -= shift
        }
    }

    /// Reads on; false at the end of the file.
    private func fill() throws -> Bool {
        guard !isAtEnd else { return false }
        buffer.removeSubrange(..<start)
        start = 0
        let more = try file.readNext(upTo: Self.blockCount)
        isAtEnd = more.isEmpty
        buffer += more
        return !isAtEnd
    }

    private func problem(_ detail: String, isNewer: Bool = false) -> SyncError {
        SyncError(
            isNewer ? .newerCatalog : .invalidInput, "import", "line \(number): \(detail)",
            hint: isNewer
                ? "import it with the newer version; nothing was imported"
                : "the file is damaged, or no export; nothing was imported")
    }
}
