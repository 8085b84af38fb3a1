import CSodium
import Foundation

/// The server without its sockets: a request goes in, an answer comes out.
final class Service: Sendable {
    let options: ServerOptions
    let accounts: [ServedAccount]
    let sessions: Guarded<SessionBook>
    let signed = Guarded<[String: Bool]>([:])
    let faults = FaultScript()
    let log: RequestLog
    /// When this was made, on the clock that measures requests.
    let started = Parking.now

    init(_ accounts: [ServedAccount], options: ServerOptions) throws(SetupError) {
        self.accounts = accounts
        self.options = options
        var book = SessionBook()
        book.lifetime = options.tokenLifetime
        sessions = Guarded(book)
        log = try RequestLog(file: options.logFile)
        for account in accounts {
            let twins = accounts.filter {
                $0.name == account.name || $0.accountId == account.accountId
            }
            guard twins.count == 1 else {
                throw SetupError("two accounts with the name or id of \(account.name)")
            }
        }
    }

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
            let outcome = try found.route.handle(call)
            guard case .answer(let answer) = outcome else { return outcome }
            return .answer(finish(answer, actions))
        } catch {
            return .answer(finish(error.answer, actions))
        }
    }

    private func finish(_ answer: Answer, _ actions: FaultActions) -> Answer {
        for effect in actions.effects { perform(effect) }
        return actions.finish(answer)
    }

    /// Changes something for all who are logged in.
    func perform(_ effect: FaultAction.Effect) {
        switch effect {
        case .expireTokens: sessions.with { $0.expireTokens() }
        case .endSessions: sessions.with { $0.endAll() }
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
