"""The cases of scripts/bench that bring changes to a server, and from it.

Each side of a comparison of bytes writes to a server on the same disk that was made for it: ours to
mock-server with `--data`, rclone to nginx, which keeps what is PUT. Neither server waits for the
disk (`--no-fsync`); what is added here does, as it always does. The disk is left to settle before
each run.

One large file goes as WebDAV. Many go as to S3, a PUT and a HEAD each, which is what ours does: over
WebDAV rclone 1.60 paces itself to a hundred requests a second, and would be ten times as slow.
"""
import contextlib
import itertools
import json
import os
import pathlib
import random
import shutil
import struct
import tempfile
import urllib.request

from bench_bytes import WebDAV, large_account, rclone_environment
from bench_kit import RESTORE, Home, Run, Runs, Server, cb, compare, data, make, maker, scaled

CHANGES = 1_000
BESIDE = 10_000  # attachments of the small catalog


class Store(Server):
    """mock-server that keeps what it gets in a folder."""

    def __init__(self, folder, place):
        super().__init__(folder, words=["--data", place, "--no-fsync"])
        self.place = place

    def forget_blobs(self):
        """Frees the disk of what was uploaded; the server does not look."""
        for blob in self.place.glob("*/blobs/*"):
            blob.unlink()


class Share(WebDAV):
    """nginx that takes files over WebDAV into a folder."""

    def __init__(self, place):
        self.place, coming = place / "files", place / "coming"
        for folder in (self.place, coming):
            folder.mkdir(parents=True)
        # What comes is on the same disk, so that it is renamed and not copied.
        super().__init__(self.place, f"client_body_temp_path {coming}; client_max_body_size 0; create_full_put_path on;")

    @property
    def as_objects(self):
        """What makes `sealed:` a crypt remote over this as a store of objects: PUT and HEAD, no list."""
        return rclone_environment("s3:objects") | {
            # An authority in the environment is more than rclone's client for S3 can take.
            "AWS_CA_BUNDLE": "", "RCLONE_CONFIG_S3_TYPE": "s3", "RCLONE_CONFIG_S3_PROVIDER": "Other",
            "RCLONE_CONFIG_S3_ENDPOINT": self.url, "RCLONE_CONFIG_S3_ACCESS_KEY_ID": "bench",
            "RCLONE_CONFIG_S3_SECRET_ACCESS_KEY": "bench", "RCLONE_CONFIG_S3_NO_CHECK_BUCKET": "true"}

    def forget_files(self):
        for entry in self.place.iterdir():
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()


def upload(options, scratch, what, files, theirs, reach, note, as_objects=False):
    """Adds and pushes files, against rclone with these words and a name of its own each time.

    Many files stay until the end: where some were just removed, a file system makes new ones slowly.
    """
    folder, place = make("rows", 30), pathlib.Path(scratch)
    with Store(folder, place / "data") as server, Share(place / "share") as share:
        environment, runs = share.as_objects if as_objects else share.environment, itertools.count()

        def ours():
            home = Home(scratch, server, folder, RESTORE)
            if not as_objects:
                server.forget_blobs()
            os.sync()
            return Runs(home.run("add", *files), home.run("push"))

        def rclone():
            if not as_objects:
                share.forget_files()
            os.sync()
            return Run(["rclone", *theirs, f"sealed:{next(runs)}"], environment=environment)

        compare(what, ours, rclone, options.runs, reach, note)


def add_large(options, scratch):
    size = scaled(options, 1 << 30)
    plain = large_account(size)[0] / "plain"
    upload(options, scratch, f"add and push {size / (1 << 30):g} GiB", [plain],
           ["copyto", plain], "1.0", "memory: at most 100")


def add_many(options, scratch):
    count = scaled(options, 10_000)
    folder = small_files(count)
    upload(options, scratch, f"add and push {count:,} files of 10 KB", sorted(folder.iterdir()),
           ["copy", "--transfers", "16", "--no-check-dest", folder], "0.5", "memory: at most 100", as_objects=True)


def small_files(count):
    """A folder of so many files of 10,000 bytes of noise."""
    folder = data / f"files-{count}"
    if not folder.exists():
        part = folder.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir()
        chance = random.Random(f"files {count}")
        for number in range(count):
            (part / f"file-{number:06}.bin").write_bytes(chance.randbytes(10_000))
        part.rename(folder)
    return folder


class OtherDevice:
    """Changes titles of an account as another device would, with the reference implementation."""

    def __init__(self, server, folder, kind, count):
        self.data, self.server, self.count = maker(), server, count
        self.account = self.data.Account(kind, 1)
        self.token = server.token(folder)
        head = self.head = cb.unb64(json.loads((folder / "account.json").read_text())["head"])
        self.versions = {}
        self.entries = struct.unpack(">Q", head[64:72])[0]
        lines = (json.loads(line) for line in open(folder / "entries.jsonl"))
        self.digest = sum(self.leaf(bytes.fromhex(line["id"]), int(line["version"]), cb.unb64(line["sealed"])) for line in lines)
        cb.check_head(self.account.keys, head, self.account.id, 1, self.entries, cb.set_digest([self.digest]))

    def leaf(self, id, version, sealed):
        return cb.leaf_hash(self.account.keys, id, 1, version, 0, sealed)

    def push(self, chance, changes):
        """Changes so many items, anywhere in the account."""
        entries = []
        for number in chance.sample(range(-(-self.count // self.data.ATTACHMENTS)), changes):
            row, = self.data.rows(self.account, self.count, number, number + 1)
            if number not in self.versions:
                self.versions[number] = 1, self.leaf(row.id, 1, self.data.sealed_entry(self.account, row))
            version, leaf = self.versions[number]
            row = row._replace(version=version + 1, title=f"{row.title}, changed", nonce=chance.randbytes(24))
            sealed = self.data.sealed_entry(self.account, row)
            new = self.leaf(row.id, row.version, sealed)
            self.digest += new - leaf
            self.versions[number] = row.version, new
            entries.append({"id": row.id.hex(), "version": str(row.version), "kind": 0, "epoch": 1, "sealed": cb.b64(sealed)})
        seq = struct.unpack(">Q", self.head[24:32])[0] + 1
        head = cb.make_head(self.account.keys, self.account.id, 1, seq, self.head, self.entries, cb.set_digest([self.digest]))
        body = json.dumps({"head": cb.b64(head), "entries": entries}).encode()
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.token}"}
        with urllib.request.urlopen(urllib.request.Request(self.server.url + "/v1/manifest", body, headers)):
            self.head = head


def pull(options, scratch):
    sides = []
    with contextlib.ExitStack() as stack:
        for count in (options.count, BESIDE):
            folder = make("rows", count)
            server = stack.enter_context(Server(folder))
            sides.append((Home(scratch, server, folder, RESTORE), OtherDevice(server, folder, "rows", count)))
        chance, changes = random.Random(1), min(CHANGES, options.count // 10)

        def run(side):
            home, other = sides[side]
            other.push(chance, changes)
            return home.run(*RESTORE)

        compare(f"pull {changes:,} changes into {options.count:,}, against {BESIDE:,}", lambda: run(0), lambda: run(1), 3 * options.runs, "3")


def push(options, scratch):
    sides, chance = [], random.Random(1)
    with contextlib.ExitStack() as stack:
        for count in (options.count, BESIDE):
            folder = make("rows", count)
            server = stack.enter_context(Server(folder))
            home = Home(scratch, server, folder, RESTORE)
            items = [json.loads(line)["item"] for line in home.read("list", "--json", "--limit", "100").splitlines()]
            sides.append((home, items))

        def run(side):
            home, items = sides[side]
            return Runs(home.run("edit", chance.choice(items), "--title", f"Changed {chance.random()}"), home.run("push"))

        compare(f"edit and push, {options.count:,} against {BESIDE:,}", lambda: run(0), lambda: run(1), 5 * options.runs, "1.2")
