/// Says why a cryptographic call could not do its work.
package struct CryptoError: Error, Sendable, Equatable {
    /// The closed set of causes.
    package enum Code: Sendable, Equatable {
        /// There is no memory for the key, or for stretching a passphrase.
        case outOfMemory
        /// The cost of a key derivation is outside what the library accepts.
        case cost
        /// The text is not valid UTF-8, base64 or hex.
        case encoding
    }

    /// The cause; callers branch on this.
    package let code: Code
    /// What was being done, for the log; never a key and never a value.
    package let operation: String

    /// Makes an error of a cause.
    package init(_ code: Code, _ operation: String) {
        self.code = code
        self.operation = operation
    }
}
