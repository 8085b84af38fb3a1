import Glibc

/// A manifest page: encoded lines as they are stored, joined with commas between two brackets.
///
/// No line is copied or encoded again until it goes out, so a page costs what its bytes cost.
// Pointers lead into buffers that are kept alive here and never written.
final class PageBytes: ByteSource, @unchecked Sendable {
    private let buffers: [LineBuffer]
    private let pieces: [UnsafeRawBufferPointer]
    /// Where each piece begins in the page.
    private let starts: [UInt64]
    private let frame: UnsafeMutableRawBufferPointer
    private let slots: [EntryLog.Slot]
    let count: UInt64

    init(before: String, _ page: EntryLog.Page, after: String) {
        let slots = page.slots
        let text = before + "," + after
        frame = .allocate(byteCount: text.utf8.count, alignment: 1)
        frame.copyBytes(from: text.utf8)
        let opening = before.utf8.count
        let comma = UnsafeRawBufferPointer(rebasing: frame[opening..<opening + 1])

        var pieces = [UnsafeRawBufferPointer(rebasing: frame[..<opening])]
        pieces.reserveCapacity(2 * slots.count + 2)
        for slot in slots {
            if pieces.count > 1 { pieces.append(comma) }
            pieces.append(
                UnsafeRawBufferPointer(
                    start: page.buffers[Int(slot.buffer)].base + slot.offset,
                    count: Int(slot.length)
                ))
        }
        pieces.append(UnsafeRawBufferPointer(rebasing: frame[(opening + 1)...]))

        var starts: [UInt64] = []
        starts.reserveCapacity(pieces.count)
        var total: UInt64 = 0
        for piece in pieces {
            starts.append(total)
            total += UInt64(piece.count)
        }
        self.pieces = pieces
        self.starts = starts
        self.slots = slots
        buffers = page.buffers
        count = total
    }

    deinit {
        frame.deallocate()
        // The first and the last line of a page in file order bound what this page touched.
        for run in Dictionary(grouping: slots, by: \.buffer).values {
            guard let first = run.first, let last = run.last, first.offset < last.offset else {
                continue
            }
            buffers[Int(first.buffer)].letGo(of: first.offset..<last.offset + Int(last.length))
        }
    }

    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard offset < count else { return 0 }
        var index = pieceIndex(at: offset)
        var skip = Int(offset - starts[index])
        var filled = 0
        while index < pieces.count, filled < buffer.count {
            let piece = pieces[index]
            let length = min(piece.count - skip, buffer.count - filled)
            if length > 0, let source = piece.baseAddress {
                buffer.baseAddress?.advanced(by: filled)
                    .copyMemory(from: source + skip, byteCount: length)
            }
            filled += length
            skip = 0
            index += 1
        }
        return filled
    }

    private func pieceIndex(at offset: UInt64) -> Int {
        var low = 0
        var high = starts.count
        while high - low > 1 {
            let middle = (low + high) / 2
            if starts[middle] <= offset { low = middle } else { high = middle }
        }
        return low
    }
}
