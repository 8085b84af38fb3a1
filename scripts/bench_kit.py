"""What the cases of scripts/bench have in common: runs that are measured, servers, and homes."""
import importlib.util
import json
import os
import pathlib
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

root = pathlib.Path(__file__).resolve().parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(root / "Fixtures" / "reference"))
import cloudblob as cb  # noqa: E402

data = root / ".build" / "bench"
binaries = root / ".build" / "release"


class Run:
    """One finished process: its wall seconds, the CPU seconds of it and its children, and its peak
    memory in bytes if `weighs` says so."""

    # A child's peak counts what its parent had when it was made, so a small program stands between.
    weighs = False

    def __init__(self, command, shell=False, environment=None):
        with tempfile.NamedTemporaryFile("r") as peak:
            if Run.weighs and not shell:
                command = ["/usr/bin/time", "-f", "%M", "-o", peak.name, *command]
            before, start = cpu_of_children(), time.monotonic()
            process = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, shell=shell,
                                     env=os.environ | (environment or {}))
            self.wall, self.cpu = time.monotonic() - start, cpu_of_children() - before
            self.memory = int(peak.read() or 0) * 1024
        if process.returncode:
            sys.exit(f"bench: {command} exited {process.returncode}: {process.stderr.decode()[-400:]}")


class Runs:
    """Runs that were one after another, counted as one."""

    def __init__(self, *runs):
        self.wall, self.cpu = sum(run.wall for run in runs), sum(run.cpu for run in runs)
        self.memory = max(run.memory for run in runs)


class Reckoned:
    """In the place of a run: a time that was reckoned instead of measured."""

    def __init__(self, seconds):
        self.wall = seconds


def cpu_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def compare(what, ours, peer, runs, reach, note="", of="wall"):
    """Runs both in turn and prints a row; each prepares what is not measured and returns a Run.

    The note may be a function, which is asked when all have run.
    """
    Run.weighs = True
    memory = ours().memory
    Run.weighs = False
    peer()
    pairs = [(getattr(ours(), of), getattr(peer(), of)) for _ in range(runs)]
    mine, theirs = (statistics.median(side) for side in zip(*pairs))
    ratio = statistics.median(a / b for a, b in pairs)
    note = note() if callable(note) else note
    print(f"{what:44} {mine * 1e3:10.1f} {theirs * 1e3:10.1f} {ratio:7.2f} {reach:>7} {memory / 1e6:8.0f}  {note}", flush=True)


def maker():
    """scripts/bench-data.py as a module."""
    spec = importlib.util.spec_from_file_location("bench_data", root / "scripts" / "bench-data.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["bench_data"] = module
    spec.loader.exec_module(module)
    return module


# What a run leaves is removed when its case is over: where files were just removed, a file system
# makes new ones more slowly.


def make(kind, count):
    folder = data / f"{kind}-{count}"
    if not (folder / "made.json").exists():
        subprocess.run([root / "scripts" / "bench-data.py", kind, "--count", str(count), "--out", folder], check=True)
    return folder


class Server:
    """mock-server on account folders; more words go to it."""

    authority = None

    def __init__(self, *folders, words=()):
        self.words = [binaries / "mock-server", *words]
        for folder in folders:
            self.words += ["--account", folder]

    def __enter__(self):
        self.process = subprocess.Popen(self.words, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line.startswith("listening on "):
            sys.exit("bench: the test server did not start")
        self.url = line.split()[-1]
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def token(self, folder):
        """Logs in as any client could, with the reference implementation."""
        facts = json.loads((folder / "account.json").read_text())
        secret = cb.stretch(passphrase(folder), cb.unb64(facts["kdf"]["salt"]), facts["kdf"]["ops"], int(facts["kdf"]["mem"]))
        body = {"account": facts["name"], "authKey": cb.b64(cb.auth_key(secret, bytes.fromhex(facts["accountId"]))),
                "device": "bench", "with": "passphrase"}
        request = urllib.request.Request(self.url + "/v1/sessions", json.dumps(body).encode(), {"Content-Type": "application/json"})
        return json.load(urllib.request.urlopen(request))["token"]


class Nginx:
    """nginx with the given text in its `server` block; `secure` is HTTP/2 over TLS with an authority of our own."""

    def __init__(self, text, secure=False, http="", modules=()):
        self.text, self.secure, self.http, self.modules = text, secure, http, modules

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        place = pathlib.Path(self.folder.name)
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        listen = f"listen 127.0.0.1:{port};"
        if self.secure:
            self.authority = certificates(place)
            listen = f"listen 127.0.0.1:{port} ssl http2; ssl_certificate server.pem; ssl_certificate_key server.key;"
        temporary = " ".join(f"{kind}_temp_path {kind};" for kind in "client_body proxy fastcgi uwsgi scgi".split())
        (place / "conf").write_text(
            "".join(f"load_module /usr/lib/nginx/modules/{name}.so;" for name in self.modules)
            + f"daemon off; master_process off; pid pid; error_log errors;"
            f"events {{ worker_connections 4096; }} http {{ access_log off; sendfile on; {temporary} {self.http}"
            f" server {{ {listen} {self.text} }} }}")
        self.process = subprocess.Popen(["/usr/sbin/nginx", "-p", place, "-c", "conf", "-e", "errors"])
        self.url = f"http{'s' if self.secure else ''}://127.0.0.1:{port}"
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return self
            time.sleep(0.02)
        sys.exit(f"bench: nginx did not start: {(place / 'errors').read_text()}")

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()


def certificates(place):
    """Makes an authority and a server's certificate; gives the authority's file."""
    def openssl(words):
        subprocess.run(["openssl", *words.split()], cwd=place, check=True, capture_output=True)
    (place / "names").write_text("subjectAltName=IP:127.0.0.1\n")
    key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
    openssl(f"req -x509 {key} -days 2 -subj /CN=bench -keyout ca.key -out ca.pem")
    openssl(f"req {key} -subj /CN=server -keyout server.key -out server.csr")
    openssl("x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out server.pem")
    return place / "ca.pem"


def passphrase(folder):
    return (folder / "passphrase.txt").read_text().rstrip("\n")


class Home:
    """A device's home: logged in, and restored if asked, before anything is measured."""

    def __init__(self, scratch, server, folder, *verbs):
        self.path = pathlib.Path(tempfile.mkdtemp(dir=scratch))
        name = json.loads((folder / "account.json").read_text())["name"]
        trust = ["--ca-file", server.authority] if server.authority else []
        self.run("login", "--server", server.url, "--account", name, "--passphrase-file", folder / "passphrase.txt", "--key-store", "file", *trust)
        for verb in verbs:
            self.run(*verb)

    def run(self, *words):
        return Run([binaries / "sync", *words, "--home", self.path, "--quiet"])

    def read(self, *words):
        """What a command prints."""
        return subprocess.run([binaries / "sync", *words, "--home", self.path], check=True, capture_output=True, text=True).stdout

    def forget_bytes(self):
        shutil.rmtree(self.path / "cache", ignore_errors=True)

    @property
    def catalog(self):
        return next(self.path.glob("data/lazysync/*/catalog.sqlite"))


RESTORE = ("restore", "--no-thumbnails")


def scaled(options, count):
    """A size or a count that goes with --count, so that a trial takes seconds."""
    return max(1, count * options.count // 1_000_000)
