/// How an answer travels: at once and whole, unless a fault says otherwise.
struct Delivery: Sendable {
    /// How the length of the body is told.
    enum Framing: Sendable, Equatable {
        /// A Content-Length that agrees.
        case length
        /// A Content-Length that may lie.
        case claimed(UInt64)
        /// Chunked.
        case chunked
        /// Neither: the end of the connection is the end of the body.
        case untilClose
    }

    /// How a connection ends before its time.
    enum Ending: Sendable, Equatable {
        /// In good order, as if nothing were missing.
        case close
        /// With a reset.
        case reset
    }

    /// A place in a body.
    enum Point: Sendable, Equatable {
        case bytes(UInt64)
        case fraction(Double)

        /// The offset in a body of `count` bytes.
        func offset(in count: UInt64) -> UInt64 {
            switch self {
            case .bytes(let bytes): min(bytes, count)
            case .fraction(let part): min(UInt64(Double(count) * max(0, part)), count)
            }
        }
    }

    /// At most `bytes` at a time, and the next ones only after `seconds`.
    struct Pace: Sendable, Equatable {
        var bytes: Int
        var seconds: Double
    }

    var framing = Framing.length
    /// Seconds before the first byte of the answer.
    var delay = 0.0
    /// Holds the answer back until the gate opens.
    var hold: FaultGate?
    var pace: Pace?
    var cut: (at: Point, ending: Ending)?
    var stall: (at: Point, gate: FaultGate)?
    /// No answer at all: the connection just ends.
    var drop: Ending?

    /// Whether the body goes out as it is, without looking at every piece.
    var isPlain: Bool { framing == .length && pace == nil && cut == nil && stall == nil }
}
