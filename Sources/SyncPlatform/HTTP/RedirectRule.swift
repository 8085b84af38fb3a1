/// Decides where a request goes after an answer.
enum RedirectRule {
    static let limit = 5

    struct Refusal: Error {
        let detail: String
    }

    /// The next address, or nil if this answer is the one to hand on.
    static func next(
        after status: Int, locations: [String], to request: HTTPRequest, at url: HTTPURL, count: Int
    ) throws(Refusal) -> HTTPURL? {
        guard request.redirects == .follow, [301, 302, 303, 307, 308].contains(status) else {
            return nil
        }
        guard request.method == .get || request.method == .head else {
            throw Refusal(detail: "\(status) to a \(request.method.rawValue)")
        }
        guard count < limit else { throw Refusal(detail: "more than \(limit) in a row") }
        guard let location = locations.first, locations.allSatisfy({ $0 == location }) else {
            throw Refusal(detail: "\(status) without one clear Location")
        }
        let next: HTTPURL
        do {
            next = try url.resolving(location)
        } catch {
            throw Refusal(detail: "\(status) to \(error.detail)")
        }
        guard next.isSecure || url.isLoopback else {
            throw Refusal(detail: "\(status) to http on this machine")
        }
        return next
    }
}
