CREATE TABLE outbox(
    entry INTEGER PRIMARY KEY REFERENCES entry(id),
    -- The item as the server had it when it was changed here; null: it had none.
    base BLOB,
    -- One more with every change.
    revision INTEGER NOT NULL,
    -- What a push says of it whose answer has not come: the revision, version, kind and
    -- leaf, the payload (none for a removal), and the sealed entry.
    sent_revision INTEGER,
    sent_version INTEGER,
    sent_kind INTEGER CHECK (sent_kind IN (0, 1)),
    sent_leaf BLOB CHECK (length(sent_leaf) = 32),
    sent_payload BLOB,
    sent BLOB,
    CHECK ((sent_revision IS NULL) = (sent IS NULL))
) STRICT;
CREATE INDEX outbox_sent ON outbox(entry) WHERE sent_revision IS NOT NULL;
-- The head of that push.
ALTER TABLE account ADD COLUMN pushing BLOB CHECK (length(pushing) = 104);
-- Whether a person has decided for the server's account as it is, and it is being read.
ALTER TABLE account ADD COLUMN trusting INTEGER NOT NULL DEFAULT 0
    CHECK (trusting IN (0, 1));
-- When the store was last searched for what no entry names, in Unix seconds.
ALTER TABLE account ADD COLUMN swept_at INTEGER NOT NULL DEFAULT 0;

-- Sealed blobs that no accepted head names yet: many of them lie in one file.
CREATE TABLE spool(
    record BLOB PRIMARY KEY,
    pack TEXT NOT NULL,
    place INTEGER NOT NULL CHECK (place >= 0),
    size INTEGER NOT NULL CHECK (size > 0),
    -- 0 an original, 1 a thumbnail.
    role INTEGER NOT NULL CHECK (role IN (0, 1)),
    -- Whether the store has taken it.
    stored INTEGER NOT NULL DEFAULT 0 CHECK (stored IN (0, 1)),
    -- Why the store did not, and when to ask again, in Unix seconds.
    refused TEXT,
    next_attempt INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX spool_by_pack ON spool(pack);

-- Items that were removed, and attachments that were taken out of theirs.
CREATE TABLE trash(
    id INTEGER PRIMARY KEY,
    entry_id BLOB NOT NULL CHECK (length(entry_id) = 16),
    -- Null: all of the item.
    attachment_id BLOB CHECK (length(attachment_id) = 16),
    -- The item as it was; for an attachment, with nothing but that.
    payload BLOB NOT NULL,
    -- In Unix seconds.
    removed_at INTEGER NOT NULL,
    -- Whether this device has removed it, and so will delete its records at the store.
    own INTEGER NOT NULL CHECK (own IN (0, 1))
) STRICT;
CREATE INDEX trash_by_entry ON trash(entry_id, attachment_id);
CREATE INDEX trash_by_time ON trash(removed_at, id);
-- The records that it names.
CREATE TABLE trash_record(
    record BLOB NOT NULL,
    trash INTEGER NOT NULL REFERENCES trash(id),
    PRIMARY KEY (record, trash)
) STRICT, WITHOUT ROWID;
CREATE INDEX trash_record_by_trash ON trash_record(trash);

-- What is done once in an account's life, such as the import of an old file.
CREATE TABLE once(
    name TEXT PRIMARY KEY,
    done_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Records at the store that no entry names, and when that was seen first.
CREATE TABLE unnamed(
    record BLOB PRIMARY KEY,
    seen_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
