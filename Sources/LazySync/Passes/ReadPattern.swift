/// Whether somebody reads on where they stopped, and how much more to bring then; a value.
struct ReadPattern: Sendable, Hashable {
    /// What is read ahead at first, and what at the most: 256 KiB doubling to 4 MiB.
    static let least = 4
    static let most = 64

    /// Where the last read ended; nil before the first.
    private var end: Int64?
    /// Chunks that the last request reached ahead; 0 while reads jump about.
    private(set) var reach = 0
    /// Whether the last read began where the one before it ended.
    private(set) var isSequential = false

    /// Notes a read; one that begins elsewhere starts anew.
    ///
    /// It is certain if whoever reads has said how far.
    mutating func note(_ range: Range<Int64>, isCertain: Bool = false) {
        isSequential = range.lowerBound == end || isCertain
        if !isSequential { reach = 0 }
        if isCertain { reach = Self.most }
        end = range.upperBound
    }

    /// How many chunks the next request should bring, the wanted one among them.
    var nextReach: Int {
        isSequential ? min(max(reach * 2, Self.least), Self.most) : 1
    }

    /// Notes that a request was sent: the one after it brings more.
    mutating func asked() {
        if isSequential { reach = nextReach }
    }
}
