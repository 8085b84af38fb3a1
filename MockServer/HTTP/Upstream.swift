import CMicroHTTPD
import Glibc

/// A request's body on its way to whoever takes it, as slowly and as badly as its faults say.
///
/// Called by the one thread that serves its connection.
final class Upstream {
    /// What became of a piece.
    enum Step {
        /// So many of its bytes were taken; fewer than there were when the connection is parked.
        case took(Int)
        /// End the connection without an answer.
        case close
    }

    private let connection: OpaquePointer
    private let parking: Parking
    private let cut: (at: UInt64, ending: Delivery.Ending)?
    private let stall: (at: UInt64, gate: FaultGate)?
    private var sink: (any BodySink)?
    /// Bytes that have come.
    private(set) var count: UInt64 = 0
    private var swallowed = 0

    init(
        _ sink: (any BodySink)?, _ actions: FaultActions, length: UInt64?,
        _ connection: OpaquePointer, _ parking: Parking
    ) {
        self.sink = sink
        self.connection = connection
        self.parking = parking
        let offset = { (point: Delivery.Point) in
            length.map { point.offset(in: $0) } ?? point.offset(in: .max)
        }
        cut = actions.bodyCut.map { (offset($0.at), $0.ending) }
        stall = actions.bodyStall.map { (offset($0.at), $0.gate) }
    }

    /// Takes a piece; a refusal comes back beside, and what follows it is thrown away.
    func take(_ piece: UnsafeRawBufferPointer, _ exchange: Exchange) -> (Step, Refusal?) {
        guard let sink else {
            // So that a client that does not listen before it has sent all hears the answer.
            swallowed += piece.count
            return (swallowed <= 1 << 20 ? .took(piece.count) : .close, nil)
        }
        if let stall, stall.at == count, waits(at: stall.gate, exchange) { return (.took(0), nil) }
        var piece = piece
        // A stall that is passed does not count again; a cut does.
        let places = [stall?.at, cut?.at].compactMap { $0 }.filter { $0 > count || $0 == cut?.at }
        for place in places where place >= count && place - count < piece.count {
            piece = UnsafeRawBufferPointer(rebasing: piece.prefix(Int(place - count)))
        }
        var refusal: Refusal?
        if !piece.isEmpty {
            do { try sink.take(piece) } catch {
                self.sink = nil
                guard case .refused(let reason) = error else { return (.close, nil) }
                refusal = reason
            }
        }
        count += UInt64(piece.count)
        if isCut { return (.close, nil) }
        // All that is left of the piece waits with the connection.
        if let stall, stall.at == count { _ = waits(at: stall.gate, exchange) }
        return (.took(piece.count), refusal)
    }

    /// Whoever is to answer now that all has come; nil when the connection ends instead.
    func finish() -> (any BodySink)? {
        if isCut { return nil }
        defer { sink = nil }
        return sink
    }

    /// Tells whoever takes the body that the rest will not come.
    func abandon() {
        sink?.abandon()
        sink = nil
    }

    /// Whether the fault that cuts is due; a reset goes out at once.
    private var isCut: Bool {
        guard let cut, count >= cut.at else { return false }
        if cut.ending == .reset { Connection.reset(connection) }
        return true
    }

    private func waits(at gate: FaultGate, _ exchange: Exchange) -> Bool {
        let moment = parking.moment
        if gate.lets(exchange, through: parking) { return false }
        return parking.park(connection, until: nil, since: moment)
    }
}
