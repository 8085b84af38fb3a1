import CMicroHTTPD
import Glibc

/// One request and its answer, from the first header to the last byte.
///
/// Belongs to one connection, whose callbacks come one after the other.
final class Exchange {
    /// What the daemon has to do next.
    enum Step {
        /// Nothing: more of the request is to come, or the connection is parked.
        case wait
        case send(Answer)
        /// End the connection without an answer.
        case close
    }

    private let service: Service
    private let parking: Parking
    private let connection: OpaquePointer
    private let connectionNumber: Int
    private let arrived = Parking.now
    private var incoming: Incoming
    private var actions: [FaultAction] = []
    private var number: Int?
    private var answer: Answer?
    private var answered = 0.0
    private var bodyLimit = 1 << 20
    /// Where the body goes, when it is taken as it comes.
    private var upstream: Upstream?
    private(set) var hasBegun = false
    /// The gate that the request came to last.
    var gate: FaultGate?
    /// What the socket had got through before this answer.
    private var acknowledged: UInt64 = 0
    /// The bytes of body that were handed to the socket, when they went through our hands.
    var handedOver: UInt64?

    init(
        _ service: Service, _ parking: Parking, _ connection: OpaquePointer, number: Int,
        address: String
    ) {
        connectionNumber = number
        self.service = service
        self.parking = parking
        self.connection = connection
        let parts = address.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        incoming = Incoming(
            method: "", path: String(parts[0]), rawQuery: parts.count > 1 ? String(parts[1]) : "")
    }

    /// Takes the request's head; an answer that is due before the body comes at once.
    func begin(method: String, headers: [Header], query: [(name: String, value: String)]) -> Step {
        hasBegun = true
        incoming.method = method
        incoming.headers = headers
        incoming.query = query
        let length = incoming.header("Content-Length")
        if length == nil, incoming.header("Transfer-Encoding") == nil {
            let needsBody = ["POST", "PUT", "PATCH"].contains(method)
            return needsBody
                ? refuse(Refusal(411, "length-required", "The length is missing")) : .wait
        }
        switch (try? Route.find(incoming))?.route.work {
        case .whole(let limit, _)?: bodyLimit = limit
        case .stream?: return beginStream()
        case nil: break
        }
        if let length, let bytes = UInt64(length), bytes > UInt64(bodyLimit) {
            return refuse(Refusal(413, "too-large", "The body is too large"))
        }
        return .wait
    }

    /// Asks who takes the body, or answers before it.
    private func beginStream() -> Step {
        let hit = service.faults.match(incoming)
        actions = hit?.actions ?? []
        log(fault: hit?.id)
        var sink: (any BodySink)?
        switch service.receive(incoming, actions) {
        case .sink(let taker): sink = taker
        case .answer(let early):
            answer = early
            answered = Parking.now
            let length = incoming.bodyLength ?? 0
            if incoming.expectsContinue || length > 1 << 20 || early.delivery.drop != nil {
                return deliver(early)
            }
        }
        upstream = Upstream(
            sink, FaultActions(actions), length: incoming.bodyLength, connection, parking)
        return .wait
    }

    /// Takes a piece of the body: how much of it, or nil to end the connection.
    func take(_ piece: UnsafeRawBufferPointer) -> Int? {
        guard let upstream else {
            guard incoming.body.count + piece.count <= bodyLimit else { return nil }
            incoming.body.append(contentsOf: piece)
            return piece.count
        }
        if parking.takeAbandoned(connection) { return nil }
        let (step, refusal) = upstream.take(piece, self)
        if let refusal {
            answer = service.refuse(refusal, actions)
            answered = Parking.now
        }
        guard case .took(let count) = step else { return nil }
        return count
    }

    /// Goes as far as it can: to an answer, or to the next wait.
    func advance() -> Step {
        if parking.takeAbandoned(connection) { return .close }
        if service.options.hasControl, incoming.path.hasPrefix("/_mock/") {
            return .send(Control.answer(incoming, service))
        }
        if number == nil {
            let hit = service.faults.match(incoming)
            actions = hit?.actions ?? []
            log(fault: hit?.id)
        }
        if let upstream, answer == nil {
            guard let sink = upstream.finish() else { return .close }
            answer = service.finish(sink, actions)
            answered = Parking.now
        }
        guard let answer else {
            let moment = parking.moment
            switch service.answer(incoming, actions, waited: Parking.now - arrived) {
            case .wait(let seconds): return park(until: arrived + seconds, since: moment)
            case .answer(let answer):
                self.answer = answer
                answered = Parking.now
                return deliver(answer)
            }
        }
        return deliver(answer)
    }

    /// Logs how it ended.
    func end(isWhole: Bool) {
        upstream?.abandon()
        // A connection that was woken for its end may not have been asked.
        _ = parking.takeAbandoned(connection)
        guard let number, number > 0 else { return }
        let bodyCount = answer.map { incoming.isHead || $0.status == 204 ? 0 : $0.body.count } ?? 0
        let now = Parking.now
        let sent = handedOver ?? (isWhole ? bodyCount : min(bodyCount, newlyAcknowledged()))
        let isCut = !isWhole || answer?.delivery.drop != nil || sent < bodyCount
        service.log.update(number) { entry in
            entry.took = now - arrived
            if let upstream { entry.bodyCount = Int(upstream.count) }
            entry.bytesSent = sent
            entry.ending = isCut ? .cut : .whole
        }
    }

    private func log(fault: FaultScript.ID? = nil) {
        number = 0
        guard service.options.keepsLog else { return }
        number = service.log.begin(
            LogEntry(
                number: 0, connection: connectionNumber, method: incoming.method,
                path: incoming.path, query: incoming.rawQuery, headers: incoming.headers,
                body: Array(incoming.body.prefix(1 << 20)), bodyCount: incoming.body.count,
                began: arrived - service.started, fault: fault))
    }

    /// Refuses before the body, without asking the faults.
    private func refuse(_ refusal: Refusal) -> Step {
        log()
        answer = refusal.answer
        return deliver(refusal.answer)
    }

    private func deliver(_ answer: Answer) -> Step {
        let moment = parking.moment
        if let gate = answer.delivery.hold, !gate.lets(self, through: parking) {
            return park(until: nil, since: moment)
        }
        let due = answered + answer.delivery.delay
        if Parking.now < due { return park(until: due, since: moment) }
        if let ending = answer.delivery.drop {
            if ending == .reset { Connection.reset(connection) }
            return .close
        }
        if let number, number > 0 { service.log.update(number) { $0.status = answer.status } }
        acknowledged = Connection.acknowledged(connection)
        return .send(answer)
    }

    private func park(until: Double?, since moment: Int) -> Step {
        parking.park(connection, until: until, since: moment) ? .wait : .close
    }

    private func newlyAcknowledged() -> UInt64 {
        // The head of an answer is some 300 bytes; a body that was cut is known no better.
        let total = Connection.acknowledged(connection)
        return total > acknowledged + 300 ? total - acknowledged - 300 : 0
    }
}

/// What MHD does not say or do about a connection, asked of its socket.
enum Connection {
    /// Ends a connection with a reset, at once.
    static func reset(_ connection: OpaquePointer) {
        // Connecting to no address makes Linux send the reset; closing would send what is queued.
        var nowhere = sockaddr()
        nowhere.sa_family = sa_family_t(AF_UNSPEC)
        connect(MHD_connection_socket(connection), &nowhere, socklen_t(MemoryLayout<sockaddr>.size))
    }

    /// Whether everything that was sent has arrived at the other side.
    static func isDrained(_ connection: OpaquePointer) -> Bool {
        var waiting: Int32 = 0
        return ioctl(MHD_connection_socket(connection), UInt(TIOCOUTQ), &waiting) != 0
            || waiting == 0
    }

    /// The bytes that the other side has got, since the connection began.
    static func acknowledged(_ connection: OpaquePointer) -> UInt64 {
        var info = [UInt8](repeating: 0, count: 256)
        var length = socklen_t(info.count)
        let code = getsockopt(
            MHD_connection_socket(connection), Int32(IPPROTO_TCP), TCP_INFO, &info, &length)
        // tcpi_bytes_acked stands at offset 120; glibc's struct tcp_info ends before it.
        guard code == 0, length >= 128 else { return 0 }
        return info.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 120, as: UInt64.self) }
    }
}
