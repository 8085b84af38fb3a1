import Foundation

/// A test server: accounts served over HTTP on a loopback port, with faults on demand.
///
/// `start` and `stop` can alternate; the port stays, so that a client sees one server go down and
/// come back.
final class Server: Sendable {
    private struct Running: Sendable {
        var socket: Int32?
        var daemon: Daemon?
    }

    /// `http://127.0.0.1:PORT`.
    let url: URL
    let port: UInt16
    /// What answers, without the sockets.
    let service: Service
    private let running: Guarded<Running>

    /// Serves accounts that are in memory or opened by ``AccountFolder``.
    init(
        serving accounts: [ServedAccount], port: UInt16 = 0, options: ServerOptions = .init(),
        data: DataFolder? = nil
    ) throws(SetupError) {
        service = try Service(accounts, options: options, data: data)
        let bound = try ListeningSocket.bind(port: port)
        guard let url = URL(string: "http://127.0.0.1:\(bound.port)") else {
            throw SetupError("no address for port \(bound.port)")
        }
        self.url = url
        self.port = bound.port
        running = Guarded(Running(socket: bound.socket))
        service.registry.observe { [weak self] in self?.wakeAll() }
    }

    /// Serves account folders, and what clients make of them and add to them in `data`.
    convenience init(
        accounts folders: [URL], port: UInt16 = 0, options: ServerOptions = .init(),
        data: DataFolder? = nil
    ) throws(SetupError) {
        var accounts = try data?.accounts() ?? []
        for folder in folders { accounts.append(try AccountFolder.open(folder, data: data)) }
        try self.init(serving: accounts, port: port, options: options, data: data)
    }

    /// Serves accounts in memory.
    convenience init(
        _ seeds: AccountSeed..., port: UInt16 = 0, options: ServerOptions = .init()
    ) throws(SetupError) {
        var accounts: [ServedAccount] = []
        for seed in seeds { accounts.append(try ServedAccount(seed)) }
        try self.init(serving: accounts, port: port, options: options)
    }

    deinit {
        stop()
        if let socket = running.with({ $0.socket }) { close(socket) }
    }

    /// The faults to come.
    var faults: FaultScript { service.faults }

    /// The requests so far.
    var log: RequestLog { service.log }

    /// The account of that name, to change it.
    func account(_ name: String) -> ServedAccount? {
        service.accounts.first { $0.name == name }
    }

    /// Begins to serve.
    func start() throws(SetupError) {
        try running.with { running throws(SetupError) in
            guard running.daemon == nil else { return }
            let socket: Int32
            if let bound = running.socket {
                socket = bound
            } else {
                socket = try ListeningSocket.bind(port: port).socket
            }
            guard listen(socket, 4096) == 0 else { throw SetupError("cannot listen on \(url)") }
            running.daemon = try Daemon(service, socket: socket)
            // The daemon closes it.
            running.socket = nil
        }
    }

    /// Ends all connections; whoever comes now is refused.
    func stop() {
        let daemon = running.with { running in
            defer { running.daemon = nil }
            return running.daemon
        }
        guard let daemon else { return }
        // Outside the lock: this waits for threads that may want to wake others.
        daemon.stop()
        running.with { $0.socket = try? ListeningSocket.bind(port: port).socket }
    }

    /// Seconds that tokens given out from now on are good for.
    func setTokenLifetime(_ seconds: Int) {
        service.sessions.with { $0.lifetime = seconds }
    }

    /// 401 `token-expired` for all tokens that are out.
    func expireTokens() { service.perform(.expireTokens) }

    /// 401 `session-ended` for all who are logged in.
    func endSessions() { service.perform(.endSessions) }

    /// 410 `cursor-expired` for all cursors and page tokens, until a session begins at 0 again.
    func expireCursors() { service.perform(.expireCursors) }

    /// 403 for all presigned addresses that were given out.
    func expireSignedAddresses() { service.perform(.expireSigned) }

    private func wakeAll() {
        running.with { $0.daemon }?.wakeAll()
    }
}
