/// Says that bytes do not follow the format, or were changed.
struct FormatError: Error, Sendable, Equatable {
    /// The closed set of causes.
    enum Code: Sendable, Equatable {
        /// Another length than the format has for it.
        case length
        /// A first field, version, suite, kind or flag that is not known.
        case unknown
        /// A number beyond its bounds: a size, a cost, a count.
        case bounds
        /// Text that is not what it should be: hex, base64, a recovery key, a passphrase.
        case text
        /// The commitment does not fit: the secret or the key is another one.
        case wrongKey
        /// Authentication failed: changed bytes, or facts that are not those of the seal.
        case authentication
        /// Padding that is not zero, too long or too short.
        case padding
        /// An item that is not JSON, has a key twice, or lacks what it must have.
        case payload
        /// Of another account, epoch, or count than it should be.
        case mismatch
        /// There is no memory for it.
        case outOfMemory
    }

    /// The cause; callers branch on this.
    let code: Code
    /// What was being done, for the log; never a key and never a value.
    let operation: String

    /// Makes an error of a cause.
    init(_ code: Code, _ operation: String) {
        self.code = code
        self.operation = operation
    }
}
