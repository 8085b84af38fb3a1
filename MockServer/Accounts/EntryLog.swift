/// The entries of an account in the order in which they are served: ascending (seq, id).
///
/// Versions that were superseded stay in their places, so that an old state can be shown. A value: a
/// page that is being sent keeps the entries that it began with.
struct EntryLog: Sendable {
    /// One version of an entry: what orders it, and where its encoded line is.
    struct Slot: Sendable {
        let seq: UInt64
        let id: EntryID
        let version: UInt64
        /// The seq that brought a newer version.
        var until = UInt64.max
        let offset: Int
        let length: Int32
        let buffer: Int32

        /// Whether this is what the entry is now.
        var isNewest: Bool { until == .max }
    }

    private(set) var slots: [Slot] = []
    private(set) var buffers: [LineBuffer] = []
    /// How many entries are listed, tombstones too.
    private(set) var count = 0
    /// Where each entry's newest version is; made for the first change, then kept up to date, so that
    /// a push costs what it brings and not what is there.
    private var places: [EntryID: Int]?

    /// The entries of a buffer, one a line.
    init(_ buffer: LineBuffer? = nil) throws(SetupError) {
        guard let buffer else { return }
        append(try EntryScan.lines(of: buffer), buffer)
    }

    /// No entries.
    static let empty = EntryLog(slots: [])

    private init(slots: [Slot], buffers: [LineBuffer] = []) {
        self.slots = slots
        self.buffers = buffers
        count = slots.count
    }

    /// Adds the lines of a buffer and keeps all in order.
    private mutating func append(_ lines: [EntryScan.Line], _ buffer: LineBuffer) {
        let number = Int32(buffers.count)
        buffers.append(buffer)
        if slots.isEmpty { slots.reserveCapacity(lines.count) }
        var isSorted = true
        for line in lines {
            let slot = Slot(
                seq: line.seq, id: line.id, version: line.version, offset: line.offset,
                length: Int32(line.length), buffer: number)
            if let last = slots.last, !EntryLog.isAscending(last, slot) { isSorted = false }
            places?[slot.id] = slots.count
            slots.append(slot)
        }
        count += lines.count
        if !isSorted {
            slots.sort(by: EntryLog.isAscending)
            places = nil
        }
    }

    private static func isAscending(_ left: Slot, _ right: Slot) -> Bool {
        (left.seq, left.id) < (right.seq, right.id)
    }

    /// Adds or replaces entries; what has the same id is superseded, unless `keepingOld`.
    ///
    /// A line whose seq is not above the entry's is the server tampering: the old one is as if it had
    /// never been.
    mutating func put(
        _ buffer: LineBuffer, keepingOld: Bool = false
    ) throws(SetupError) {
        let lines = try EntryScan.lines(of: buffer)
        if !keepingOld {
            var tampered: Set<EntryID> = []
            for line in lines {
                guard let place = place(of: line.id) else { continue }
                if slots[place].seq < line.seq {
                    slots[place].until = line.seq
                    count -= 1
                } else {
                    tampered.insert(line.id)
                }
            }
            if !tampered.isEmpty { leaveOut(tampered) }
        }
        append(lines, buffer)
    }

    /// Takes entries away, with all that they were.
    mutating func leaveOut(_ ids: Set<EntryID>) {
        slots.removeAll { ids.contains($0.id) }
        count = slots.count(where: \.isNewest)
        places = nil
    }

    /// The entries as they were when `seq` was the newest.
    func asOf(_ seq: UInt64) -> EntryLog {
        let then = slots.filter { $0.seq <= seq && $0.until > seq }.map { slot in
            var slot = slot
            slot.until = .max
            return slot
        }
        return EntryLog(slots: then, buffers: buffers)
    }

    /// The version that an entry has now; 0 for none.
    mutating func version(of id: EntryID) -> UInt64 {
        place(of: id).map { slots[$0].version } ?? 0
    }

    private mutating func place(of id: EntryID) -> Int? {
        if places == nil {
            var places: [EntryID: Int] = [:]
            places.reserveCapacity(count)
            for (place, slot) in slots.enumerated() where slot.isNewest { places[slot.id] = place }
            self.places = places
        }
        return places?[id]
    }

    /// The index of the first slot after a place in the order.
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

    /// Slots that are served together.
    struct Page: Sendable {
        var slots: [Slot] = []
        /// What stands before the page, and at its end; tells where the next one begins.
        var before: Slot?
        var last: Slot?
        /// Whether anything is left behind it.
        var hasMore = false
        /// Where the slots' lines are.
        var buffers: [LineBuffer]
    }

    /// The page after a place: up to the limit or 16 MiB, but with one entry.
    func page(after seq: UInt64, _ id: EntryID?, limit: Int) -> Page {
        var at = index(after: seq, id)
        var page = Page(before: at > 0 ? slots[at - 1] : nil, buffers: buffers)
        page.last = page.before
        var bytes = 0
        while at < slots.count {
            let slot = slots[at]
            if slot.isNewest {
                bytes += Int(slot.length) + 1
                page.hasMore =
                    page.slots.count == limit || (bytes > 16 << 20 && !page.slots.isEmpty)
                if page.hasMore { break }
                page.slots.append(slot)
            }
            page.last = slot
            at += 1
        }
        return page
    }

    /// The entries with these ids, in their own order; those that do not exist are left out.
    func find(_ ids: Set<EntryID>) -> Page {
        let slots =
            if let places {
                ids.compactMap { places[$0] }.sorted().map { self.slots[$0] }
            } else {
                self.slots.filter { $0.isNewest && ids.contains($0.id) }
            }
        return Page(slots: slots, buffers: buffers)
    }

    /// The entries that are listed.
    var newest: [Slot] { slots.filter(\.isNewest) }

    /// The encoded line of a slot.
    func line(_ slot: Slot) -> [UInt8] {
        let buffer = buffers[Int(slot.buffer)]
        return [UInt8](
            UnsafeRawBufferPointer(start: buffer.base + slot.offset, count: Int(slot.length)))
    }
}
