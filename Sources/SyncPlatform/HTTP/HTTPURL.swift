import Glibc

/// Is an address this client may talk to: https, or http to this machine itself.
///
/// Parsing is strict, so that libcurl cannot read another host out of the same text: no user info,
/// no spaces or controls, ASCII hosts, and IPv4 addresses only as four plain decimal numbers.
package struct HTTPURL: Sendable, Hashable {
    /// The whole address, with scheme and host in lower case and without fragment.
    package let string: String
    /// Scheme, host and port: "https://host" or, unless it is the scheme's own,
    /// "https://host:8443".
    package let origin: String
    /// Begins with a slash; without dot segments.
    package let path: String
    /// What follows the question mark.
    package let query: String?
    /// Whether it is https.
    package let isSecure: Bool
    /// Whether the host is this machine: 127.0.0.0/8, ::1 or localhost.
    package let isLoopback: Bool

    /// Reads an absolute address.
    ///
    /// - Throws: `HTTPError.badURL`, which shows nothing of the text.
    package init(_ text: String) throws(HTTPError) {
        var rest = Array(text.utf8)[...]
        if Self.drop("https://", from: &rest) {
            isSecure = true
        } else if Self.drop("http://", from: &rest) {
            isSecure = false
        } else {
            throw Self.bad("neither https nor http")
        }
        let authority = rest.prefix { $0 != 0x2f && $0 != 0x3f && $0 != 0x23 }
        rest = rest.dropFirst(authority.count).prefix { $0 != 0x23 }
        guard rest.allSatisfy(Self.isAllowed), Self.hasWholeEscapes(rest) else {
            throw Self.bad("a character that must be escaped")
        }
        let (host, port) = try Self.hostAndPort(authority)
        isLoopback = host.isLoopback
        guard isSecure || isLoopback else { throw Self.bad("http to another machine") }

        let isOwnPort = port == nil || port == (isSecure ? 443 : 80)
        origin =
            (isSecure ? "https://" : "http://") + host.text + (isOwnPort ? "" : ":\(port ?? 0)")
        let pathBytes = rest.prefix { $0 != 0x3f }
        path = Self.withoutDots(String(decoding: pathBytes, as: UTF8.self))
        let queryBytes = rest.dropFirst(pathBytes.count)
        query =
            queryBytes.isEmpty ? nil : String(decoding: queryBytes.dropFirst(), as: UTF8.self)
        string = origin + path + (query.map { "?" + $0 } ?? "")
    }

    /// Resolves what a Location or a Link header says against this address.
    ///
    /// - Throws: `HTTPError.badURL` if the outcome is not an address this client talks to.
    package func resolving(_ reference: String) throws(HTTPError) -> HTTPURL {
        let scheme = reference.utf8.prefix { $0 != 0x3a && $0 != 0x2f && $0 != 0x3f && $0 != 0x23 }
        if reference.utf8.dropFirst(scheme.count).first == 0x3a {
            return try HTTPURL(reference)
        }
        if reference.hasPrefix("//") {
            return try HTTPURL((isSecure ? "https:" : "http:") + reference)
        }
        switch reference.utf8.first {
        case 0x2f: return try HTTPURL(origin + reference)
        case 0x3f: return try HTTPURL(origin + path + reference)
        case nil, 0x23: return self
        default:
            let folder = path.utf8.lastIndex(of: 0x2f).map { path[...$0] } ?? "/"
            return try HTTPURL(origin + folder + reference)
        }
    }
}

extension HTTPURL: CustomStringConvertible {
    /// The address without its query, which may be a secret.
    package var description: String { origin + path }
}

extension HTTPURL {
    private typealias Host = (text: String, isLoopback: Bool)

    private static func bad(_ detail: String) -> HTTPError {
        HTTPError(.badURL, operation: "address", detail: detail)
    }

    private static func drop(_ prefix: String, from bytes: inout ArraySlice<UInt8>) -> Bool {
        guard bytes.prefix(prefix.utf8.count).map(HTTPHeaders.lower).elementsEqual(prefix.utf8)
        else { return false }
        bytes = bytes.dropFirst(prefix.utf8.count)
        return true
    }

    private static func hostAndPort(
        _ authority: ArraySlice<UInt8>
    ) throws(HTTPError) -> (Host, UInt16?) {
        var end = authority.endIndex
        if authority.first == 0x5b {
            end = (authority.firstIndex(of: 0x5d) ?? authority.startIndex) + 1
        } else {
            end = authority.firstIndex(of: 0x3a) ?? end
        }
        let host = try host(authority[..<end])
        let tail = authority[end...]
        if tail.isEmpty { return (host, nil) }
        let digits = tail.dropFirst()
        guard tail.first == 0x3a, (1...5).contains(digits.count), digits.allSatisfy(isDigit),
            let port = UInt16(String(decoding: digits, as: UTF8.self)), port > 0
        else { throw bad("not a port") }
        return (host, port)
    }

    private static func host(_ bytes: ArraySlice<UInt8>) throws(HTTPError) -> Host {
        if bytes.first == 0x5b { return try ipv6(bytes.dropFirst().dropLast()) }
        let text = String(decoding: bytes.map(HTTPHeaders.lower), as: UTF8.self)
        let labels = bytes.split(separator: 0x2e, omittingEmptySubsequences: false)
        let isName = labels.allSatisfy {
            (1...63).contains($0.count) && $0.allSatisfy(isNameByte)
        }
        guard isName, bytes.count <= 253, let last = labels.last else { throw bad("not a host") }
        // A last label that is a number makes libcurl and resolvers read the whole as an address,
        // in forms such as 0x7f.1 or 0177.0.0.1; only the plain form is let through.
        let isNumeric =
            last.allSatisfy(isDigit)
            || (last.first == 0x30 && last.dropFirst().first.map(HTTPHeaders.lower) == 0x78)
        guard isNumeric else { return (text, text == "localhost") }
        let isPlain =
            labels.count == 4
            && labels.allSatisfy {
                $0.count <= 3 && $0.allSatisfy(isDigit) && ($0.count == 1 || $0.first != 0x30)
                    && UInt8(String(decoding: $0, as: UTF8.self)) != nil
            }
        guard isPlain else { throw bad("not an address") }
        return (text, labels.first.map { $0.elementsEqual("127".utf8) } ?? false)
    }

    private static func ipv6(_ bytes: ArraySlice<UInt8>) throws(HTTPError) -> Host {
        guard bytes.allSatisfy({ isHex($0) || $0 == 0x3a || $0 == 0x2e }) else {
            throw bad("not an IPv6 address")
        }
        var address = in6_addr()
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        guard inet_pton(AF_INET6, String(decoding: bytes, as: UTF8.self), &address) == 1,
            inet_ntop(AF_INET6, &address, &text, socklen_t(text.count)) != nil
        else { throw bad("not an IPv6 address") }
        let plain = String(
            decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        return ("[\(plain)]", plain == "::1")
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        isDigit(byte) || (0x61...0x7a).contains(byte | 0x20) || byte == 0x2d || byte == 0x5f
    }

    /// What may stand in a path or query: printable ASCII but for `"<>\^` and the like.
    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x22, 0x3c, 0x3e, 0x5c, 0x5e, 0x60, 0x7b...0x7d: false
        default: (0x21...0x7e).contains(byte)
        }
    }

    private static func hasWholeEscapes(_ bytes: ArraySlice<UInt8>) -> Bool {
        bytes.indices.allSatisfy { index in
            bytes[index] != 0x25
                || (index + 2 < bytes.endIndex && isHex(bytes[index + 1])
                    && isHex(bytes[index + 2]))
        }
    }

    private static func isHex(_ byte: UInt8) -> Bool {
        isDigit(byte) || (0x61...0x66).contains(byte | 0x20)
    }

    /// RFC 3986, 5.2.4, with the outcome always beginning with a slash.
    private static func withoutDots(_ path: String) -> String {
        guard path.utf8.contains(0x2e) else { return path.isEmpty ? "/" : path }
        var kept: [Substring] = []
        let segments = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        for segment in segments where segment != "." {
            if segment == ".." { _ = kept.popLast() } else { kept.append(segment) }
        }
        let endsInFolder = segments.last == "." || segments.last == ".."
        return "/" + kept.joined(separator: "/") + (endsInFolder && !kept.isEmpty ? "/" : "")
    }
}
