import Foundation
import Testing

@testable import MockServer

/// The reference implementation as a client: it shares no line with the server.
@Suite struct PythonClientTests {
    static let reference = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Fixtures/reference").path

    /// Creates an account, uploads, pushes, and reads all of it back with the passphrase alone.
    static let client = """
        import http.client, json, os, sys
        sys.dont_write_bytecode = True
        sys.path.insert(0, sys.argv[1])
        import cloudblob as cb

        host, secret = sys.argv[2], "correct horse battery staple"
        def call(method, path, body=None, token=None, headers={}):
            connection = http.client.HTTPConnection(host, timeout=60)
            if isinstance(body, dict):
                body = json.dumps(body).encode()
            headers = dict(headers, **({"Authorization": "Bearer " + token} if token else {}))
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            data = answer.read()
            is_json = "json" in (answer.headers.get("Content-Type") or "")
            return answer.status, answer.headers, json.loads(data) if is_json else data

        def expect(wanted, got):
            assert got[0] == wanted, (wanted, got)
            return got

        account, amk, salt, recovery = os.urandom(16), os.urandom(32), os.urandom(16), os.urandom(32)
        ops, mem = 3, 64 << 20
        stretched = cb.stretch(secret, salt, ops, mem)
        expect(201, call("POST", "/v1/accounts", {
            "name": "python", "accountId": account.hex(), "epoch": 1,
            "kdf": {"kdf": "argon2id13", "ops": ops, "mem": str(mem), "salt": cb.b64(salt)},
            "authKey": cb.b64(cb.auth_key(stretched, account)),
            "keyRecord": cb.b64(cb.key_record(2, stretched, amk, account, 1, salt, os.urandom(24), ops, mem)),
            "recoveryAuthKey": cb.b64(cb.auth_key(recovery, account)),
            "recoveryRecord": cb.b64(cb.key_record(1, recovery, amk, account, 1, os.urandom(16), os.urandom(24)))}))

        def login(kind, key):
            answer = expect(201, call("POST", "/v1/sessions", {
                "account": account.hex(), "authKey": cb.b64(cb.auth_key(key, account)),
                "device": "python", "with": kind}))[2]
            opened = cb.open_key_record(cb.unb64(answer["keyRecord"]), key, account, 1)
            assert opened == amk
            return answer["token"]

        token, keys = login("passphrase", stretched), cb.Keys(amk)
        login("recovery", recovery)

        def upload(data, entry, attachment, parts):
            ck, n, record = os.urandom(32), os.urandom(24), cb.b64(os.urandom(16)).encode()
            blob, name = cb.seal_blob(ck, n, record, data), record.decode()
            if parts == 1:
                expect(201, call("PUT", "/v1/blobs/" + name, blob, token, {"If-None-Match": "*"}))
            else:
                size = -(-len(blob) // parts)
                for start in range(0, len(blob), size):
                    status = 201 if start + size >= len(blob) else 204
                    expect(status, call("PATCH", "/v1/uploads/" + name, blob[start:start + size], token, {
                        "Content-Type": "application/offset+octet-stream",
                        "Upload-Offset": str(start), "Upload-Length": str(len(blob))}))
            head = expect(200, call("HEAD", "/v1/blobs/" + name, None, token))
            assert int(head[1]["Content-Length"]) == cb.sealed_length(len(data))
            return cb.make_ref(keys, ck, n, os.urandom(24), account, record, entry, attachment)

        files, sealed, hashes = {}, {}, {}
        for number, parts in enumerate([1, 3]):
            entry, attachment = os.urandom(16), os.urandom(16)
            data = os.urandom(200_000 * parts + number)
            files[entry.hex()] = data
            payload = {"title": "Item %d" % number, "attachments": [
                {"id": attachment.hex(), "name": "a.bin", "type": "application/octet-stream",
                 "size": len(data), "ref": upload(data, entry, attachment, parts)}]}
            box = cb.seal_entry(keys, os.urandom(24), json.dumps(payload).encode(), account, 1, entry, 1, 0)
            sealed[entry], hashes[entry] = box, cb.leaf_hash(keys, entry, 1, 1, 0, box)

        head = cb.make_head(keys, account, 1, 1, b"", len(sealed), cb.set_digest(list(hashes.values())))
        push = {"head": cb.b64(head), "entries": [
            {"id": e.hex(), "version": "1", "kind": 0, "epoch": 1, "sealed": cb.b64(s)} for e, s in sealed.items()]}
        for _ in range(2):
            assert expect(200, call("POST", "/v1/manifest", push, token))[2] == {"seq": "1"}
        wrong = cb.make_head(keys, account, 1, 1, b"", len(sealed), bytes(32))
        moved = expect(409, call("POST", "/v1/manifest", {"head": cb.b64(wrong), "entries": []}, token))[2]
        assert moved["code"] == "head-moved" and moved["head"] == cb.b64(head)

        # Another device: nothing but the passphrase.
        kdf = expect(200, call("GET", "/v1/accounts/python/kdf"))[2]
        assert bytes.fromhex(kdf["accountId"]) == account
        token = login("passphrase", cb.stretch(secret, cb.unb64(kdf["salt"]), kdf["ops"], int(kdf["mem"])))
        page = expect(200, call("GET", "/v1/manifest?after=0", None, token))[2]
        total = []
        for e in page["entries"]:
            entry, box = bytes.fromhex(e["id"]), cb.unb64(e["sealed"])
            item = json.loads(cb.open_entry(keys, box, account, e["epoch"], entry, int(e["version"]), e["kind"]))
            total.append(cb.leaf_hash(keys, entry, 1, 1, 0, box))
            for a in item["attachments"]:
                record, n, ck = cb.open_ref(keys, a["ref"], account, entry, bytes.fromhex(a["id"]))
                blob = expect(200, call("GET", "/v1/blobs/" + record.decode(), None, token))[2]
                assert cb.open_blob(ck, n, record, a["size"], blob) == files.pop(e["id"])
        cb.check_head(keys, cb.unb64(page["head"]), account, 1, len(total), cb.set_digest(total))
        assert not files

        # A new passphrase in the place of the old one.
        old = expect(200, call("GET", "/v1/keys", None, token))
        new_salt = os.urandom(16)
        new = cb.stretch("another", new_salt, ops, mem)
        records = [r for r in old[2]["records"] if cb.unb64(r["record"])[4] != 2]
        records.append({"epoch": 1, "record": cb.b64(cb.key_record(2, new, amk, account, 1, new_salt, os.urandom(24), ops, mem))})
        expect(204, call("PUT", "/v1/keys", {
            "records": records, "authKeys": {"passphrase": cb.b64(cb.auth_key(new, account))}},
            token, {"If-Match": old[1]["ETag"]}))
        login("passphrase", new)
        refused = call("POST", "/v1/sessions", {
            "account": account.hex(), "authKey": cb.b64(cb.auth_key(stretched, account)),
            "device": "python", "with": "passphrase"})
        assert refused[0] == 401 and refused[2]["code"] == "bad-credentials"
        print("all is well")
        """

    @Test(arguments: [false, true])
    func `the reference creates an account, uploads, pushes and reads it all back`(
        keepsData: Bool
    ) async throws {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("data-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let data = keepsData ? try DataFolder(folder.path) : nil
        let server = try Server(accounts: [], data: data)
        try server.start()
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
        process.arguments = ["-c", Self.client, Self.reference, "127.0.0.1:\(server.port)"]
        let out = Pipe()
        process.standardOutput = out
        process.standardError = out
        let ended = Watched(false)
        process.terminationHandler = { _ in ended.change { $0 = true } }
        try process.run()
        let text = try out.fileHandleForReading.readToEnd() ?? Data()
        try await ended.wait { $0 }
        #expect(String(decoding: text, as: UTF8.self) == "all is well\n")
    }
}
