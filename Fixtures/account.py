#!/usr/bin/python3
"""Look into an account folder with reference/cloudblob.py alone: python3 Fixtures/account.py DIR WHAT

    check [--sample N]   against its plain.json: logs in, checks the head over all entries, opens every
                         entry, unwraps every ref and opens every blob; or only N entries, drawn by
                         chance, and those of their blobs that are there (for large made-up accounts)
    name, passphrase     to log in with
    choose               three lines: ids of a photo, a document and one more attachment, or empty lines
    sha256 ID            of an attachment's content
    record ID            the name of an attachment's record at the store
"""
import argparse
import hashlib
import json
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "reference"))
import cloudblob as cb  # noqa: E402


def expect(what, found, wanted):
    if found != wanted:
        sys.exit(f"account: {what}: {found!r}, not {wanted!r}")


def open_account(folder, passphrase):
    facts = json.loads((folder / "account.json").read_text())
    account, kdf = bytes.fromhex(facts["accountId"]), facts["kdf"]
    secret = cb.stretch(passphrase, cb.unb64(kdf["salt"]), kdf["ops"], int(kdf["mem"]))
    expect("authKeyHash", cb.blake2b(b"", cb.auth_key(secret, account), 32).hex(), facts["authKeyHash"])
    amk = cb.open_key_record(cb.unb64(facts["keyRecord"]), secret, account, facts["epoch"])
    return facts, account, cb.Keys(amk), amk


def state(keys, account, entry, attachment, member, role, folder, whole):
    """What opening gives: ("here", SHA-256), or (the reason, None); ("here", None) if the blob is not looked for."""
    if member.get("ref") is None:
        return "addressMissing", None
    try:
        record, n, ck = cb.open_ref(keys, member["ref"], account, entry, attachment, role)
    except (cb.FormatError, TypeError):
        return "addressInvalid", None
    path = folder / "blobs" / record.decode()
    if not path.exists():
        return ("notFound" if whole else "here"), None
    if path.stat().st_size != cb.sealed_length(member["size"]):
        return "wrongSize", None
    if not whole and path.stat().st_size > 64 << 20:
        return "here", None
    try:
        data = cb.open_blob(ck, n, record, member["size"], path.read_bytes())
    except cb.FormatError:
        return "corrupt", None
    return "here", hashlib.sha256(data).hexdigest()


def check_attachment(keys, account, entry, member, facts, folder, whole):
    number = bytes.fromhex(member["id"])
    for key in ("id", "name", "type", "size"):
        expect(f"{key} of {member['id']}", member[key], facts[key])
    if facts.get("expect") == "leftOut":
        return 0
    found, digest = state(keys, account, entry, number, member, cb.ORIGINAL, folder, whole)
    expect(f"state of {member['name']!r}", found, facts.get("expect", "here"))
    if digest and facts["sha256"]:
        expect(f"SHA-256 of {member['name']!r}", digest, facts["sha256"])
    thumb = member.get("thumb")
    wanted = facts.get("expectThumb", "here" if facts["thumbSha256"] else None)
    if thumb is None:
        expect(f"thumbnail of {member['name']!r}", None, wanted)
        return 1
    found, digest = state(keys, account, entry, number, thumb, cb.THUMBNAIL, folder, whole)
    expect(f"state of the thumbnail of {member['name']!r}", found, wanted)
    if digest and facts["thumbSha256"]:
        expect(f"SHA-256 of the thumbnail of {member['name']!r}", digest, facts["thumbSha256"])
    return 2


def check(folder, plain, sample):
    facts, account, keys, amk = open_account(folder, plain["passphrase"])
    recovery = cb.open_key_record(cb.unb64(facts["recoveryRecord"]), cb.recovery_key(plain["recoveryKey"]), account, 1)
    expect("the key under the recovery key", recovery, amk)

    hashes, entries = [], []
    with open(folder / "entries.jsonl") as lines:
        for line in lines:
            row = json.loads(line)
            entry, sealed, version = bytes.fromhex(row["id"]), cb.unb64(row["sealed"]), int(row["version"])
            hashes.append(cb.leaf_hash(keys, entry, row["epoch"], version, row["kind"], sealed))
            entries.append((int(row["seq"]), entry, version, row["kind"], sealed if sample is None else line))
    cb.check_head(keys, cb.unb64(facts["head"]), account, facts["epoch"], len(entries), cb.set_digest(hashes))
    expect("order by (seq, id)", [e[:2] for e in entries], sorted(e[:2] for e in entries))

    whole = sample is None
    if not whole:
        drawn = random.sample(entries, min(sample, len(entries)))
        entries = [(*e[:4], cb.unb64(json.loads(e[4])["sealed"])) for e in drawn]
    items = {item["id"]: item for item in plain.get("items", [])}
    opened = 0
    for _, entry, version, kind, sealed in entries:
        payload = cb.open_entry(keys, sealed, account, 1, entry, version, kind)
        if kind == 1:
            expect("a tombstone", entry.hex() in plain.get("tombstones", []), True)
            continue
        if entry.hex() in plain.get("unreadable", []):
            continue
        item = json.loads(payload)
        known = items.pop(entry.hex(), None)
        if whole and known is None:
            sys.exit(f"account: {entry.hex()} is not in plain.json")
        if known:
            expect("title", item["title"], known["title"])
            expect("text", item.get("text"), known.get("text"))
        for index, member in enumerate(item.get("attachments", [])):
            of_file = known["attachments"][index] if known else {**member, "sha256": None, "thumbSha256": None}
            if not known:
                of_file["expectThumb"] = "here" if "thumb" in member else None
            opened += check_attachment(keys, account, entry, member, of_file, folder, whole)
    if whole:
        expect("items of plain.json that are not in the account", list(items), [])
    print(f"{folder}: the head fits {len(hashes)} entries; opened {len(entries)} entries and {opened} addresses")


def attachments(plain):
    return [attachment for item in plain["items"] for attachment in item["attachments"]]


def choose(plain):
    """Ids of a photo, a document and something else, each only once; none of them empty."""
    left = [file for file in attachments(plain) if file["size"] > 0]

    def take(*kinds):
        for kind in kinds:
            for file in left:
                if file["type"].startswith(kind):
                    left.remove(file)
                    return file["id"]
        return ""

    return take("image/"), take("application/pdf", "text/", "application/"), take("audio/", "")


def record(folder, plain, wanted):
    """The record's name stands in the ref, and the ref in the sealed entry."""
    _, account, keys, _ = open_account(folder, plain["passphrase"])
    item = next(item["id"] for item in plain["items"] if wanted in [a["id"] for a in item["attachments"]])
    with open(folder / "entries.jsonl") as lines:
        row = next(row for row in map(json.loads, lines) if row["id"] == item)
    payload = cb.open_entry(keys, cb.unb64(row["sealed"]), account, row["epoch"], bytes.fromhex(item), int(row["version"]), row["kind"])
    return next(a["ref"].split(".")[1] for a in json.loads(payload)["attachments"] if a["id"] == wanted)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("what", choices=["check", "name", "passphrase", "choose", "sha256", "record"])
    parser.add_argument("id", nargs="?")
    parser.add_argument("--sample", type=int)
    args = parser.parse_args()
    plain = json.loads((args.folder / "plain.json").read_text())
    match args.what:
        case "check":
            check(args.folder, plain, args.sample)
        case "name":
            print(json.loads((args.folder / "account.json").read_text())["name"])
        case "passphrase":
            print(plain["passphrase"])
        case "choose":
            print(*choose(plain), sep="\n")
        case "sha256":
            print(next(file["sha256"] for file in attachments(plain) if file["id"] == args.id))
        case "record":
            print(record(args.folder, plain, args.id))


main()
