#!/usr/bin/python3
"""Make the store that version 2 of the catalog leaves behind: Fixtures/make-store-v2.py OUT

It takes the store of version 1, runs the frozen SQL of stores/v2.sql, and adds what only version 2
knows, with none of our code. The result is Fixtures/stores/v2.sqlite, which is never made anew.
"""
import pathlib
import shutil
import sqlite3
import sys

here = pathlib.Path(__file__).resolve().parent


def cost(length):
    """What a blob takes on the disk: its blocks, those of its tags, and its folder's."""
    blocks = lambda count: (count + 4095) // 4096 * 4096
    return blocks(length) + blocks(max((length + 65535) // 65536, 1) * 16) + 4096


def main(path):
    path.unlink(missing_ok=True)
    shutil.copyfile(here / "stores/v1.sqlite", path)
    db = sqlite3.connect(path, isolation_level=None)
    db.executescript("BEGIN;" + (here / "stores/v2.sql").read_text() + "COMMIT;")
    db.execute("PRAGMA user_version = 2")
    db.execute(
        "UPDATE account SET cache_limit = 500000000, pins_all = 1, opens = 9, checked_to = ?, checked_share = 100",
        (b"record-that-was-kept-1",))
    db.execute("UPDATE attachment SET pinned = 1 WHERE name <> 'd.txt'")
    db.execute("UPDATE blob SET opened = 9, handed_at = 1780000400 WHERE here_boot IS NOT NULL")
    # A part whose reservation outlived its process.
    db.execute("UPDATE blob SET held = ?, opened = 4 WHERE record = ?", (cost(300_000), b"record-that-is-wanted1"))
    total = db.execute("SELECT sum(held) FROM blob").fetchone()[0]
    db.execute("UPDATE tally SET value = ? WHERE name = 'cacheBytes'", (total,))
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
