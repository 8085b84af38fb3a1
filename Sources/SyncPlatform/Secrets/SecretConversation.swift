import CSecret
import Dispatch

/// One bounded exchange with the desktop's secret service.
///
/// Nothing here asks a person: no search unlocks, and nothing is created in a locked collection.
/// Should a service ask all the same, the exchange is cancelled when its time is over.
struct SecretConversation {
    let library: LibSecret
    let deadline: Deadline
    let operation: String
    private let service: GObject

    /// One exchange at a time: GLib is safe for threads, its shared connection not worth a contest.
    private static let queue = DispatchQueue(label: "lazysync.secrets")

    /// Connects to the service, starting it if need be, and runs `body` on the caller's thread.
    ///
    /// Given up after `patience` seconds.
    static func run<Result>(
        _ operation: String, patience: Double,
        _ body: (SecretConversation) throws(SecretError) -> Result
    ) throws(SecretError) -> Result {
        let result: Swift.Result<Result, SecretError> = queue.sync {
            do throws(SecretError) {
                return .success(try body(SecretConversation(operation, patience)))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    private init(_ operation: String, _ patience: Double) throws(SecretError) {
        guard let library = LibSecret.shared, let cancellable = library.cancellableNew(),
            let owned = GObject(cancellable, library)
        else {
            throw SecretError(.unavailable, operation: operation, detail: "libsecret is not there")
        }
        let deadline = Deadline(owned, library, after: patience)
        let bus = try Self.call(operation, library) {
            GObject(library.busGet(Int32(CSECRET_BUS_SESSION), cancellable, $0), library)
        }
        // GLib would end the process when the desktop's session ends.
        if let bus { library.busSetExitOnClose(bus.pointer, 0) }
        let service = try Self.call(operation, library) {
            GObject(
                library.serviceGet(Int32(CSECRET_SERVICE_OPEN_SESSION), cancellable, $0), library)
        }
        guard let service else {
            throw SecretError(.unavailable, operation: operation, detail: "no service")
        }
        self.library = library
        self.service = service
        self.deadline = deadline
        self.operation = operation
    }

    /// The items with these attributes, in all collections; secrets of unlocked ones are loaded.
    func search(_ attributes: [String: String]) throws(SecretError) -> [Item] {
        let table = makeTable(attributes)
        defer { library.tableUnref(table) }
        let flags = CSECRET_SEARCH_ALL | CSECRET_SEARCH_LOAD_SECRETS
        let list = try call {
            library.serviceSearch(
                service.pointer, nil, table, Int32(flags), deadline.cancellable.pointer, $0
            )
        }
        defer { library.listFree(list) }
        var items: [Item] = []
        var next = list
        while let entry = next {
            if let object = GObject(OpaquePointer(entry.pointee.data), library) {
                items.append(
                    Item(object: object, isLocked: library.itemIsLocked(object.pointer) != 0))
            }
            next = entry.pointee.next
        }
        return items
    }

    /// An item of the service, which may be in a collection that is locked.
    struct Item {
        fileprivate let object: GObject
        let isLocked: Bool
    }

    /// The text that an unlocked item keeps; `nil` if the service did not hand it out.
    func secret(of item: Item) -> [UInt8]? {
        guard let value = library.itemSecret(item.object.pointer) else { return nil }
        defer { library.valueUnref(UnsafeMutableRawPointer(value)) }
        var count: UInt = 0
        guard let start = library.valueGet(value, &count) else { return nil }
        return [UInt8](UnsafeRawBufferPointer(start: start, count: Int(count)))
    }

    /// One attribute of an item.
    func attribute(_ name: String, of item: Item) -> String? {
        guard let table = library.itemAttributes(item.object.pointer) else { return nil }
        defer { library.tableUnref(table) }
        guard let value = library.tableLookup(table, name) else { return nil }
        return String(cString: value.assumingMemoryBound(to: CChar.self))
    }

    /// Whether the collection for new items is locked; `nil` if there is none.
    func isDefaultLocked() throws(SecretError) -> Bool? {
        try defaultCollection().map { library.collectionIsLocked($0.pointer) != 0 }
    }

    /// Changes what an unlocked item keeps.
    func replaceSecret(of item: Item, with text: String) throws(SecretError) {
        let secret = value(text)
        defer { library.valueUnref(UnsafeMutableRawPointer(secret)) }
        _ = try call {
            library.itemSetSecret(item.object.pointer, secret, deadline.cancellable.pointer, $0)
        }
    }

    /// Makes an item in the default collection, which is there and unlocked.
    func create(
        _ attributes: [String: String], label: String, text: String
    ) throws(SecretError) {
        guard let collection = try defaultCollection() else { return }
        let table = makeTable(attributes)
        defer { library.tableUnref(table) }
        let secret = value(text)
        defer { library.valueUnref(UnsafeMutableRawPointer(secret)) }
        _ = try call {
            GObject(
                library.itemCreate(
                    collection.pointer, nil, table, label, secret,
                    Int32(CSECRET_ITEM_CREATE_REPLACE), deadline.cancellable.pointer, $0),
                library)
        }
    }

    /// Removes an unlocked item.
    func remove(_ item: Item) throws(SecretError) {
        _ = try call { library.itemDelete(item.object.pointer, deadline.cancellable.pointer, $0) }
    }

    private func defaultCollection() throws(SecretError) -> GObject? {
        try call {
            GObject(
                library.collectionForAlias(
                    service.pointer, "default", 0, deadline.cancellable.pointer, $0), library)
        }
    }

    private func makeTable(_ attributes: [String: String]) -> OpaquePointer? {
        let table = library.tableNew(
            library.stringHash, library.stringEqual, library.free, library.free)
        for (name, value) in attributes {
            _ = library.tableInsert(table, library.stringCopy(name), library.stringCopy(value))
        }
        return table
    }

    private func value(_ text: String) -> OpaquePointer? {
        library.valueNew(text, text.utf8.count, "text/plain")
    }
}
