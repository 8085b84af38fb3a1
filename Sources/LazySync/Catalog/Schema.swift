/// The catalog's schema: one step a version, frozen once it has landed.
///
/// A step is never edited. A change is a new step, a migration test and a store of the version
/// before it in `Fixtures/stores/`.
enum Schema {
    /// `LZS1`, in the file's header: what makes a SQLite file a catalog of ours.
    static let applicationID: Int32 = 0x4C5A_5331

    /// All steps, in order; the last one's version is today's.
    static let steps = [
        MigrationStep(version: 1, name: "the first catalog", sql: version1),
        MigrationStep(version: 2, name: "the cache's limit", sql: version2),
        MigrationStep(version: 3, name: "changes made here", sql: version3),
    ]

    /// The first catalog.
    ///
    /// Row keys are integers, since random keys in a clustered table cost four times the time.
    /// Ids, leaves and refs are packed bytes; a ref ends with its record's name.
    static let version1 = """
        CREATE TABLE account(
            one INTEGER PRIMARY KEY CHECK (one = 1),
            account_id BLOB NOT NULL CHECK (length(account_id) = 16),
            -- The head that adds up with what is here; its seq is the cursor.
            verified_head BLOB CHECK (length(verified_head) = 104),
            -- The digest over all entries here, staged ones too, and how many they are.
            set_digest BLOB NOT NULL CHECK (length(set_digest) = 32),
            entries INTEGER NOT NULL,
            -- Where an unfinished run goes on: the page's token, and the `after` it belongs to.
            page TEXT,
            page_after INTEGER,
            -- Set when the server's answers did not add up; cleared when they do again.
            mismatch TEXT
        ) STRICT;

        -- Counts, kept by the transactions that change what they count.
        CREATE TABLE tally(
            name TEXT PRIMARY KEY,
            value INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;

        -- One entry of the manifest: an item (kind 0) or its tombstone (kind 1).
        CREATE TABLE entry(
            id INTEGER PRIMARY KEY,
            entry_id BLOB NOT NULL UNIQUE CHECK (length(entry_id) = 16),
            version INTEGER NOT NULL,
            epoch INTEGER NOT NULL,
            kind INTEGER NOT NULL CHECK (kind IN (0, 1)),
            leaf BLOB NOT NULL CHECK (length(leaf) = 32),
            -- Time and id: a descending walk is the order of all lists. Null for a tombstone.
            order_key BLOB CHECK (length(order_key) = 29),
            title TEXT,
            text TEXT,
            created TEXT,
            modified TEXT,
            -- The payload as it came, kept only if it says more than the columns do.
            payload BLOB,
            CHECK ((kind = 0) = (title IS NOT NULL AND order_key IS NOT NULL))
        ) STRICT;
        CREATE UNIQUE INDEX entry_by_order ON entry(order_key) WHERE kind = 0;

        CREATE TABLE attachment(
            id INTEGER PRIMARY KEY,
            entry INTEGER NOT NULL REFERENCES entry(id),
            position INTEGER NOT NULL,
            attachment_id BLOB NOT NULL CHECK (length(attachment_id) = 16),
            -- The item's time in Unix seconds, far in the past without one: the order of thumbnails.
            created_at INTEGER NOT NULL,
            name TEXT NOT NULL,
            type TEXT NOT NULL,
            size INTEGER NOT NULL CHECK (size BETWEEN 0 AND 281474976710656),
            -- 0 complete, 1 absent, 2 invalid, 3 taken away, 4 an older one kept: the new is invalid.
            address INTEGER NOT NULL CHECK (address BETWEEN 0 AND 4),
            cloud_blob_ref BLOB,
            -- 0 none, 1 due, 2 here, 3 failed, 4 not eager, 5 address absent, 6 address invalid.
            thumb_state INTEGER NOT NULL CHECK (thumb_state BETWEEN 0 AND 6),
            thumb_type TEXT,
            thumb_size INTEGER CHECK (thumb_size BETWEEN 0 AND 281474976710656),
            thumb_cloud_blob_ref BLOB,
            -- What proves the file of one that is here, and why one that failed did.
            thumb_tags BLOB,
            thumb_reason TEXT,
            CHECK ((address IN (0, 4)) = (cloud_blob_ref IS NOT NULL))
        ) STRICT;
        CREATE UNIQUE INDEX attachment_by_id ON attachment(attachment_id, entry);
        CREATE INDEX attachment_by_entry ON attachment(entry, position);
        CREATE INDEX thumbnail_by_work ON attachment(thumb_state, created_at)
            WHERE thumb_state IN (1, 3);

        -- What happened to the bytes of an original: a row only for records that were asked for.
        CREATE TABLE blob(
            record BLOB PRIMARY KEY,
            -- The attachment it was last asked for through.
            attachment INTEGER NOT NULL,
            -- The mark of a complete file: the boot and the file it was proved in.
            here_boot TEXT,
            here_inode INTEGER,
            here_size INTEGER,
            here_mtime INTEGER,
            here_ctime INTEGER,
            -- The last failure of this blob, with its evidence.
            reason TEXT,
            status INTEGER,
            code TEXT,
            chunk INTEGER,
            bytes INTEGER NOT NULL DEFAULT 0,
            attempts INTEGER NOT NULL DEFAULT 0,
            last_attempt INTEGER,
            next_attempt INTEGER
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX blob_not_here ON blob(attachment) WHERE here_boot IS NULL;

        -- Records whose bytes may lie in the cache though no attachment names them any more.
        CREATE TABLE dropped(
            record BLOB PRIMARY KEY
        ) STRICT, WITHOUT ROWID;

        -- Reasons that belong to the device, the host or the account, kept once.
        CREATE TABLE condition(
            reason TEXT PRIMARY KEY,
            status INTEGER,
            code TEXT,
            last_attempt INTEGER NOT NULL,
            next_attempt INTEGER
        ) STRICT, WITHOUT ROWID;

        -- Entries that wait: unreadable ones for a newer version, tombstones for a verified head.
        CREATE TABLE staged(
            entry_id BLOB PRIMARY KEY CHECK (length(entry_id) = 16),
            version INTEGER NOT NULL,
            epoch INTEGER NOT NULL,
            kind INTEGER NOT NULL CHECK (kind IN (0, 1)),
            leaf BLOB NOT NULL CHECK (length(leaf) = 32),
            -- The leaf that this one stands in for in the digest, if the entry is here.
            replaces BLOB CHECK (length(replaces) = 32),
            -- 1 a tombstone that was read; 0 bytes that cannot be, as they came.
            readable INTEGER NOT NULL CHECK (readable IN (0, 1)),
            sealed BLOB,
            -- Whether a verified head covers it.
            verified INTEGER NOT NULL CHECK (verified IN (0, 1)),
            CHECK ((readable = 1) = (sealed IS NULL))
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX staged_by_state ON staged(verified, readable);
        """
}
