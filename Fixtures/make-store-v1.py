#!/usr/bin/python3
"""Make the store that version 1 of the catalog leaves behind: Fixtures/make-store-v1.py OUT

It runs the frozen SQL of stores/v1.sql and plain INSERTs, with none of our code, so that what a past
version wrote does not change with what the present one would write. Every state that a row can be in
is there once. The result is Fixtures/stores/v1.sqlite, which is never made anew.
"""
import hashlib
import pathlib
import sqlite3
import struct
import sys

here = pathlib.Path(__file__).resolve().parent
APPLICATION = 0x4C5A5331  # LZS1


def chance(name, count):
    """Bytes that follow from a name."""
    return hashlib.shake_128(name.encode()).digest(count)


def ref(record):
    """A packed address: nonce, wrapped key, record name."""
    return chance("nonce " + record, 24) + b"\x01" + chance("key " + record, 80) + record.encode()


def order(seconds, entry):
    """The key of a list: the time if there is one, and the item's id."""
    time = bytes(13) if seconds is None else b"\x01" + struct.pack(">QI", seconds ^ 1 << 63, 0)
    return time + entry


def main(path):
    path.unlink(missing_ok=True)
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA page_size = 8192")
    db.execute("PRAGMA journal_mode = WAL")
    db.executescript("BEGIN;" + (here / "stores/v1.sql").read_text() + "COMMIT;")
    db.execute("PRAGMA user_version = 1")
    db.execute(f"PRAGMA application_id = {APPLICATION}")

    leaves = {}

    def entry(name, kind, seconds=None, **columns):
        id = chance("entry " + name, 16)
        leaves[id] = chance("leaf " + name, 32)
        row = {"entry_id": id, "version": 1, "epoch": 1, "kind": kind, "leaf": leaves[id]}
        if kind == 0:
            row["order_key"] = order(seconds, id)
        return insert("entry", {**row, **columns}), id

    def insert(table, row):
        marks = ", ".join("?" * len(row))
        return db.execute(
            f"INSERT INTO {table}({', '.join(row)}) VALUES ({marks})", list(row.values())).lastrowid

    lisbon, _ = entry(
        "lisbon", 0, 1_780_000_000, version=3, title="Lisbon, 리스본", text="The plan.\nIn two lines.",
        created="2026-05-28T20:26:40Z", modified="2026-06-01T10:00:00Z",
        payload=b'{"title":"Lisbon","mood":"unknown to version 1"}')
    entry("words", 0, 1_770_000_000, title="Only words", created="2026-02-02T02:40:00Z", text="…")
    timeless, timeless_id = entry("timeless", 0, title="No valid time", created="yesterday")
    entry("gone", 1, version=2)
    # A version above 2^63 lies in its column as a negative number.
    entry("gone long ago", 1, version=-2)

    def attachment(item, seconds, position, name, type, size, address, thumb_state, **columns):
        key = chance("attachment " + name, 16)
        row = {
            "entry": item, "position": position, "attachment_id": key,
            "created_at": -1 << 63 if seconds is None else seconds, "name": name, "type": type, "size": size, "address": address, "thumb_state": thumb_state}
        return insert("attachment", {**row, **columns})

    time = 1_780_000_000
    photo = attachment(
        lisbon, time, 0, "여행.jpg", "image/jpeg", 123_456, 0, 2,
        cloud_blob_ref=ref("record-of-a-photo-0001"), thumb_type="image/jpeg", thumb_size=7_321,
        thumb_cloud_blob_ref=ref("thumb-of-a-photo-00001"), thumb_tags=chance("tags", 16))
    kept = attachment(
        lisbon, time, 1, "kept.pdf", "application/pdf", 200_000, 4, 3,
        cloud_blob_ref=ref("record-that-was-kept-1"), thumb_type="image/png", thumb_size=900,
        thumb_cloud_blob_ref=ref("thumb-that-failed-0001"), thumb_reason="notFound")
    attachment(
        lisbon, time, 2, "b.txt", "text/plain", 0, 1, 5, thumb_type="image/png",
        thumb_size=5)
    attachment(
        lisbon, time, 3, "c.txt", "text/plain", 1, 2, 6, thumb_type="image/png",
        thumb_size=6)
    attachment(lisbon, time, 4, "d.txt", "text/plain", 1 << 48, 3, 0)
    wanted = attachment(
        timeless, None, 0, "photo.png", "image/png", 300_000, 0, 1,
        cloud_blob_ref=ref("record-that-is-wanted1"), thumb_type="image/webp", thumb_size=1,
        thumb_cloud_blob_ref=ref("thumb-that-is-due-0001"))
    attachment(
        timeless, None, 1, "big.jpg", "image/jpeg", 9_000_000, 0, 4,
        cloud_blob_ref=ref("a"), thumb_type="image/jpeg", thumb_size=400_000,
        thumb_cloud_blob_ref=ref("b" * 64))
    attachment(
        timeless, None, 2, "small.png", "image/png", 100, 0, 2,
        cloud_blob_ref=ref("record-of-a-small-one1"))

    insert("blob", {
        "record": b"record-of-a-photo-0001", "attachment": photo,
        "here_boot": "f9f0e3f4-0c5c-4b0c-8b0a-2f5c6d7e8f90", "here_inode": 4711,
        "here_size": 123_456, "here_mtime": 1_780_000_100_000_000_000,
        "here_ctime": 1_780_000_100_000_000_001, "bytes": 123_456})
    insert("blob", {
        "record": b"record-that-was-kept-1", "attachment": kept, "reason": "corrupt", "status": 200,
        "code": "chunk", "chunk": 2, "bytes": 131_072, "attempts": 2,
        "last_attempt": 1_780_000_200, "next_attempt": 1_780_000_300})
    insert("blob", {"record": b"record-that-is-wanted1", "attachment": wanted})
    insert("dropped", {"record": b"record-that-was-dropped"})
    insert("condition", {
        "reason": "throttled", "status": 429, "code": "slow-down", "last_attempt": 1_780_000_000,
        "next_attempt": 1_780_000_600})
    insert("condition", {"reason": "offline", "last_attempt": 1_780_000_000})

    def staged(name, replaces=None, **columns):
        leaf = chance("leaf of " + name, 32)
        id = replaces or chance("entry " + name, 16)
        row = {"entry_id": id, "version": 9, "epoch": 1, "kind": 0, "leaf": leaf, "readable": 0}
        row["replaces"] = leaves.get(id)
        leaves[id] = leaf
        insert("staged", {**row, **columns})

    staged("unreadable", sealed=chance("sealed", 296), verified=1)
    staged("unreadable and new", sealed=chance("sealed too", 296), verified=0)
    staged("a deletion that is held", replaces=timeless_id, readable=1, kind=1, verified=1)

    counts = {
        "items": 3, "attachments": 8, "addressesComplete": 4, "addressesMissing": 3,
        "addressesUsable": 5, "thumbnailsDue": 1, "thumbnailsHere": 2, "thumbnailsFailed": 3,
        "blobsHere": 1, "blobsFailed": 1, "cacheBytes": 123_456}
    for name, value in counts.items():
        insert("tally", {"name": name, "value": value})
    digest = sum(int.from_bytes(leaf, "big") for leaf in leaves.values()) % (1 << 256)
    account = chance("account", 16)
    head = b"CBH1" + account + struct.pack(">IQ", 1, 7) + chance("head before", 32)
    head += struct.pack(">Q", len(leaves)) + chance("mac", 32)
    insert("account", {
        "one": 1, "account_id": account, "verified_head": head,
        "set_digest": digest.to_bytes(32, "big"), "entries": len(leaves), "page": "a page's token",
        "page_after": 7, "mismatch": "it did not add up once"})
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
