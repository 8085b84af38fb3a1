/// Keeps the few secrets of one account on one installation: keys, tokens, the verified head.
///
/// Calls may block for seconds; they run on the caller's thread.
package protocol SecretStore: Sendable {
    /// The secret kept under a name; `nil` if the store is open and has none.
    func read(item: String) throws(SecretError) -> [UInt8]?
    /// Keeps a secret in place of the one that has the name.
    func write(item: String, _ bytes: [UInt8]) throws(SecretError)
    /// Forgets a secret; that there was none is no error.
    func remove(item: String) throws(SecretError)
    /// The names of the secrets that are kept, sorted.
    func items() throws(SecretError) -> [String]
}

/// Why a secret store did not do what it was asked.
///
/// Names items, never what is in them.
package struct SecretError: Error, Sendable {
    /// The kinds of failure that callers tell apart; none of them means that there is no secret.
    package enum Code: Sendable, Equatable {
        /// The store is there, but a person must unlock it.
        case locked
        /// There is no store: no service, no session bus, no library, no answer in time.
        case unavailable
        /// The store is somebody else's or open to others, or refuses us.
        case denied
        /// The disk has no room for it.
        case noSpace
        case io
        /// The store answers, and not what we understand.
        case other
    }

    /// What callers branch on.
    package let code: Code
    /// What was being done: "read accountKey".
    package let operation: String
    /// What the store said.
    package let detail: String

    init(_ code: Code, operation: String, detail: String) {
        self.code = code
        self.operation = operation
        self.detail = detail
    }
}

extension SecretError: CustomStringConvertible {
    /// One line for the log.
    package var description: String { "\(operation): \(code), \(detail)" }
}
