"""The cases of scripts/bench that bring bytes: whole blobs, parts of them, thumbnails, and what is here."""
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import tempfile
import time

from bench_kit import RESTORE, Home, Nginx, Reckoned, Run, Server, binaries, compare, make, scaled

PART = 64 << 10


def large_account(size):
    """An account of one large blob: its folder, the attachment's id, and the record."""
    folder = make("large", size)
    attachment = json.loads((folder / "plain.json").read_text())["items"][0]["attachments"][0]["id"]
    return folder, attachment, next(blob.name for blob in (folder / "blobs").iterdir() if blob.name != "age")


def seal_for_age(folder):
    """Has age seal the same bytes, beside the blobs; gives the identity that opens them."""
    sealed, identity = folder / "plain.age", folder / "age.key"
    if not sealed.exists():
        subprocess.run(["age-keygen", "-o", identity], check=True, stderr=subprocess.DEVNULL)
        public = re.search(r"age1\w+", identity.read_text())[0]
        subprocess.run(["age", "-r", public, "-o", sealed, folder / "plain"], check=True)
        os.link(sealed, folder / "blobs" / "age")
    return identity


def rclone_environment(remote):
    """What makes `sealed:` a crypt remote over `remote`, without a configuration file."""
    password = subprocess.run(["rclone", "obscure", "bench"], check=True, capture_output=True, text=True).stdout.strip()
    settings = {"SEALED_TYPE": "crypt", "SEALED_REMOTE": remote, "SEALED_PASSWORD": password,
                "SEALED_FILENAME_ENCRYPTION": "off", "SEALED_DIRECTORY_NAME_ENCRYPTION": "false"}
    return {"RCLONE_CONFIG": "/dev/null"} | {f"RCLONE_CONFIG_{name}": value for name, value in settings.items()}


def seal_for_rclone(folder):
    """Has rclone seal the same bytes in a folder that a web server can show; gives that folder."""
    place = folder / "rclone"
    if not (place / "large.bin").exists():
        shutil.rmtree(place, ignore_errors=True)
        part = folder / "rclone.part"
        shutil.rmtree(part, ignore_errors=True)
        subprocess.run(["rclone", "copyto", folder / "plain", "sealed:large"], check=True,
                       env=os.environ | rclone_environment(str(part)))
        part.rename(place)
    return place


class WebDAV(Nginx):
    """nginx that shows a folder over WebDAV, and what has rclone use it."""

    def __init__(self, folder, more=""):
        super().__init__(f"root {folder}; dav_methods PUT MKCOL; dav_ext_methods PROPFIND OPTIONS; {more}", modules=["ngx_http_dav_ext_module"])

    @property
    def environment(self):
        return rclone_environment("dav:") | {
            "RCLONE_CONFIG_DAV_TYPE": "webdav", "RCLONE_CONFIG_DAV_URL": self.url, "RCLONE_CONFIG_DAV_VENDOR": "other"}


def large(options, scratch):
    size = scaled(options, 1 << 30)
    folder, attachment, record = large_account(size)
    identity, sealed = seal_for_age(folder), seal_for_rclone(folder)
    with Server(folder) as server, WebDAV(sealed) as dav:
        token, environment = server.token(folder), dav.environment
        base = Home(scratch, server, folder, RESTORE)
        address = f"{server.url}/v1/blobs/"

        def ours():
            base.forget_bytes()
            return base.run("open", attachment)

        def curl():
            with tempfile.TemporaryDirectory(dir=scratch) as place:
                return Run(["curl", "-s", "-o", f"{place}/out", "-H", f"Authorization: Bearer {token}", address + record])

        def age():
            with tempfile.TemporaryDirectory(dir=scratch) as place:
                return Run(f"curl -s -H 'Authorization: Bearer {token}' {address}age | age -d -i {identity} -o {place}/out", shell=True)

        def rclone():
            with tempfile.TemporaryDirectory(dir=scratch) as place:
                return Run(["rclone", "copyto", "sealed:large", f"{place}/out"], environment=environment)

        what = f"open {size / (1 << 30):g} GiB"
        compare(f"{what}, against curl -o", ours, curl, options.runs, "1.1", "memory: at most 40")
        compare(f"{what}, against curl | age -d", ours, age, options.runs, "0.8")
        compare(f"{what}, against rclone copyto", ours, rclone, options.runs, "0.8")
        compare(f"{what}, CPU, against curl | age -d", ours, age, options.runs, "0.6", of="cpu")


def ranged(options, scratch):
    size = scaled(options, 4 << 30)
    folder, attachment, _ = large_account(size)
    sealed, chance = seal_for_rclone(folder), random.Random(1)
    log = pathlib.Path(scratch) / "requests.log"
    with Server(folder, words=["--log", log]) as server, WebDAV(sealed) as dav:
        environment, costs = dav.environment, []
        base = Home(scratch, server, folder, RESTORE)
        place = 0

        def ours():
            nonlocal place
            place = chance.randrange(size - PART)
            base.forget_bytes()
            seen = len(log.read_text().splitlines()) if log.exists() else 0
            run = base.run("open", attachment, "--range", f"{place}-{place + PART - 1}")
            time.sleep(0.2)  # a request is logged when its connection has ended, too
            requests = [json.loads(line) for line in log.read_text().splitlines()[seen:]]
            costs.append((len(requests), sum(request["bytesSent"] for request in requests)))
            return run

        def rclone():
            return Run(["rclone", "cat", "--offset", str(place), "--count", str(PART), "sealed:large"], environment=environment)

        compare(f"64 KiB of {size / (1 << 30):g} GiB, against rclone cat", ours, rclone, 5 * options.runs, "0.25",
                lambda: f"at most {max(cost[0] for cost in costs)} requests of 2, {max(cost[1] for cost in costs) / 1024:.0f} KiB of 256")


def delayed(options, scratch):
    # What the delay and the streams alone need: nginx lets 128 requests at a time come over a
    # connection (http2_max_concurrent_streams), each takes the delay, and nothing else any time:
    # count / 128 * delay.
    count, delay, streams = scaled(options, 10_000), 0.05, 128
    folder = make("photos", count)
    faults = pathlib.Path(scratch) / "faults.json"
    faults.write_text(json.dumps([{"method": "GET", "path": "/v1/blobs/", "delay": delay}]))
    with Server(folder, words=["--faults", faults]) as server, Nginx(
            "location / { proxy_pass http://behind; proxy_http_version 1.1; proxy_set_header Connection ''; proxy_set_header Host $http_host; }",
            secure=True, http=f"upstream behind {{ server {server.url.removeprefix('http://')}; keepalive 512; }}") as front:
        def ours():
            return Home(scratch, front, folder, RESTORE).run("restore")

        compare(f"{count:,} thumbnails, 50 ms of delay", ours, lambda: Reckoned(count / streams * delay), options.runs, "1.5",
                "the peer is reckoned: thumbnails / 128 streams * delay")


def cached(options, scratch):
    """Small photos without thumbnails: a restore brings each whole, and it is here."""
    count = scaled(options, 300_000)
    few = min(300, count)
    homes = []
    for number in (count, few):
        folder = make("small", number)
        with Server(folder) as server:
            # Each takes three blocks of the disk: the usual limit would keep 174,762 of them.
            homes.append(Home(scratch, server, folder, ("cache", "--limit", "8G"), ("restore",)))
    ids = [[json.loads(line)["id"] for line in home.read("list", "--json", "--limit", "100", "--state", "here").splitlines()] for home in homes]
    cold, chance = drop_caches(), random.Random(1)

    def run(side):
        drop_caches()
        return homes[side].run("open", chance.choice(ids[side]))

    with tempfile.NamedTemporaryFile("r") as trace:
        words = [binaries / "sync", "open", ids[0][0], "--home", homes[0].path, "--quiet"]
        subprocess.run(["strace", "-f", "-qq", "-e", "trace=%file", "-e", "signal=none", "-o", trace.name, *words], check=True, stdout=subprocess.DEVNULL)
        # What is asked of an open file names no path.
        calls = sum("resumed>" not in line and "AT_EMPTY_PATH" not in line for line in trace)
    note = f"{calls} system calls of 60 name a path" + ("" if cold else "; the page cache is warm: dropping it takes root")
    compare(f"open one of {count:,} that are here, against {few:,}", lambda: run(0), lambda: run(1), 5 * options.runs, "1.2", note)


def drop_caches():
    """Forgets what the system keeps of files, where that is allowed; tells whether it was."""
    os.sync()
    try:
        pathlib.Path("/proc/sys/vm/drop_caches").write_text("3\n")
    except OSError:
        return False
    return True
