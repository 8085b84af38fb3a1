#!/usr/bin/python3
"""Make the store that version 3 of the catalog leaves behind: Fixtures/make-store-v3.py OUT

It takes the store of version 2, runs the frozen SQL of stores/v3.sql, and adds what only version 3
knows, with none of our code: a change of every kind that waits to be sent, a push whose answer has not
come, blobs in the spool, and a trash. The result is Fixtures/stores/v3.sqlite, which is never made
anew.
"""
import base64
import json
import pathlib
import runpy
import shutil
import sqlite3
import struct
import sys

here = pathlib.Path(__file__).resolve().parent
first = runpy.run_path(str(here / "make-store-v1.py"))
chance, ref, order = first["chance"], first["ref"], first["order"]


def address(record):
    """The text of a packed address."""
    text = lambda data: base64.urlsafe_b64encode(data).rstrip(b"=").decode()
    packed = ref(record)
    return f"cb1.{record}.{text(packed[:24])}.{text(packed[24:105])}"


def payload(title, *attachments, **values):
    item = {"title": title, **values, "attachments": list(attachments)}
    return json.dumps(item, ensure_ascii=False, separators=(",", ":")).encode()


def attached(name, type, size, record=None, thumb=None):
    """An attachment of a payload; `thumb` is the size and the record of its picture."""
    value = {"id": chance("attachment " + name, 16).hex(), "name": name, "type": type, "size": size}
    if record:
        value["ref"] = address(record)
    if thumb:
        value["thumb"] = {"type": "image/jpeg", "size": thumb[0], "ref": address(thumb[1])}
    return value


def main(path):
    path.unlink(missing_ok=True)
    shutil.copyfile(here / "stores/v2.sqlite", path)
    db = sqlite3.connect(path, isolation_level=None)
    db.executescript("BEGIN;" + (here / "stores/v3.sql").read_text() + "COMMIT;")
    db.execute("PRAGMA user_version = 3")
    counted = {}

    def insert(table, **row):
        marks = ", ".join("?" * len(row))
        return db.execute(
            f"INSERT INTO {table}({', '.join(row)}) VALUES ({marks})", list(row.values())).lastrowid

    def add(name, seconds, created, *, kind=0, version=0, title=None):
        """An entry; one of version 0 is what no server has."""
        id = chance("entry " + name, 16)
        leaf = chance("leaf " + name, 32) if version else bytes(32)
        if version:
            counted[id] = leaf
        return insert(
            "entry", entry_id=id, version=version, epoch=1 if version else 0, kind=kind, leaf=leaf,
            order_key=None if kind else order(seconds, id), title=title,
            created=None if kind else created), id

    def trash(entry_id, removed, records, own, removed_at, attachment_id=None):
        row = insert(
            "trash", entry_id=entry_id, attachment_id=attachment_id, payload=removed,
            removed_at=removed_at, own=own)
        for record in records:
            insert("trash_record", record=record.encode(), trash=row)

    # A change that was sent, and changed again while the answer was out.
    kept = attached(
        "kept.pdf", "application/pdf", 200_000, "record-that-was-kept-1",
        (900, "thumb-that-failed-0001"))
    photo = attached(
        "여행.jpg", "image/jpeg", 123_456, "record-of-a-photo-0001", (7_321, "thumb-of-a-photo-00001"))
    taken = attached("taken.txt", "text/plain", 9, "record-that-was-taken1")
    times = {"created": "2026-05-28T20:26:40Z", "modified": "2026-06-01T10:00:00Z"}
    lisbon = db.execute("SELECT id, entry_id FROM entry WHERE title LIKE 'Lisbon%'").fetchone()
    insert(
        "outbox", entry=lisbon[0], revision=3,
        base=payload("Lisbon", photo, kept, taken, text="The plan.", **times),
        sent_revision=2, sent_version=4, sent_kind=0, sent_leaf=chance("leaf that was sent", 32),
        sent_payload=payload("Lisboa", photo, kept, text="The plan.", **times),
        sent=chance("the sealed change", 1_064))
    trash(
        lisbon[1], payload("Lisbon", taken), ["record-that-was-taken1"], 1, 1_790_000_000,
        chance("attachment taken.txt", 16))
    # A removal that waits.
    words = db.execute("SELECT id, entry_id FROM entry WHERE title = 'Only words'").fetchone()
    before = payload("Only words", text="…", created="2026-02-02T02:40:00Z")
    insert("outbox", entry=words[0], revision=1, base=before)
    db.execute(
        "UPDATE entry SET kind = 1, order_key = NULL, title = NULL, text = NULL, created = NULL"
        " WHERE id = ?", (words[0],))
    trash(words[1], before, [], 1, 1_790_000_100)
    # A removal that was sent.
    leaving, leaving_id = add("leaving", None, None, kind=1, version=5)
    before = payload("Leaving", attached("l.png", "image/png", 70_000, "record-of-what-leaves1"))
    insert(
        "outbox", entry=leaving, revision=1, base=before, sent_revision=1, sent_version=6,
        sent_kind=1, sent_leaf=chance("leaf of a removal", 32), sent=chance("a sealed removal", 296))
    trash(leaving_id, before, ["record-of-what-leaves1"], 1, 1_790_000_200)
    # What another device removed.
    trash(
        chance("entry gone", 16),
        payload("Gone", attached(
            "g.jpg", "image/jpeg", 5_000_000, "record-of-what-is-gone", (900, "thumb-of-what-is-gone1"))),
        ["record-of-what-is-gone", "thumb-of-what-is-gone1"], 0, 1_790_000_300)

    # What was added here: an original with its picture, and one that the store refused.
    time, created = 1_790_000_400, "2026-09-21T14:20:00Z"
    added, _ = add("added", time, created, title="Added here")
    insert("outbox", entry=added, revision=1)

    def attach(position, name, type, size, record, thumb=None):
        row = {} if thumb is None else {
            "thumb_type": "image/jpeg", "thumb_size": thumb[0], "thumb_cloud_blob_ref": ref(thumb[1])}
        return insert(
            "attachment", entry=added, position=position,
            attachment_id=chance("attachment " + name, 16), created_at=time, name=name, type=type,
            size=size, address=0, cloud_blob_ref=ref(record), thumb_state=1 if thumb else 0, pinned=1,
            **row)

    attach(0, "added.jpg", "image/jpeg", 65_537, "record-of-an-added-one", (3_000, "thumb-of-an-added-one1"))
    attach(1, "refused.bin", "application/octet-stream", 1, "record-that-is-refused")
    pack, other = "cGFjay1vbmUtMTZieXRlcw", "cGFjay10d28tMTZieXRlcw"
    insert(
        "spool", record=b"record-of-an-added-one", pack=pack, place=0, size=65_609, role=0)
    insert(
        "spool", record=b"thumb-of-an-added-one1", pack=pack, place=65_609, size=3_056, role=1, stored=1)
    insert(
        "spool", record=b"record-that-is-refused", pack=other, place=0, size=57, role=0,
        refused="storeFull", next_attempt=1_790_000_900)
    insert("once", name="import of an old file", done_at=1_790_000_450)
    insert("unnamed", record=b"record-that-none-names", seen_at=1_790_000_500)

    def count(name, step):
        db.execute("UPDATE tally SET value = value + ? WHERE name = ?", (step, name))

    # One more, and one less.
    count("attachments", 2)
    count("addressesComplete", 2)
    count("addressesUsable", 2)
    count("thumbnailsDue", 1)
    digest, entries, head = db.execute(
        "SELECT set_digest, entries, verified_head FROM account").fetchone()
    total = int.from_bytes(digest, "big") + sum(int.from_bytes(leaf, "big") for leaf in counted.values())
    pushing = head[:20] + struct.pack(">IQ", 1, 8) + chance("hash of the head", 32)
    pushing += struct.pack(">Q", entries + len(counted)) + chance("mac of the push", 32)
    db.execute(
        "UPDATE account SET set_digest = ?, entries = ?, pushing = ?, swept_at = 1790000600",
        ((total % (1 << 256)).to_bytes(32, "big"), entries + len(counted), pushing))
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
