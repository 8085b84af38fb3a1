import CMicroHTTPD
import Glibc

/// Hands out a body piece by piece, as slowly and as badly as its delivery says.
///
/// Called by the one thread that serves its connection.
final class BodyStream {
    private let body: any ByteSource
    private let delivery: Delivery
    private let connection: OpaquePointer
    private let parking: Parking
    private let exchange: Exchange
    /// Where the connection ends before its time.
    private let cutOffset: UInt64?
    private let stallOffset: UInt64?
    private var mayGoOn = 0.0

    init(
        _ answer: Answer, _ connection: OpaquePointer, _ parking: Parking, _ exchange: Exchange
    ) {
        body = answer.body
        delivery = answer.delivery
        self.connection = connection
        self.parking = parking
        self.exchange = exchange
        let count = answer.body.count
        cutOffset = answer.delivery.cut.map { $0.at.offset(in: count) }
        stallOffset = answer.delivery.stall.map { $0.at.offset(in: count) }
        exchange.handedOver = 0
    }

    /// The next bytes, 0 while parked, or one of MHD's two ends.
    func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        if parking.takeAbandoned(connection) { return MHD_reader_error }
        let moment = parking.moment
        if let stall = delivery.stall, offset == stallOffset,
            !stall.gate.lets(exchange, through: parking)
        {
            return wait(until: nil, since: moment)
        }
        if let cutOffset, offset >= cutOffset { return cut() }
        if offset >= body.count {
            // A claimed length that is longer than the body ends in a cut.
            if case .claimed = delivery.framing { return MHD_reader_error }
            return MHD_reader_end
        }
        return piece(at: offset, into: buffer)
    }

    private func piece(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let end = [cutOffset, stallOffset].compactMap { $0 }.filter { $0 > offset }.min()
        var room = min(UInt64(buffer.count), (end ?? .max) - offset)
        if let pace = delivery.pace {
            let now = Parking.now
            if now < mayGoOn { return wait(until: mayGoOn, since: parking.moment) }
            room = min(room, UInt64(pace.bytes))
            // Late wake-ups are made up for, long stalls are not.
            mayGoOn = max(mayGoOn, now - pace.seconds) + pace.seconds
        }
        let got = body.read(at: offset, into: .init(rebasing: buffer.prefix(Int(room))))
        if got == 0 { return MHD_reader_error }
        exchange.handedOver = offset + UInt64(got)
        return got
    }

    private func cut() -> Int {
        // What went before the cut arrives; a reset would throw away what is still queued.
        guard Connection.isDrained(connection) else {
            return wait(until: Parking.now + 0.001, since: parking.moment)
        }
        if delivery.cut?.ending == .reset {
            Connection.reset(connection)
            return MHD_reader_error
        }
        return delivery.framing == .untilClose ? MHD_reader_end : MHD_reader_error
    }

    private func wait(until: Double?, since moment: Int) -> Int {
        parking.park(connection, until: until, since: moment) ? 0 : MHD_reader_error
    }
}
