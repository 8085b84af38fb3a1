import CSodium

/// Makes libsodium ready, once; every use of it goes through `ready`.
enum Sodium {
    /// Is a constant so that the runtime initialises the library exactly once.
    static let ready: Void = {
        // -1 means that the system has no source of randomness: nothing sound can be done then.
        precondition(sodium_init() >= 0, "libsodium cannot start")
    }()
}

/// Holds secret bytes in guarded memory: locked, read-only, wiped when released.
///
/// An instance costs a few pages and some 25 µs; it is meant for keys that live long. It never
/// shows what it holds.
package final class SecretBytes: Sendable, Equatable, CustomStringConvertible,
    CustomDebugStringConvertible, CustomReflectable
{
    /// The number of bytes held.
    package let count: Int

    // Written only in `init`, before anybody else can see it, and read-only pages from then on.
    nonisolated(unsafe) private let memory: UnsafeMutableRawPointer

    /// Makes `count` bytes (zero at first) and lets `fill` write them; they never change again.
    package init<E: Error>(
        count: Int, fill: (_ bytes: inout MutableSpan<UInt8>) throws(E) -> Void
    ) throws(E) {
        _ = Sodium.ready
        guard let memory = sodium_malloc(max(count, 1)) else {
            preconditionFailure("no memory for a key")
        }
        self.count = count
        self.memory = memory
        memory.initializeMemory(as: UInt8.self, repeating: 0, count: max(count, 1))
        var span = MutableSpan<UInt8>(
            _unsafeStart: memory.assumingMemoryBound(to: UInt8.self), count: count)
        try fill(&span)
        sodium_mprotect_readonly(memory)
    }

    /// Copies `bytes`; wiping the original is the caller's work.
    package convenience init(copying bytes: Span<UInt8>) {
        self.init(count: bytes.count) { target in
            for index in bytes.indices { target[index] = bytes[index] }
        }
    }

    deinit { sodium_free(memory) }

    /// Lends the bytes for the length of `body`; what is copied out is the caller's to wipe.
    package func withBytes<R: ~Copyable, E: Error>(
        _ body: (_ bytes: Span<UInt8>) throws(E) -> R
    ) throws(E) -> R {
        let span = Span<UInt8>(_unsafeStart: pointer, count: count)
        return try body(span)
    }

    /// The start of the bytes, for calls into libsodium within this folder.
    var pointer: UnsafePointer<UInt8> { UnsafePointer(memory.assumingMemoryBound(to: UInt8.self)) }

    /// Compares in a time that does not depend on what the bytes are.
    package static func == (left: SecretBytes, right: SecretBytes) -> Bool {
        left.count == right.count && sodium_memcmp(left.memory, right.memory, left.count) == 0
    }

    /// Says how many bytes there are, and nothing about them.
    package var description: String { "SecretBytes(\(count))" }
    /// Says how many bytes there are, and nothing about them.
    package var debugDescription: String { description }
    /// Has no children, so that `dump` shows nothing.
    package var customMirror: Mirror { Mirror(self, children: [] as [Mirror.Child]) }
}

/// Compares and wipes bytes without telling by time or by leftovers what they were.
package enum ConstantTime {
    /// Tells whether both hold the same bytes; only the lengths may show in the time it takes.
    package static func equal(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Bool {
        guard left.count == right.count else { return false }
        return left.withPointer { left, length in
            right.withPointer { right, _ in sodium_memcmp(left, right, length) == 0 }
        }
    }

    /// Overwrites with zeros in a way that the optimiser keeps.
    package static func wipe(_ bytes: inout MutableSpan<UInt8>) {
        bytes.withPointer { sodium_memzero($0, $1) }
    }

    /// Overwrites with zeros and empties.
    package static func wipe(_ bytes: inout [UInt8]) {
        var span = bytes.mutableSpan
        wipe(&span)
        bytes = []
    }
}
