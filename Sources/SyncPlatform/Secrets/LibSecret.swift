import CSecret
import Glibc

/// The functions of libsecret and of the GLib under it, loaded when the first secret is asked for.
///
/// Unchecked: these are addresses of code, set once.
struct LibSecret: @unchecked Sendable {
    /// The library; `nil` if it, or a function that is needed, is not there.
    static let shared: LibSecret? = try? LibSecret()

    let errorFree: g_error_free_fn
    let quarkToString: g_quark_to_string_fn
    let objectUnref: g_object_unref_fn
    let listFree: g_list_free_fn
    let stringHash: g_str_hash_fn
    let stringEqual: g_str_equal_fn
    let free: g_free_fn
    let stringCopy: g_strdup_fn
    let tableNew: g_hash_table_new_full_fn
    let tableInsert: g_hash_table_insert_fn
    let tableLookup: g_hash_table_lookup_fn
    let tableUnref: g_hash_table_unref_fn
    let cancellableNew: g_cancellable_new_fn
    let cancellableCancel: g_cancellable_cancel_fn
    let busGet: g_bus_get_sync_fn
    let busSetExitOnClose: g_dbus_connection_set_exit_on_close_fn
    let serviceGet: secret_service_get_sync_fn
    let serviceSearch: secret_service_search_sync_fn
    let collectionForAlias: secret_collection_for_alias_sync_fn
    let collectionIsLocked: secret_collection_get_locked_fn
    let itemCreate: secret_item_create_sync_fn
    let itemDelete: secret_item_delete_sync_fn
    let itemSetSecret: secret_item_set_secret_sync_fn
    let itemIsLocked: secret_item_get_locked_fn
    let itemSecret: secret_item_get_secret_fn
    let itemAttributes: secret_item_get_attributes_fn
    let valueNew: secret_value_new_fn
    let valueGet: secret_value_get_fn
    let valueUnref: secret_value_unref_fn

    private struct Missing: Error {}

    private init() throws {
        // Never closed: GLib's types and threads outlive every use.
        guard let library = dlopen("libsecret-1.so.0", RTLD_NOW | RTLD_LOCAL) else {
            throw Missing()
        }
        // A lookup through libsecret also finds what the libraries that it needs define.
        func function<Function>(_ name: String) throws -> Function {
            guard let address = dlsym(library, name) else { throw Missing() }
            return unsafeBitCast(address, to: Function.self)
        }
        errorFree = try function("g_error_free")
        quarkToString = try function("g_quark_to_string")
        objectUnref = try function("g_object_unref")
        listFree = try function("g_list_free")
        stringHash = try function("g_str_hash")
        stringEqual = try function("g_str_equal")
        free = try function("g_free")
        stringCopy = try function("g_strdup")
        tableNew = try function("g_hash_table_new_full")
        tableInsert = try function("g_hash_table_insert")
        tableLookup = try function("g_hash_table_lookup")
        tableUnref = try function("g_hash_table_unref")
        cancellableNew = try function("g_cancellable_new")
        cancellableCancel = try function("g_cancellable_cancel")
        busGet = try function("g_bus_get_sync")
        busSetExitOnClose = try function("g_dbus_connection_set_exit_on_close")
        serviceGet = try function("secret_service_get_sync")
        serviceSearch = try function("secret_service_search_sync")
        collectionForAlias = try function("secret_collection_for_alias_sync")
        collectionIsLocked = try function("secret_collection_get_locked")
        itemCreate = try function("secret_item_create_sync")
        itemDelete = try function("secret_item_delete_sync")
        itemSetSecret = try function("secret_item_set_secret_sync")
        itemIsLocked = try function("secret_item_get_locked")
        itemSecret = try function("secret_item_get_secret")
        itemAttributes = try function("secret_item_get_attributes")
        valueNew = try function("secret_value_new")
        valueGet = try function("secret_value_get")
        valueUnref = try function("secret_value_unref")
    }
}

/// A reference to a GObject that is given back when it goes.
///
/// Unchecked: the pointer is constant, and GLib counts references atomically.
final class GObject: @unchecked Sendable {
    let pointer: OpaquePointer
    private let library: LibSecret

    /// Takes over a reference; `nil` if there is none.
    init?(_ pointer: OpaquePointer?, _ library: LibSecret) {
        guard let pointer else { return nil }
        self.pointer = pointer
        self.library = library
    }

    deinit {
        library.objectUnref(UnsafeMutableRawPointer(pointer))
    }
}
