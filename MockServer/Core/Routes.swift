import Foundation

/// One call of the interface: adding one is a row here and a file in `Calls`.
struct Route: Sendable {
    let method: String
    /// The path's parts; a star stands for any one.
    let pattern: [Substring]
    /// Whether the call needs no token.
    let isOpen: Bool
    /// How many bytes of body are taken.
    let bodyLimit: Int
    let handle: @Sendable (Call) throws(Refusal) -> Outcome

    private init(
        _ method: String, _ path: String, isOpen: Bool = false, bodyLimit: Int = 1 << 20,
        _ handle: @escaping @Sendable (Call) throws(Refusal) -> Outcome
    ) {
        self.method = method
        pattern = path.split(separator: "/")
        self.isOpen = isOpen
        self.bodyLimit = bodyLimit
        self.handle = handle
    }

    static let all: [Route] = [
        Route("GET", "/v1/accounts/*/kdf", isOpen: true) { call in .answer(call.kdf()) },
        Route("POST", "/v1/sessions", isOpen: true) { call throws(Refusal) in
            .answer(try call.openSession())
        },
        Route("POST", "/v1/sessions/refresh", isOpen: true) { call throws(Refusal) in
            .answer(try call.refreshSession())
        },
        Route("DELETE", "/v1/sessions/current") { call in .answer(call.endSession()) },
        Route("GET", "/v1/keys") { call throws(Refusal) in .answer(try call.keys()) },
        Route("GET", "/v1/manifest") { call throws(Refusal) in .answer(try call.manifest()) },
        Route("GET", "/v1/manifest/entries") { call throws(Refusal) in .answer(try call.entries())
        },
        Route("GET", "/v1/manifest/head") { call throws(Refusal) in try call.head() },
        Route("GET", "/v1/blobs") { call throws(Refusal) in .answer(try call.blobList()) },
        Route("GET", "/v1/blobs/*") { call throws(Refusal) in .answer(try call.blob()) },
        // Where blobs are without a token: the session's `blobs`, and presigned addresses.
        Route("GET", "/open/*/*", isOpen: true) { call throws(Refusal) in
            .answer(try call.openBlob())
        },
        Route("GET", "/signed/*/*", isOpen: true) { call throws(Refusal) in
            .answer(try call.signedBlob())
        },
        // Calls that change an account are not here yet: 405.
        Route("POST", "/v1/accounts", isOpen: true, notYet),
        Route("PUT", "/v1/keys", notYet),
        Route("POST", "/v1/manifest", bodyLimit: 96 << 20, notYet),
        Route("PUT", "/v1/blobs/*", notYet),
        Route("DELETE", "/v1/blobs/*", notYet),
        Route("HEAD", "/v1/uploads/*", notYet),
        Route("PATCH", "/v1/uploads/*", notYet),
    ]

    private static let notYet: @Sendable (Call) throws(Refusal) -> Outcome = {
        call throws(Refusal) in
        throw Refusal(405, "method-not-allowed", "This server does not take pushes")
    }

    /// The route of a request, and what stands in the path for its stars.
    ///
    /// - Throws: 404 for an unknown path, 405 for a method that the path does not have.
    static func find(_ incoming: Incoming) throws(Refusal) -> (route: Route, parameters: [String]) {
        let parts = incoming.path.split(separator: "/", omittingEmptySubsequences: false)
            .dropFirst()
        let candidates = all.filter { $0.fits(parts) }
        // HEAD is GET without the body, unless the path has a HEAD of its own.
        let route =
            candidates.first { $0.method == incoming.method }
            ?? (incoming.isHead ? candidates.first { $0.method == "GET" } : nil)
        guard let route else {
            if candidates.isEmpty {
                throw Refusal(404, "not-found", "There is nothing at this path")
            }
            var refusal = Refusal(405, "method-not-allowed", "The path does not have this method")
            let methods = Set(candidates.map(\.method)).sorted().joined(separator: ", ")
            refusal.headers = [Header("Allow", methods)]
            throw refusal
        }
        var parameters: [String] = []
        for (part, pattern) in zip(parts, route.pattern) where pattern == "*" {
            guard let text = part.removingPercentEncoding else {
                throw .badRequest("The path is broken")
            }
            parameters.append(text)
        }
        return (route, parameters)
    }

    private func fits(_ parts: ArraySlice<Substring>) -> Bool {
        parts.count == pattern.count && zip(parts, pattern).allSatisfy { $1 == "*" || $0 == $1 }
    }
}
