#include <sqlite3.h>

// Swift sees neither variadic functions nor the cast macro SQLITE_TRANSIENT. Nothing else lives here.

/// Sets a switch of a connection and reads back what it is now.
static inline int sqlite3_db_config_int(sqlite3 *db, int option, int value, int *now) {
    return sqlite3_db_config(db, option, value, now);
}

/// Binds text that SQLite copies.
static inline int sqlite3_bind_text_copied(
    sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 count) {
    return sqlite3_bind_text64(
        statement, index, (const char *)bytes, count, SQLITE_TRANSIENT, SQLITE_UTF8);
}

/// Binds a blob that SQLite copies.
static inline int sqlite3_bind_blob_copied(
    sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 count) {
    return sqlite3_bind_blob64(statement, index, bytes, count, SQLITE_TRANSIENT);
}
