/// The entries of an account in the order in which they are served: ascending (seq, id).
///
/// A value: a page that is being sent keeps the entries that it began with.
struct EntryLog: Sendable {
    /// One entry: what orders it, and where its encoded line is.
    struct Slot: Sendable {
        let seq: UInt64
        let id: EntryID
        let version: UInt64
        let offset: Int
        let length: Int32
        let buffer: Int32
    }

    private(set) var slots: [Slot] = []
    private(set) var buffers: [LineBuffer] = []

    /// The entries of a buffer, one a line.
    init(_ buffer: LineBuffer? = nil) throws(SetupError) {
        guard let buffer else { return }
        try append(buffer)
    }

    /// Adds the lines of a buffer and puts all in order.
    private mutating func append(_ buffer: LineBuffer) throws(SetupError) {
        let number = Int32(buffers.count)
        buffers.append(buffer)
        slots += try EntryScan.lines(of: buffer).map { line in
            Slot(
                seq: line.seq, id: line.id, version: line.version, offset: line.offset,
                length: Int32(line.length), buffer: number)
        }
        let isSorted = zip(slots, slots.dropFirst()).allSatisfy { EntryLog.isAscending($0, $1) }
        if !isSorted { slots.sort(by: EntryLog.isAscending) }
    }

    private static func isAscending(_ left: Slot, _ right: Slot) -> Bool {
        (left.seq, left.id) < (right.seq, right.id)
    }

    /// Adds or replaces entries; what has the same id goes, unless `keepingOld`.
    mutating func put(
        _ buffer: LineBuffer, keepingOld: Bool = false
    ) throws(SetupError) {
        if !keepingOld {
            let changed = Set(try EntryScan.lines(of: buffer).map(\.id))
            slots.removeAll { changed.contains($0.id) }
        }
        try append(buffer)
    }

    /// The index of the first entry after a place in the order.
    func index(after seq: UInt64, _ id: EntryID?) -> Int {
        var low = 0
        var high = slots.count
        while low < high {
            let middle = (low + high) / 2
            let slot = slots[middle]
            let isAfter = id.map { (seq, $0) < (slot.seq, slot.id) } ?? (slot.seq > seq)
            if isAfter { high = middle } else { low = middle + 1 }
        }
        return low
    }

    /// The entries with these ids, in their own order; those that do not exist are left out.
    func find(_ ids: Set<EntryID>) -> [Slot] {
        slots.filter { ids.contains($0.id) }
    }
}
