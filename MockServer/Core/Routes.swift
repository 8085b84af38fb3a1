import Foundation

/// One call of the interface: adding one is a row here and a file in `Calls`.
struct Route: Sendable {
    let method: String
    /// The path's parts; a star stands for any one.
    let pattern: [Substring]
    /// Whether the call needs no token.
    let isOpen: Bool
    let work: Work

    /// How a call takes its body.
    enum Work: Sendable {
        /// As a whole, up to a limit.
        case whole(limit: Int, @Sendable (Call) throws(Refusal) -> Outcome)
        /// As it comes.
        case stream(@Sendable (Call) throws(Refusal) -> any BodySink)
    }

    private init(
        _ method: String, _ path: String, isOpen: Bool = false, bodyLimit: Int = 1 << 20,
        _ handle: @escaping @Sendable (Call) throws(Refusal) -> Outcome
    ) {
        self.init(method, path, isOpen, .whole(limit: bodyLimit, handle))
    }

    /// A call whose body is taken as it comes.
    private init(
        _ method: String, _ path: String,
        streaming receive: @escaping @Sendable (Call) throws(Refusal) -> any BodySink
    ) {
        self.init(method, path, false, .stream(receive))
    }

    private init(_ method: String, _ path: String, _ isOpen: Bool, _ work: Work) {
        self.method = method
        pattern = path.split(separator: "/")
        self.isOpen = isOpen
        self.work = work
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
        Route("POST", "/v1/accounts", isOpen: true) { call throws(Refusal) in
            .answer(try call.createAccount())
        },
        Route("PUT", "/v1/keys") { call throws(Refusal) in .answer(try call.replaceKeys()) },
        Route("POST", "/v1/manifest", bodyLimit: 64 << 20) { call throws(Refusal) in
            .answer(try call.push())
        },
        Route("PUT", "/v1/blobs/*", streaming: { call throws(Refusal) in try call.putBlob() }),
        Route("DELETE", "/v1/blobs/*") { call throws(Refusal) in .answer(try call.deleteBlob()) },
        Route("HEAD", "/v1/uploads/*") { call throws(Refusal) in .answer(try call.upload()) },
        Route(
            "PATCH", "/v1/uploads/*",
            streaming: { call throws(Refusal) in
                try call.addToUpload()
            }),
    ]

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
