// libsecret is loaded on first use and called through dlsym. These are the types of the calls that are
// used, as libsecret 0.20 and GLib 2.74 declare them; both keep their ABI. No function is declared, so
// that none can be linked.
#ifndef CSECRET_SHIM_H
#define CSECRET_SHIM_H
#include <stdint.h>

typedef struct _GCancellable GCancellable;
typedef struct _GDBusConnection GDBusConnection;
typedef struct _GHashTable GHashTable;
typedef struct _SecretCollection SecretCollection;
typedef struct _SecretItem SecretItem;
typedef struct _SecretService SecretService;
typedef struct _SecretValue SecretValue;

typedef struct {
    uint32_t domain;
    int code;
    char *message;
} GError;

typedef struct _GList {
    void *data;
    struct _GList *next;
    struct _GList *prev;
} GList;

enum {
    CSECRET_BUS_SESSION = 2,
    CSECRET_SERVICE_OPEN_SESSION = 1 << 1,
    CSECRET_SEARCH_ALL = 1 << 1,
    CSECRET_SEARCH_LOAD_SECRETS = 1 << 3,
    CSECRET_ITEM_CREATE_REPLACE = 1 << 1,
};

// GLib
typedef void (*g_error_free_fn)(GError *);
typedef const char *(*g_quark_to_string_fn)(uint32_t);
typedef void (*g_object_unref_fn)(void *);
typedef void (*g_list_free_fn)(GList *);
typedef unsigned (*g_str_hash_fn)(const void *);
typedef int (*g_str_equal_fn)(const void *, const void *);
typedef void (*g_free_fn)(void *);
typedef char *(*g_strdup_fn)(const char *);
typedef GHashTable *(*g_hash_table_new_full_fn)(
    g_str_hash_fn, g_str_equal_fn, g_free_fn key_destroy, g_free_fn value_destroy);
typedef int (*g_hash_table_insert_fn)(GHashTable *, void *key, void *value);
typedef void *(*g_hash_table_lookup_fn)(GHashTable *, const void *key);
typedef void (*g_hash_table_unref_fn)(GHashTable *);
typedef GCancellable *(*g_cancellable_new_fn)(void);
typedef void (*g_cancellable_cancel_fn)(GCancellable *);
typedef GDBusConnection *(*g_bus_get_sync_fn)(int type, GCancellable *, GError **);
typedef void (*g_dbus_connection_set_exit_on_close_fn)(GDBusConnection *, int);

// libsecret; a schema is always NULL here
typedef SecretService *(*secret_service_get_sync_fn)(int flags, GCancellable *, GError **);
typedef GList *(*secret_service_search_sync_fn)(
    SecretService *, const void *schema, GHashTable *, int flags, GCancellable *, GError **);
typedef SecretCollection *(*secret_collection_for_alias_sync_fn)(
    SecretService *, const char *alias, int flags, GCancellable *, GError **);
typedef int (*secret_collection_get_locked_fn)(SecretCollection *);
typedef SecretItem *(*secret_item_create_sync_fn)(
    SecretCollection *, const void *schema, GHashTable *, const char *label, SecretValue *, int flags,
    GCancellable *, GError **);
typedef int (*secret_item_delete_sync_fn)(SecretItem *, GCancellable *, GError **);
typedef int (*secret_item_set_secret_sync_fn)(
    SecretItem *, SecretValue *, GCancellable *, GError **);
typedef int (*secret_item_get_locked_fn)(SecretItem *);
typedef SecretValue *(*secret_item_get_secret_fn)(SecretItem *);
typedef GHashTable *(*secret_item_get_attributes_fn)(SecretItem *);
typedef SecretValue *(*secret_value_new_fn)(const char *, intptr_t length, const char *type);
typedef const char *(*secret_value_get_fn)(SecretValue *, uintptr_t *length);
typedef void (*secret_value_unref_fn)(void *);

#endif
