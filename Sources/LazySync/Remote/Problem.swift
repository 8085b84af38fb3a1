internal import SyncPlatform

/// An answer that is not the one that was asked for, and what it means.
///
/// Only a problem document with a code that the protocol lists ends a session or says that a blob
/// is gone; the same status from a proxy, with HTML or nothing, is the server's trouble.
enum Problem {
    /// The `code` of a failure that a refresh of the session can mend.
    static let tokenExpired = "token-expired"
    static let sessionEnded = "session-ended"
    static let cursorExpired = "cursor-expired"
    static let badCredentials = "bad-credentials"
    static let nameTaken = "name-taken"
    static let registrationClosed = "registration-closed"
    static let keysChanged = "keys-changed"
    static let badPush = "bad-push"
    static let headMoved = "head-moved"
    static let exists = "exists"
    static let wrongOffset = "wrong-offset"
    /// Our own word for a refusal at the end of a redirect.
    static let expiredRedirect = "expired-redirect"

    /// Longest wait that a host may ask for.
    static let longestWait: Int64 = 3600

    /// What an answer with an unexpected status means.
    ///
    /// `hadToken`: a 401 to a request without one says nothing about the session. `isHead`: there
    /// is no body that could say more than the status.
    static func failure(
        _ head: HTTPHead, body: [UInt8], hadToken: Bool, isHead: Bool = false
    ) -> RemoteFailure {
        let code = isHead ? codes[head.status] : code(head, body)
        func failure(_ reason: UnavailableReason) -> RemoteFailure {
            RemoteFailure(
                reason, "the server answered \(head.status)" + (code.map { " (\($0))" } ?? ""),
                status: head.status, code: code)
        }
        if head.redirects > 0, head.status == 401 || head.status == 403 {
            return RemoteFailure(
                .serverError, "the server answered \(head.status) after a redirect",
                status: head.status, code: expiredRedirect)
        }
        switch (head.status, code) {
        case (401, tokenExpired?) where hadToken, (401, sessionEnded?) where hadToken:
            return failure(.signedOut).final()
        case (401, badCredentials?):
            return failure(.serverError).final()
        case (402, "not-entitled"?), (403, "not-entitled"?):
            return failure(.notEntitled).final()
        case (404, "no-such-blob"?), (410, "blob-gone"?):
            return failure(.notFound).final()
        case (429, _):
            var throttled = failure(.throttled)
            throttled.retryAfter = retryAfter(head)
            return throttled
        case (503, _) where head["retry-after"] != nil:
            var throttled = failure(.throttled)
            throttled.retryAfter = retryAfter(head)
            return throttled
        case (507, "store-full"?):
            return failure(.storeFull).final()
        case (400, _?), (405, _?), (411, _?), (413, _?), (422, _?):
            return failure(.serverError).final()
        default:
            return failure(.serverError)
        }
    }

    /// What the statuses of a HEAD stand for.
    private static let codes = [401: tokenExpired, 404: "no-such-blob", 410: "blob-gone"]

    /// The code of a problem document; nil for anything else, JSON of another type too.
    private static func code(_ head: HTTPHead, _ body: [UInt8]) -> String? {
        guard let type = head["content-type"]?.lowercased() else { return nil }
        let media = type.split(separator: ";").first.map { $0.filter { $0 != " " } }
        guard media == "application/problem+json" else { return nil }
        let code = try? JSONObject(body).optionalText("code")
        // It goes into messages: a word, or it is not a code.
        guard let code, code.utf8.count <= 64,
            code.utf8.allSatisfy({ (97...122).contains($0) || $0 == UInt8(ascii: "-") })
        else { return nil }
        return code
    }

    /// Seconds, or a date read against the answer's own; an hour at the most.
    static func retryAfter(_ head: HTTPHead) -> Int64? {
        guard let text = head["retry-after"] else { return nil }
        if !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }) {
            // More digits than fit are more than an hour.
            return Int64(clamping: min(UInt64(text) ?? .max, UInt64(longestWait)))
        }
        guard let then = HTTPDate.seconds(text), let now = head["date"].flatMap(HTTPDate.seconds)
        else { return nil }
        return min(max(then - now, 0), longestWait)
    }
}

/// The dates of HTTP headers: `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, section 5.6.7).
enum HTTPDate {
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Unix seconds; nil for anything but the one form that may be sent today.
    static func seconds(_ text: String) -> Int64? {
        let parts = text.split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 6, parts[5] == "GMT",
            let month = months.firstIndex(of: String(parts[2]))
        else { return nil }
        let number = month < 9 ? "0\(month + 1)" : "\(month + 1)"
        return Timestamp("\(parts[3])-\(number)-\(parts[1])T\(parts[4])Z")?.seconds
    }
}
