import Glibc

/// A socket on 127.0.0.1 that keeps its port, whether anybody listens or not.
enum ListeningSocket {
    /// Binds a port; 0 takes a free one.
    ///
    /// Not listening yet, so that a client is refused as by a server that is down.
    static func bind(port: UInt16) throws(SetupError) -> (socket: Int32, port: UInt16) {
        let socket = Glibc.socket(
            AF_INET,
            Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
                | Int32(SOCK_NONBLOCK.rawValue), 0)
        guard socket >= 0 else {
            throw SetupError("no socket: \(String(cString: strerror(errno)))")
        }
        if port != 0 { share(socket) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutableBytes(of: &address) { bytes -> Int32 in
            guard let pointer = bytes.assumingMemoryBound(to: sockaddr.self).baseAddress else {
                return -1
            }
            if Glibc.bind(socket, pointer, length) != 0 { return -1 }
            return getsockname(socket, pointer, &length)
        }
        guard code == 0 else {
            let reason = String(cString: strerror(errno))
            close(socket)
            throw SetupError("cannot listen on port \(port): \(reason)")
        }
        // Only now, or a free port could be one that another server has bound and not listened on.
        if port == 0 { share(socket) }
        return (socket, UInt16(bigEndian: address.sin_port))
    }

    /// Lets the port be bound again while connections of before linger on it.
    ///
    /// Both the old socket, from which its connections take it, and the new one must say so.
    private static func share(_ socket: Int32) {
        var yes: Int32 = 1
        setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
    }
}
