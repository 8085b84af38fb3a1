"""Reads an account over HTTP with nothing of the product: the server's address, its name, the passphrase.

    echo PASSPHRASE | read_account.py HOST:PORT NAME
Prints what it holds as JSON. Ends with a traceback if anything does not add up: a key record, an entry,
an address, a blob, the head, or a blob that the store has and no entry names.
"""
import hashlib
import http.client
import json
import struct
import sys
import urllib.parse

sys.dont_write_bytecode = True
import cloudblob as cb

WORDS = ["title", "text", "created", "modified"]


class Server:
    def __init__(self, host):
        self.connection = http.client.HTTPConnection(host, timeout=120)
        self.token = None

    def call(self, method, path, body=None, accepts=200):
        headers = {"Authorization": "Bearer " + self.token} if self.token else {}
        if body is not None:
            headers["Content-Type"] = "application/json"
            body = json.dumps(body)
        self.connection.request(method, path, body, headers)
        answer = self.connection.getresponse()
        data = answer.read()
        assert answer.status == accepts, (method, path, answer.status, data[:200])
        return data

    def json(self, *arguments, **options):
        return json.loads(self.call(*arguments, **options))


def log_in(server, name, passphrase):
    kdf = server.json("GET", "/v1/accounts/%s/kdf" % urllib.parse.quote(name))
    account, salt, ops, mem = bytes.fromhex(kdf["accountId"]), cb.unb64(kdf["salt"]), kdf["ops"], int(kdf["mem"])
    secret = cb.stretch(passphrase, salt, ops, mem)
    key = cb.b64(cb.auth_key(secret, account))
    asked = {"account": account.hex(), "authKey": key, "device": "the reference", "with": "passphrase"}
    session = server.json("POST", "/v1/sessions", asked, accepts=201)
    server.token = session["token"]
    record = cb.unb64(session["keyRecord"])
    assert record[:34] == b"KWR1" + bytes([2, 2]) + struct.pack(">IQ", ops, mem) + salt
    assert session["epoch"] == 1 and bytes.fromhex(session["accountId"]) == account
    return account, cb.Keys(cb.open_key_record(record, secret, account, 1))


def read_blob(server, keys, account, entry, attachment, role, size, ref):
    """Answers the record's name and the content."""
    record, n, ck = cb.open_ref(keys, ref, account, entry, attachment, role)
    blob = server.call("GET", "/v1/blobs/" + record.decode())
    return record.decode(), cb.open_blob(ck, n, record, size, blob)


def read(host, name, passphrase):
    server = Server(host)
    account, keys = log_in(server, name, passphrase)
    entries, token = [], None
    while True:
        page = server.json("GET", "/v1/manifest?after=0&limit=7" + ("&page=" + token if token else ""))
        entries += page["entries"]
        token = page.get("next")
        if not token:
            break
    # An entry that changes meanwhile comes again, so the newest version counts.
    newest = {}
    for e in entries:
        if int(e["version"]) > int(newest.get(e["id"], e)["version"]) or e["id"] not in newest:
            newest[e["id"]] = e
    hashes, items, tombstones, names = [], [], [], []
    for e in newest.values():
        entry, version, sealed = bytes.fromhex(e["id"]), int(e["version"]), cb.unb64(e["sealed"])
        hashes.append(cb.leaf_hash(keys, entry, e["epoch"], version, e["kind"], sealed))
        payload = json.loads(cb.open_entry(keys, sealed, account, e["epoch"], entry, version, e["kind"]))
        if e["kind"] == 1:
            tombstones.append({"id": e["id"], "version": version, "deleted": payload["deleted"]})
            continue
        item = dict({word: payload.get(word) for word in WORDS}, id=e["id"], version=version, files=[])
        item["beyond"] = {key: value for key, value in payload.items() if key not in WORDS + ["attachments"]}
        for a in payload["attachments"]:
            attachment, thumb = bytes.fromhex(a["id"]), a.get("thumb")
            record, content = read_blob(server, keys, account, entry, attachment, cb.ORIGINAL, a["size"], a["ref"])
            names.append(record)
            file = {"id": a["id"], "name": a["name"], "type": a["type"], "size": a["size"], "record": record}
            file["sha256"] = hashlib.sha256(content).hexdigest()
            if thumb:
                record, content = read_blob(
                    server, keys, account, entry, attachment, cb.THUMBNAIL, thumb["size"], thumb["ref"])
                names.append(record)
                file["thumbSHA256"] = hashlib.sha256(content).hexdigest()
            item["files"].append(file)
        items.append(item)
    head = cb.unb64(page["head"])
    cb.check_head(keys, head, account, 1, len(hashes), cb.set_digest(hashes))
    seq, prev, count = struct.unpack(">Q32sQ", head[24:72])
    stored, after = [], ""
    while True:
        listed = server.json("GET", "/v1/blobs?limit=5&after=" + after)
        stored += [blob["name"] for blob in listed["blobs"]]
        after = listed.get("next")
        if not after:
            break
    return {
        "head": {"seq": seq, "count": count, "prev": prev.hex(), "hash": cb.blake2b(b"", head, 32).hex()},
        "items": items, "tombstones": tombstones, "unnamed": sorted(set(stored) - set(names)),
    }


if __name__ == "__main__":
    words = sys.stdin.readline().rstrip("\n")
    json.dump(read(sys.argv[1], sys.argv[2], words), sys.stdout, indent=1)
