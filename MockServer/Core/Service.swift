import CSodium
import Foundation

/// The server without its sockets: a request goes in, an answer comes out.
final class Service: Sendable {
    let options: ServerOptions
    let registry: AccountRegistry
    private let data: DataFolder?
    let sessions: Guarded<SessionBook>
    let signed = Guarded<[String: Bool]>([:])
    let faults = FaultScript()
    let log: RequestLog
    /// When this was made, on the clock that measures requests.
    let started = Parking.now

    init(
        _ accounts: [ServedAccount], options: ServerOptions, data: DataFolder? = nil
    ) throws(SetupError) {
        registry = try AccountRegistry(accounts, data: data)
        self.data = data
        self.options = options
        var book = try data?.sessions() ?? SessionBook()
        book.lifetime = options.tokenLifetime
        sessions = Guarded(book)
        log = try RequestLog(file: options.logFile)
    }

    /// All accounts.
    var accounts: [ServedAccount] { registry.all }

    /// Seconds since 1970 by the server's clock.
    var now: Double { options.clock() }

    /// The account with that id.
    func account(id: String) -> ServedAccount? {
        accounts.first { $0.accountId == id }
    }

    /// Answers a request; `actions` are what a fault does to it.
    ///
    /// A call that waits is asked again, with the seconds that it has waited.
    func answer(_ incoming: Incoming, _ actions: [FaultAction], waited: Double = 0) -> Outcome {
        let actions = FaultActions(actions)
        if let answer = actions.replacement {
            return .answer(finish(answer, actions))
        }
        do throws(Refusal) {
            let found = try Route.find(incoming)
            var call = Call(
                service: self, incoming: incoming, parameters: found.parameters, actions: actions,
                waited: waited)
            if !found.route.isOpen { try call.authenticate() }
            switch found.route.work {
            case .whole(_, let handle):
                let outcome = try handle(call)
                guard case .answer(let answer) = outcome else { return outcome }
                return .answer(finish(answer, actions))
            case .stream(let receive):
                return .answer(finish(try Service.feed(incoming.body, try receive(call)), actions))
            }
        } catch {
            return .answer(finish(error.answer, actions))
        }
    }

    /// A body that is here as a whole, for a call that would take it as it comes.
    private static func feed(_ body: [UInt8], _ sink: any BodySink) throws(Refusal) -> Answer {
        let end = body.withUnsafeBytes { piece -> BodyEnd? in
            do throws(BodyEnd) { try sink.take(piece) } catch { return error }
            return nil
        }
        switch end {
        case nil: return try sink.finish()
        case .refused(let refusal)?: throw refusal
        case .closed?: throw Refusal(500, "no-answer", "The connection would have ended")
        }
    }

    /// Changes who is logged in, in a way that outlives the process where anything does.
    func changeSessions<Result, Failure: Error>(
        _ body: (inout SessionBook) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let now = now
        return try sessions.with { book throws(Failure) in
            let result = try body(&book)
            data?.keep(book, now: now)
            return result
        }
    }

    /// Looks at the head of a request whose body is taken as it comes.
    func receive(_ incoming: Incoming, _ actions: [FaultAction]) -> Reception {
        let actions = FaultActions(actions)
        if let answer = actions.replacement { return .answer(finish(answer, actions)) }
        do throws(Refusal) {
            let found = try Route.find(incoming)
            var call = Call(
                service: self, incoming: incoming, parameters: found.parameters, actions: actions,
                waited: 0)
            if !found.route.isOpen { try call.authenticate() }
            guard case .stream(let receive) = found.route.work else {
                throw Refusal(500, "no-stream", "This call takes its body as a whole")
            }
            return .sink(try receive(call))
        } catch {
            return .answer(finish(error.answer, actions))
        }
    }

    /// Answers when all of a body has come.
    func finish(_ sink: any BodySink, _ actions: [FaultAction]) -> Answer {
        let actions = FaultActions(actions)
        do throws(Refusal) { return finish(try sink.finish(), actions) } catch {
            return finish(error.answer, actions)
        }
    }

    /// The answer to a body that was refused on its way.
    func refuse(_ refusal: Refusal, _ actions: [FaultAction]) -> Answer {
        finish(refusal.answer, FaultActions(actions))
    }

    private func finish(_ answer: Answer, _ actions: FaultActions) -> Answer {
        for effect in actions.effects { perform(effect) }
        return actions.finish(answer)
    }

    /// Changes something for all who are logged in.
    func perform(_ effect: FaultAction.Effect) {
        switch effect {
        case .expireTokens: changeSessions { $0.expireTokens() }
        case .endSessions: changeSessions { $0.endAll() }
        case .expireCursors: sessions.with { $0.expireCursors() }
        case .expireSigned:
            signed.with { addresses in
                for signature in addresses.keys { addresses[signature] = false }
            }
        }
    }

    /// BLAKE2b-256.
    static func blake2b(_ bytes: [UInt8]) -> [UInt8] {
        var hash = [UInt8](repeating: 0, count: 32)
        crypto_generichash(&hash, hash.count, bytes, UInt64(bytes.count), nil, 0)
        return hash
    }
}
