/// Says why bytes were not taken as JSON.
package struct JSONError: Error, Sendable, Equatable {
    /// The closed set of causes.
    package enum Code: Sendable, Equatable {
        /// Not JSON: its grammar, its UTF-8, a lone surrogate, a number that no 64 bits hold.
        case syntax
        /// Objects and arrays nested deeper than the parser allows.
        case tooDeep
        /// More bytes than the parser allows.
        case tooLarge
        /// An object has the same key twice, however it is written.
        case duplicateKey
        /// There is no memory for the document.
        case outOfMemory
    }

    /// The cause; callers branch on this.
    package let code: Code
    /// What was being done, for the log; never the text.
    package let operation: String

    /// Makes an error of a cause.
    package init(_ code: Code, _ operation: String = "parse JSON") {
        self.code = code
        self.operation = operation
    }
}
