#!/usr/bin/python3
"""Make the account of edges: python3 Fixtures/make-edge-account.py OUT

What no first device would upload, but what a reader meets: entries that lack an address, records that
are gone or changed, names that must not become paths. Built on reference/cloudblob.py alone, from a
fixed seed; the head fits, so all of it is authentic. plain.json has the shape that make_account.py
gives it, and more:
    items[].attachments[].expect        "here" if its bytes can be brought here, else the reason of
                                        its being unavailable; "leftOut" if it must not be listed
    items[].attachments[].expectThumb   the same for the thumbnail; null where there is none
    tombstones, unreadable              ids of entries that are no items
    counts                              what a restore reports
"""
import hashlib
import io
import json
import pathlib
import random
import sys

from PIL import Image

sys.path.insert(0, str(pathlib.Path(__file__).parent / "reference"))
import cloudblob as cb  # noqa: E402

PASSPHRASE = "correct horse battery staple"
EPOCH = 1


class Account:
    """An account folder in the making: entries sealed, blobs written, and what to expect of them."""

    def __init__(self, out, seed):
        self.fresh = random.Random(seed).randbytes
        self.blobs = out / "blobs"
        self.blobs.mkdir(parents=True)
        self.out, self.id, self.amk = out, self.fresh(16), self.fresh(32)
        self.keys = cb.Keys(self.amk)
        self.entries, self.items, self.tombstones, self.unreadable = [], [], [], []
        self.counts = {"items": 0, "attachments": 0, "addressesComplete": 0, "addressesMissing": 0, "unreadable": 0}

    def upload(self, data, entry, attachment, role=cb.ORIGINAL, damage=lambda blob: blob):
        """Seals a blob, writes it as `damage` leaves it (None: not at all), and gives its ref."""
        ck, n, record = self.fresh(32), self.fresh(24), cb.b64(self.fresh(16)).encode()
        blob = damage(cb.seal_blob(ck, n, record, data))
        if blob is not None:
            (self.blobs / record.decode()).write_bytes(blob)
        return cb.make_ref(self.keys, ck, n, self.fresh(24), self.id, record, entry, attachment, role)

    def add(self, seq, entry, payload, version=1, kind=0):
        sealed = cb.seal_entry(self.keys, self.fresh(24), payload, self.id, EPOCH, entry, version, kind)
        self.entries.append((seq, entry, version, kind, sealed))

    def item(self, seq, title, attachments, version=1, created="2026-11-05T08:30:00Z", **more):
        """Adds an item; `attachments` are functions from the item's id to (member, facts)."""
        entry = self.fresh(16)
        pairs = [make(entry) for make in attachments]
        payload = {"title": title, "created": created, "modified": "2026-11-06T10:00:00Z", **more}
        if pairs:
            payload["attachments"] = [member for member, _ in pairs]
        self.add(seq, entry, json.dumps(payload, ensure_ascii=False).encode(), version)
        facts = {"id": entry.hex(), "title": title, "attachments": [facts for _, facts in pairs]}
        if "text" in more:
            facts["text"] = more["text"]
        self.items.append(facts)
        self.counts["items"] += 1
        for member, fact in pairs:
            self.count(member, fact["expect"])

    def count(self, member, expect):
        """Counts an attachment as a restore does: a ref of null is neither complete nor missing."""
        if expect == "leftOut":
            return
        self.counts["attachments"] += 1
        if expect not in ("addressMissing", "addressInvalid"):
            self.counts["addressesComplete"] += 1
        elif member.get("ref", ABSENT) is not None:
            self.counts["addressesMissing"] += 1

    def tombstone(self, seq):
        entry = self.fresh(16)
        self.add(seq, entry, b'{"deleted":"2026-11-07T00:00:00Z"}', version=2, kind=1)
        self.tombstones.append(entry.hex())

    def broken(self, seq):
        """Adds an entry whose payload is not JSON, as a client with a fault would seal it."""
        entry = self.fresh(16)
        self.add(seq, entry, b"title: not JSON")
        self.unreadable.append(entry.hex())
        self.counts["unreadable"] += 1

    def attachment(self, name, data, kind="text/plain", expect="here", ref=None, thumb=None, expect_thumb=None, damage=None, **more):
        """Gives a function that makes one attachment of an item.

        `ref` and `thumb` change what stands in the payload: functions of the ref as it was made.
        """

        def make(entry):
            number = self.fresh(16)
            good = self.upload(data, entry, number, damage=damage or (lambda blob: blob))
            member = {"id": number.hex(), "name": name, "type": kind, "size": len(data), "ref": good, **more}
            if ref is not None:
                member["ref"] = ref(good)
            if member["ref"] is ABSENT:
                del member["ref"]
            small_sum = None
            if thumb is not None:
                member["thumb"], small = thumb(entry, number, member)
                small_sum = hashlib.sha256(small).hexdigest() if small else None
            return member, {"id": number.hex(), "name": name, "type": kind, "size": len(data),
                            "sha256": hashlib.sha256(data).hexdigest(), "thumbSha256": small_sum,
                            "expect": expect, "expectThumb": expect_thumb}

        return make

    def write(self):
        self.entries.sort(key=lambda e: (e[0], e[1]))
        head, hashes = b"", []
        for seq in sorted({e[0] for e in self.entries}):
            for _, entry, version, kind, sealed in (e for e in self.entries if e[0] == seq):
                hashes.append(cb.leaf_hash(self.keys, entry, EPOCH, version, kind, sealed))
            head = cb.make_head(self.keys, self.id, EPOCH, seq, head, len(hashes), cb.set_digest(hashes))
        salt, ops, mem = self.fresh(16), 3, 64 << 20
        secret, recovery = cb.stretch(PASSPHRASE, salt, ops, mem), self.fresh(32)
        record = cb.key_record(2, secret, self.amk, self.id, EPOCH, salt, self.fresh(24), ops, mem)
        recovery_record = cb.key_record(1, recovery, self.amk, self.id, EPOCH, self.fresh(16), self.fresh(24))
        write_json(self.out / "account.json", {
            "name": "edges", "accountId": self.id.hex(), "epoch": EPOCH,
            "kdf": {"kdf": "argon2id13", "ops": ops, "mem": str(mem), "salt": cb.b64(salt)},
            "authKeyHash": cb.blake2b(b"", cb.auth_key(secret, self.id), 32).hex(), "keyRecord": cb.b64(record),
            "recoveryAuthKeyHash": cb.blake2b(b"", cb.auth_key(recovery, self.id), 32).hex(),
            "recoveryRecord": cb.b64(recovery_record), "head": cb.b64(head)})
        with open(self.out / "entries.jsonl", "w") as lines:
            for seq, entry, version, kind, sealed in self.entries:
                lines.write(json.dumps({"id": entry.hex(), "version": str(version), "kind": kind, "epoch": EPOCH,
                                        "seq": str(seq), "sealed": cb.b64(sealed)}) + "\n")
        write_json(self.out / "plain.json", {
            "passphrase": PASSPHRASE, "recoveryKey": cb.recovery_text(recovery), "items": self.items,
            "tombstones": self.tombstones, "unreadable": self.unreadable,
            "counts": self.counts})


ABSENT = object()


def write_json(path, value):
    path.write_text(json.dumps(value, indent=1) + "\n")


def photo(colour, size=(480, 360)):
    """A small photo without a thumbnail of its own would be fetched whole: under 256 KiB."""
    picture = Image.linear_gradient("L").resize(size).convert("RGB")
    picture.paste(Image.new("RGB", (size[0] // 2, size[1] // 2), colour), (size[0] // 4, size[1] // 4))
    out = io.BytesIO()
    picture.save(out, "JPEG", quality=80)
    return out.getvalue()


def bytes_of(name, length):
    return hashlib.shake_128(name.encode()).digest(length)


def flip(blob, index):
    return blob[:index] + bytes([blob[index] ^ 1]) + blob[index + 1 :]


def make(out):
    account = Account(out, seed=2)
    file = account.attachment

    def own_thumbnail(entry, number, member):
        small = photo("#e63946", (120, 90))
        return {"type": "image/jpeg", "size": len(small), "ref": account.upload(small, entry, number, cb.THUMBNAIL)}, small

    def thumbnail_with_the_original_s_ref(entry, number, member):
        return {"type": "image/jpeg", "size": member["size"], "ref": member["ref"]}, None

    # Items without attachments, and one that changed twice.
    account.item(1, "Only words", [], text="No attachment at all.\n첫 줄과 둘째 줄.")
    account.item(3, "Changed twice", [file("kept.txt", b"kept")], version=3)

    # Addresses that are not whole.
    account.item(1, "One of two has no address", [
        file("with.txt", b"this one has an address"),
        file("without.txt", b"this one has none", expect="addressMissing", ref=lambda _: ABSENT)])
    account.item(1, "Its address was taken away", [
        file("gone.txt", b"the ref is null", expect="addressMissing", ref=lambda _: None)])
    account.item(1, "Addresses that do not hold", [
        file("cut.txt", b"a ref cut in two", expect="addressInvalid", ref=lambda ref: ref[: len(ref) // 2]),
        file("flipped.txt", b"a key that does not unwrap", expect="addressInvalid",
             ref=lambda ref: ref[:-20] + ("A" if ref[-20] != "A" else "B") + ref[-19:])])

    # Photos: small and without a thumbnail, with one, and with a thumbnail that points at the original.
    account.item(2, "Photos", [
        file("no thumbnail.jpg", photo("#2a9d8f"), "image/jpeg"),
        file("thumbnail.jpg", photo("#e63946"), "image/jpeg", thumb=own_thumbnail, expect_thumb="here"),
        file("misled.jpg", photo("#ffb703"), "image/jpeg", thumb=thumbnail_with_the_original_s_ref, expect_thumb="addressInvalid")])

    # Records at the store that are gone, changed or cut; each has more than one chunk.
    chunk = cb.CHUNK + cb.TAG
    account.item(2, "Records that are not right", [
        file("no record.bin", bytes_of("no record", 70000), "application/octet-stream", "notFound", damage=lambda blob: None),
        file("flipped.bin", bytes_of("flipped", 70000), "application/octet-stream", "corrupt", damage=lambda blob: flip(blob, 40 + chunk + 9)),
        file("cut.bin", bytes_of("cut", 140000), "application/octet-stream", "wrongSize", damage=lambda blob: blob[: 40 + chunk])])

    # Names that are shown escaped and never become paths.
    account.item(2, "Names \u001b[31mthat\u001b[0m are\nnot paths\u0007", [
        file("../../etc/passwd", b"dots and slashes"), file("/absolute", b"a slash first"), file("..", b"dots alone"),
        file("two\nlines\r\tand a tab", b"control characters"), file("\u001b]0;title\u0007\u001b[2Jescape", b"escape codes"),
        file("nul\u0000byte.txt", b"a zero byte"), file("right\u202eto left.txt", b"a bidi override"),
        file("e\u0301.txt", b"decomposed"), file("\u00e9.txt", b"composed"), file("n" * 1024, b"the longest name")])
    account.item(2, "🎈" * 300, [file("🎈" * 255 + ".txt", b"255 emoji and four letters")])

    # Limits: an attachment without a name is left out alone.
    account.item(2, "One is left out", [file("stays.txt", b"stays"), file("", b"no name", expect="leftOut")])

    # Members that nobody knows yet must survive an edit.
    account.item(3, "From a newer client", [file("known.txt", b"known", colour="#ff8800", nested={"a": [1, None, True]})],
                 mood="sunny", pinnedBy=["a", {"b": "12345678901234567890"}])

    # Times are for people, and may be anything.
    account.item(3, "No valid time", [file("when.txt", b"when?")], created="the day before yesterday")
    account.item(3, "Another time zone", [file("zone.txt", b"zone")], created="2026-11-05T08:29:59.5+09:00")

    # Entries that are no items: a tombstone, and one whose payload is not JSON.
    account.tombstone(3)
    account.broken(3)
    account.write()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: make-edge-account.py OUT")
    make(pathlib.Path(sys.argv[1]))
