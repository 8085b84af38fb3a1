import CMicroHTTPD
import Glibc

/// The one who talks to libmicrohttpd: threads, connections and callbacks.
// `daemon` is written once, before anybody else sees this object; the rest is Sendable.
final class Daemon: @unchecked Sendable {
    private let service: Service
    private let parking = Parking()
    private let connections = Guarded(0)
    private var daemon: OpaquePointer?

    /// Starts serving on a socket that is bound.
    init(_ service: Service, socket: Int32) throws(SetupError) {
        self.service = service
        // Without MHD_USE_TURBO: with it, a connection that a fault cut is not shut down at once,
        // and its client waits for ever.
        let flags = MHD_USE_EPOLL_INTERNAL_THREAD.rawValue | MHD_ALLOW_SUSPEND_RESUME.rawValue
        let context = Unmanaged.passUnretained(self).toOpaque()
        var options = [
            option(.LISTEN_SOCKET, Int(socket)),
            option(.THREAD_POOL_SIZE, 2),
            option(.CONNECTION_LIMIT, 8192),
            option(.CONNECTION_MEMORY_LIMIT, 32 << 10),
            option(.URI_LOG_CALLBACK, address(Daemon.uriLog), context),
            option(.NOTIFY_COMPLETED, address(Daemon.completed), context),
            option(.NOTIFY_CONNECTION, address(Daemon.connectionChanged), context),
            option(.END, 0),
        ]
        daemon = MHD_start_daemon_options(flags, 0, Daemon.handler, context, &options)
        guard daemon != nil else {
            parking.close()
            throw SetupError("the server does not start")
        }
    }

    /// Ends all connections and threads.
    func stop() {
        parking.close()
        if let daemon { MHD_stop_daemon(daemon) }
        daemon = nil
    }

    /// Lets all who wait look again.
    func wakeAll() { parking.wakeAll() }

    // MARK: Callbacks

    private static let uriLog:
        @convention(c) (UnsafeMutableRawPointer?, UnsafePointer<CChar>?, OpaquePointer?)
            -> UnsafeMutableRawPointer? = { context, uri, connection in
                guard let context, let uri, let connection else { return nil }
                let daemon = Unmanaged<Daemon>.fromOpaque(context).takeUnretainedValue()
                let number = Int(bitPattern: MHD_connection_context(connection)?.pointee)
                let exchange = Exchange(
                    daemon.service, daemon.parking, connection, number: number,
                    address: String(cString: uri))
                // Released in `completed`, which comes for every request that got this far.
                return Unmanaged.passRetained(exchange).toOpaque()
            }

    private static let completed: MHD_RequestCompletedCallback = { _, _, exchange, ending in
        guard let opaque = exchange?.pointee else { return }
        exchange?.pointee = nil
        let exchange = Unmanaged<Exchange>.fromOpaque(opaque).takeRetainedValue()
        exchange.end(isWhole: ending == .REQUEST_TERMINATED_COMPLETED_OK)
    }

    private static let connectionChanged: MHD_NotifyConnectionCallback = {
        context, _, slot, change in
        guard let context, let slot, change == .CONNECTION_NOTIFY_STARTED else { return }
        let daemon = Unmanaged<Daemon>.fromOpaque(context).takeUnretainedValue()
        let number = daemon.connections.with { count in
            count += 1
            return count
        }
        slot.pointee = UnsafeMutableRawPointer(bitPattern: number)
    }

    private static let handler: MHD_AccessHandlerCallback = {
        context, connection, _, method, _, upload, uploadSize, exchange in
        guard let context, let connection, let method, let uploadSize,
            let opaque = exchange?.pointee
        else { return .NO }
        let daemon = Unmanaged<Daemon>.fromOpaque(context).takeUnretainedValue()
        let exchange = Unmanaged<Exchange>.fromOpaque(opaque).takeUnretainedValue()
        let step: Exchange.Step
        if !exchange.hasBegun {
            step = exchange.begin(
                method: String(cString: method),
                headers: values(connection, MHD_ValueKind.HEADER_KIND).map {
                    Header($0.name, $0.value)
                },
                query: values(connection, MHD_ValueKind.GET_ARGUMENT_KIND))
        } else if uploadSize.pointee > 0 {
            let piece = UnsafeRawBufferPointer(start: upload, count: uploadSize.pointee)
            guard let taken = exchange.take(piece) else { return .NO }
            uploadSize.pointee -= taken
            return .YES
        } else {
            step = exchange.advance()
        }
        switch step {
        case .wait: return .YES
        case .close: return .NO
        case .send(let answer): return Reply.queue(answer, on: connection, daemon.parking, exchange)
        }
    }

    private static func values(
        _ connection: OpaquePointer, _ kind: MHD_ValueKind
    ) -> [(name: String, value: String)] {
        var values: [(name: String, value: String)] = []
        withUnsafeMutablePointer(to: &values) { list in
            _ = MHD_get_connection_values(
                connection, kind,
                { list, _, name, value in
                    guard let name else { return .YES }
                    let text = value.map { String(cString: $0) } ?? ""
                    list?.assumingMemoryBound(to: [(name: String, value: String)].self).pointee
                        .append((String(cString: name), text))
                    return .YES
                }, list)
        }
        return values
    }
}

private func option(
    _ option: MHD_OPTION, _ value: Int, _ pointer: UnsafeMutableRawPointer? = nil
) -> MHD_OptionItem {
    MHD_OptionItem(option: option, value: value, ptr_value: pointer)
}

/// A C function as the integer that MHD's option array wants.
private func address<Function>(_ function: Function) -> Int {
    unsafeBitCast(function, to: Int.self)
}
