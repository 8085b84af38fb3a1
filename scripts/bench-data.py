#!/usr/bin/python3
"""Make the accounts that the benchmark runs on, fast: scripts/bench-data.py KIND [--count N] [--out DIR]

    rows     items with three attachments each and no blobs (333,334 items, 1,000,000 attachments)
    photos   photos with a thumbnail of 6 to 11 KB in blobs/, and no originals (10,000 photos)
    small    photos of 400 bytes without a thumbnail, all in blobs/ (300,000 photos)
    large    one item with one attachment (1 GiB); its content lies beside it as `plain`

An account folder is what Fixtures/README.md says. Everything follows from the seed; a folder that is
complete is left alone. libsodium does the work, called directly, on every core; --check opens a
sample with the slow, independent Fixtures/reference/cloudblob.py.
"""
import argparse
import base64
import ctypes
import ctypes.util
import hashlib
import json
import multiprocessing
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import time
from typing import NamedTuple

root = pathlib.Path(__file__).resolve().parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(root / "Fixtures" / "reference"))
import cloudblob as cb  # noqa: E402

MAKER = 1  # raise it when the same arguments come to mean other data
PASSPHRASE = "correct horse battery staple"
PUSH = 5000  # entries a push; one push is also the unit of work of a process
ATTACHMENTS = 3  # an item

sodium = ctypes.CDLL(ctypes.util.find_library("sodium") or "libsodium.so.23")
if sodium.sodium_init() < 0:
    sys.exit("bench-data: libsodium does not start")


def seal(key, nonce, plaintext, aad):
    """cloudblob.seal, some twenty times as fast."""
    out = ctypes.create_string_buffer(len(plaintext) + cb.TAG)
    sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(
        out, None, plaintext, ctypes.c_ulonglong(len(plaintext)), aad, ctypes.c_ulonglong(len(aad)), None, nonce, key)
    return out.raw


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Attachment(NamedTuple):
    id: bytes
    name: str
    type: str
    size: int
    ref: str
    thumb: dict | None = None  # type, size, ref


class Row(NamedTuple):
    """One item with its attachments, in plain; `nonce` is what its entry is sealed with."""

    id: bytes
    version: int
    epoch: int
    title: str
    created: str
    modified: str
    attachments: list
    nonce: bytes


class Blob(NamedTuple):
    """A blob's address before it is wrapped."""

    ck: bytes
    n: bytes
    record: bytes


class Account:
    """The keys of one made-up account; the same seed, the same account."""

    def __init__(self, name, seed):
        source = random.Random(f"account {name} {seed}")
        self.name, self.seed = name, seed
        self.id, self.amk, self.recovery = source.randbytes(16), source.randbytes(32), source.randbytes(32)
        self.salts, self.nonces = source.randbytes(32), source.randbytes(48)
        self.keys = cb.Keys(self.amk)
        self.wrap_start = b"\x01" + self.keys.kek_id

    def chance(self, part):
        return random.Random(f"{part} of {self.name} {self.seed}")

    def wrap(self, blob, nonce, entry, attachment, role=cb.ORIGINAL):
        """cloudblob.make_ref, fast."""
        aad = cb.wrap_aad(self.keys, blob.n, self.id, blob.record, entry + attachment + bytes([role]))
        box = seal(self.keys.kek, nonce, blob.ck, aad)
        return f"cb1.{blob.record.decode()}.{b64(blob.n)}.{b64(self.wrap_start + nonce + box)}"

    def write(self, folder, head):
        ops, mem = 3, 64 << 20
        secret = cb.stretch(PASSPHRASE, self.salts[:16], ops, mem)
        record = cb.key_record(2, secret, self.amk, self.id, 1, self.salts[:16], self.nonces[:24], ops, mem)
        recovery = cb.key_record(1, self.recovery, self.amk, self.id, 1, self.salts[16:], self.nonces[24:])
        (folder / "account.json").write_text(json.dumps({
            "name": self.name, "accountId": self.id.hex(), "epoch": 1,
            "kdf": {"kdf": "argon2id13", "ops": ops, "mem": str(mem), "salt": b64(self.salts[:16])},
            "authKeyHash": cb.blake2b(b"", cb.auth_key(secret, self.id), 32).hex(), "keyRecord": b64(record),
            "recoveryAuthKeyHash": cb.blake2b(b"", cb.auth_key(self.recovery, self.id), 32).hex(),
            "recoveryRecord": b64(recovery), "head": b64(head)}, indent=1) + "\n")


# What the made-up items are called

PLACES = "Lisbon Seoul Oslo Kyoto Napoli 부산 Genève Tallinn Porto Zürich Busan 東京 Malmö Split Cork".split()
WORDS = "trip receipts garden birthday meeting house car recipes winter tax school kitchen lecture concert".split()
KINDS = [  # extension, type, name, least and most bytes, how often
    ("jpg", "image/jpeg", "IMG_{:04d}", 900_000, 6_000_000, 52),
    ("heic", "image/heic", "IMG_{:04d}", 700_000, 3_000_000, 14),
    ("png", "image/png", "Screenshot {:d}", 90_000, 1_800_000, 8),
    ("mp4", "video/mp4", "VID_{:04d}", 4_000_000, 240_000_000, 5),
    ("pdf", "application/pdf", "{place} {:d}", 30_000, 4_000_000, 12),
    ("m4a", "audio/mp4", "Voice memo {:d}", 60_000, 5_000_000, 4),
    ("txt", "text/plain", "{word} {:d}", 10, 20_000, 5),
]
WEIGHTS = [kind[5] for kind in KINDS]


def name_and_type(chance):
    extension, kind, pattern, least, most, _ = chance.choices(KINDS, WEIGHTS)[0]
    name = pattern.format(chance.randrange(10000), place=chance.choice(PLACES), word=chance.choice(WORDS))
    # Sizes are spread as sizes are: many small ones, few large ones.
    size = int(least + (most - least) * chance.random() ** 3)
    return f"{name}.{extension}", kind, size


def moment(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


# Rows


def rows(account, count, start=0, stop=None, folder=None):
    """Yields the items start..<stop of an account with `count` attachments in all, each a Row.

    With a folder, its attachments are photos, and their sealed thumbnails are written to blobs/; in
    a `small` account they have none, and are written themselves.
    """
    items = -(-count // ATTACHMENTS)
    for number in range(start, items if stop is None else min(stop, items)):
        chance = account.chance(number)
        entry, nonce = chance.randbytes(16), chance.randbytes(24)
        created = 1_420_070_400 + chance.randrange(370_000_000)  # from 2015 to 2026
        attachments = []
        for _ in range(min(ATTACHMENTS, count - number * ATTACHMENTS)):
            fresh = chance.randbytes(112)
            attachment = fresh[:16]
            blob = Blob(fresh[16:48], fresh[48:72], b64(fresh[72:88]).encode())
            ref = account.wrap(blob, fresh[88:], entry, attachment)
            if folder and account.name == "small":
                name, kind, size, thumb = f"IMG_{chance.randrange(10000):04d}.jpg", "image/jpeg", 400, None
                write_blob(folder, blob, chance.randbytes(size))
            elif folder:
                name, kind, size = f"IMG_{chance.randrange(10000):04d}.jpg", "image/jpeg", chance.randrange(900_000, 6_000_000)
                thumb = thumbnail(account, folder, chance, entry, attachment)
            else:
                (name, kind, size), thumb = name_and_type(chance), None
            attachments.append(Attachment(attachment, name, kind, size, ref, thumb))
        title = f"{chance.choice(PLACES)}, {chance.choice(WORDS)} {number + 1}"
        modified = moment(created + chance.randrange(2_000_000))
        yield Row(entry, 1, 1, title, moment(created), modified, attachments, nonce)


def thumbnail(account, folder, chance, entry, attachment):
    """Seals 6 to 11 KB of noise as a thumbnail's blob; gives the member of the payload."""
    fresh = chance.randbytes(112)
    blob = Blob(fresh[:32], fresh[32:56], b64(fresh[56:72]).encode())
    data = chance.randbytes(chance.randrange(6_000, 11_001))
    write_blob(folder, blob, data)
    return {"type": "image/jpeg", "size": len(data),
            "ref": account.wrap(blob, fresh[72:96], entry, attachment, cb.THUMBNAIL)}


def write_blob(folder, blob, data):
    """Seals bytes of one chunk as a blob."""
    key, commit = cb.blob_keys(blob.ck, blob.n, blob.record)
    sealed = cb.HEADER8 + commit + seal(key, cb.chunk_nonce(blob.n, 0, True), data, b"")
    (folder / "blobs" / blob.record.decode()).write_bytes(sealed)


def payload(row):
    members = []
    for a in row.attachments:
        member = {"id": a.id.hex(), "name": a.name, "type": a.type, "size": a.size, "ref": a.ref}
        if a.thumb:
            member["thumb"] = a.thumb
        members.append(member)
    item = {"title": row.title, "created": row.created, "modified": row.modified, "attachments": members}
    return json.dumps(item, ensure_ascii=False, separators=(",", ":")).encode()


def sealed_entry(account, row):
    data = payload(row)
    body = struct.pack(">I", len(data)) + data
    body += bytes(-len(body) % 256)
    return row.nonce + seal(account.keys.meta, row.nonce, body, cb.entry_aad(account.id, 1, row.id, row.version, 0))


# Accounts


def push(work):
    """Makes the entries of one push, in a process of its own: their lines, how many, and the sum of their leaves."""
    account, count, number, folder = work
    lines, total = [], 0
    for row in sorted(rows(account, count, number * PUSH, (number + 1) * PUSH, folder), key=lambda row: row.id):
        sealed = sealed_entry(account, row)
        total += cb.leaf_hash(account.keys, row.id, 1, 1, 0, sealed)
        lines.append('{"id":"%s","version":"1","kind":0,"epoch":1,"seq":"%d","sealed":"%s"}\n' % (row.id.hex(), number + 1, b64(sealed)))
    return "".join(lines).encode(), len(lines), total


def make_many(account, count, folder, with_blobs):
    """Writes entries.jsonl push by push, and the last head."""
    items = -(-count // ATTACHMENTS)
    pushes = -(-items // PUSH)
    work = [(account, count, number, folder if with_blobs else None) for number in range(pushes)]
    head, digest, entries = b"", 0, 0
    with open(folder / "entries.jsonl", "wb") as out, multiprocessing.Pool() as pool:
        for number, (lines, made, total) in enumerate(pool.imap(push, work)):
            out.write(lines)
            entries, digest = entries + made, digest + total
            head = cb.make_head(account.keys, account.id, 1, number + 1, head, entries, cb.set_digest([digest]))
    return head


def make_large(account, size, folder):
    """One item, one attachment; its content is noise, and lies beside the account as `plain`."""
    chance = account.chance("large")
    entry, attachment, nonce = chance.randbytes(16), chance.randbytes(16), chance.randbytes(24)
    blob = Blob(chance.randbytes(32), chance.randbytes(24), b64(chance.randbytes(16)).encode())
    key, commit = cb.blob_keys(*blob)
    count, digest, seed = cb.chunk_count(size), hashlib.sha256(), chance.randbytes(24)
    with open(folder / "blobs" / blob.record.decode(), "wb") as out, open(folder / "plain", "wb") as plain:
        out.write(cb.HEADER8 + commit)
        for index in range(count):
            chunk = ctypes.create_string_buffer(min(cb.CHUNK, size - index * cb.CHUNK))
            sodium.randombytes_buf_deterministic(chunk, ctypes.c_size_t(len(chunk)), seed + struct.pack(">Q", index))
            plain.write(chunk.raw)
            digest.update(chunk.raw)
            out.write(seal(key, cb.chunk_nonce(blob.n, index, index == count - 1), chunk.raw, b""))
    ref = account.wrap(blob, chance.randbytes(24), entry, attachment)
    file = Attachment(attachment, "large.bin", "application/octet-stream", size, ref)
    row = Row(entry, 1, 1, "One large file", "2026-11-01T09:00:00Z", "2026-11-01T09:00:00Z", [file], nonce)
    sealed = sealed_entry(account, row)
    line = {"id": entry.hex(), "version": "1", "kind": 0, "epoch": 1, "seq": "1", "sealed": b64(sealed)}
    (folder / "entries.jsonl").write_text(json.dumps(line) + "\n")
    facts = {"id": attachment.hex(), "name": file.name, "type": file.type, "size": size,
             "sha256": digest.hexdigest(), "thumbSha256": None}
    leaf = cb.leaf_hash(account.keys, entry, 1, 1, 0, sealed)
    head = cb.make_head(account.keys, account.id, 1, 1, b"", 1, cb.set_digest([leaf]))
    return head, [{"id": entry.hex(), "title": row.title, "attachments": [facts]}]


def counts(kind, count):
    attachments = 1 if kind == "large" else count
    return {"items": -(-attachments // ATTACHMENTS), "attachments": attachments}


DEFAULT_COUNT = {"rows": 1_000_000, "photos": 10_000, "small": 300_000, "large": 1 << 30}


def make(kind, count, folder, seed=1):
    """Makes one account folder, unless it is there already; gives whether it made it."""
    wanted = {"maker": MAKER, "kind": kind, "count": count, "seed": seed}
    mark = folder / "made.json"
    if mark.exists() and json.loads(mark.read_text()) == wanted:
        return False
    part = folder.with_name(folder.name + ".part")  # what an interrupted run leaves is never taken for whole
    shutil.rmtree(part, ignore_errors=True)
    (part / "blobs").mkdir(parents=True)
    account, items = Account(kind, seed), None
    if kind == "large":
        head, items = make_large(account, count, part)
    else:
        head = make_many(account, count, part, kind != "rows")
    account.write(part, head)
    (part / "passphrase.txt").write_text(PASSPHRASE + "\n")
    plain = {"passphrase": PASSPHRASE, "recoveryKey": cb.recovery_text(account.recovery), "counts": counts(kind, count)}
    (part / "plain.json").write_text(json.dumps(plain | ({"items": items} if items else {}), indent=1) + "\n")
    (part / mark.name).write_text(json.dumps(wanted) + "\n")
    shutil.rmtree(folder, ignore_errors=True)
    part.rename(folder)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=list(DEFAULT_COUNT))
    parser.add_argument("--count", type=int, help="attachments; for large, bytes")
    parser.add_argument("--out", type=pathlib.Path, help="the account folder (.build/bench/KIND-COUNT unless given)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--check", action="store_true", help="open a sample with the reference implementation")
    args = parser.parse_args()
    count = args.count if args.count is not None else DEFAULT_COUNT[args.kind]
    if count < 1:
        parser.error("--count is at least 1")
    folder = args.out or root / ".build" / "bench" / f"{args.kind}-{count}"
    if folder.exists() and os.listdir(folder) and not (folder / "made.json").exists():
        parser.error(f"{folder} is not empty, and not a folder of this script")
    began = time.monotonic()
    made = make(args.kind, count, folder, args.seed)
    print(folder, f"made in {time.monotonic() - began:.1f} s" if made else "is there")
    if args.check:
        subprocess.run(["/usr/bin/python3", root / "Fixtures" / "account.py", folder, "check", "--sample", "50"], check=True)


if __name__ == "__main__":
    main()
