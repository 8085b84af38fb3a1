/// Where an account keeps what changed since it was given to the server: in memory or in a folder.
///
/// What returns is kept: a kill after it does not undo it, and a kill during it leaves all of it or
/// nothing. Nobody changes the same account at the same time.
protocol Overlay: Sendable {
    /// Keeps the keys in the place of those before.
    func keep(_ keys: KeyRing) throws(StoreFailure)

    /// Keeps a push: its head, and its entries one a line.
    func keep(_ head: HeadFacts, lines: [UInt8]) throws(StoreFailure)

    /// Makes room for the bytes of an upload that may be resumed, or of one that may not.
    func makeSpace(
        _ name: String, length: UInt64, resumable: Bool
    ) throws(StoreFailure) -> any UploadSpace

    /// Makes the bytes of an upload, which have settled, the blob of that name.
    func publish(_ space: any UploadSpace, as name: String) throws(StoreFailure) -> BlobStore.Stored

    /// Keeps in mind that a blob is gone, and then lets go of its bytes.
    func delete(_ name: String) throws(StoreFailure)
}

/// Bytes of an upload, as far as they have come; used by one request at a time.
protocol UploadSpace: Sendable {
    /// Adds bytes behind those there are.
    func append(_ piece: UnsafeRawBufferPointer) throws(StoreFailure)

    /// Has what was added outlive a power cut.
    func settle() throws(StoreFailure)

    /// How many bytes there are.
    var count: UInt64 { get }

    /// Lets go of them.
    func discard()
}

/// The disk did not do what it was asked.
struct StoreFailure: Error {
    /// The system's error number.
    let number: Int32

    /// What the client gets to hear.
    var refusal: Refusal {
        // ENOSPC and EDQUOT.
        [28, 122].contains(number)
            ? Refusal(507, "store-full", "There is no room left")
            : Refusal(500, "store-failed", "The disk answers with error \(number)")
    }
}

/// Runs what may fail at the disk for a call.
func refusing<Result>(
    _ body: () throws(StoreFailure) -> Result
) throws(Refusal) -> Result {
    do throws(StoreFailure) { return try body() } catch { throw error.refusal }
}

/// Keeps nothing beyond the process.
struct MemoryOverlay: Overlay {
    func keep(_ keys: KeyRing) {}
    func keep(_ head: HeadFacts, lines: [UInt8]) {}

    func makeSpace(_ name: String, length: UInt64, resumable: Bool) -> any UploadSpace {
        MemorySpace()
    }

    func publish(_ space: any UploadSpace, as name: String) -> BlobStore.Stored {
        .bytes((space as? MemorySpace)?.take() ?? MemoryBytes([]))
    }

    func delete(_ name: String) {}
}

/// An upload in memory.
final class MemorySpace: UploadSpace {
    private let bytes = Guarded<[UInt8]>([])

    func append(_ piece: UnsafeRawBufferPointer) {
        bytes.with { $0.append(contentsOf: piece) }
    }

    func settle() {}
    var count: UInt64 { bytes.with { UInt64($0.count) } }
    func discard() { bytes.with { $0 = [] } }

    /// The bytes, which are here no longer.
    func take() -> MemoryBytes {
        bytes.with { bytes in
            defer { bytes = [] }
            return MemoryBytes(bytes)
        }
    }
}
