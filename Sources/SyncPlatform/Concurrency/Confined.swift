/// Lends a value that is not `Sendable` to one task at a time.
package final class Confined<Value>: @unchecked Sendable {
    // Sendable: `value` is only reached while `isFree` was taken, which stops the program if two
    // tasks use it at once instead of letting them race.
    private var value: Value
    private let isFree = Locked(true)

    /// Takes the value over from whoever made it.
    package init(_ value: sending Value) {
        self.value = value
    }

    /// Runs `body` with the value; nobody else may use it meanwhile.
    package func use<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let taken = isFree.withLock { isFree in
            defer { isFree = false }
            return isFree
        }
        precondition(taken, "a confined value was used by two tasks at once")
        defer { isFree.withLock { $0 = true } }
        return try body(&value)
    }
}
