"""llama.cpp's server, and Interline in a clean home."""

import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "benches/run"))

from client import Client  # noqa: E402: it lies with the benches

LIMIT = 60
ENDED = "interline/turn/ended"


class Server:
    """One model on its own port."""

    def __init__(self, prefix, model, context, log, key=None):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self.log = log
        command = [str(TOP / "scripts/editors/prefix-run.sh"), str(prefix), "llama-server",
                   "--model", str(model), "--host", "127.0.0.1", "--port", str(port),
                   "--ctx-size", str(context), "--parallel", "1", "--jinja", "--seed", "7",
                   # One thread: others would only wait for each other.
                   "--threads", "1", "--threads-batch", "1", "--no-warmup"]
        command += ["--api-key", key] if key else []
        with open(log, "wb") as out:
            self.process = subprocess.Popen(command, stdout=out, stderr=out)

    def wait(self):
        end = time.monotonic() + LIMIT
        while True:
            try:
                with urllib.request.urlopen(self.url + "/health", timeout=LIMIT):
                    return
            except (urllib.error.URLError, ConnectionError):
                if self.process.poll() is not None or time.monotonic() > end:
                    text = pathlib.Path(self.log).read_text(errors="replace")
                    raise RuntimeError(f"llama-server did not start: {text[-2000:]}") from None
                time.sleep(0.05)

    def get(self, path):
        with urllib.request.urlopen(self.url + path, timeout=LIMIT) as answer:
            return json.load(answer)

    def idle(self):
        """Waits until no answer is being generated; False if one still is."""
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            if not any(slot["is_processing"] for slot in self.get("/slots")):
                return True
            time.sleep(0.02)
        return False

    def stop(self):
        self.process.kill()
        self.process.wait()


class Interline:
    """The server of this project, as a client of `providers`: name → (api, address)."""

    def __init__(self, binary, providers, extra="", facts=""):
        self.folder = tempfile.TemporaryDirectory(prefix="llama-")
        place = pathlib.Path(self.folder.name).resolve()
        for name in ("project", "home", "config/interline", "state", "run", "tmp"):
            (place / name).mkdir(parents=True)
        self.project = place / "project"
        (self.project / "a.txt").write_text("one\n")
        text = extra + "".join(
            f'[providers.{name}]\napi = "{api}"\nbaseUrl = "{url}/v1"\n'
            for name, (api, url) in providers.items())
        (place / "config/interline/config.toml").write_text(text)
        if facts:
            (place / "config/interline/models.toml").write_text(facts)
        environment = {
            "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": f"{place}/home",
            "XDG_CONFIG_HOME": f"{place}/config", "XDG_STATE_HOME": f"{place}/state",
            "XDG_RUNTIME_DIR": f"{place}/run", "TMPDIR": f"{place}/tmp"}
        self.client = Client([str(binary), "lsp"], environment, self.project)
        self.events = []
        root = self.project.as_uri()
        self.client.call("initialize", {
            "processId": os.getpid(), "rootUri": root,
            "workspaceFolders": [{"uri": root, "name": "project"}],
            "capabilities": {"experimental": {"interline": {
                "version": 1, "events": True, "approvals": True, "userSettings": True}}}})
        self.client.send(self.client.notification("initialized", {}))

    def session(self, model, **settings):
        made = self.client.call("interline/session/new", {"model": model, **settings})
        return made["sessionId"]

    def start(self, session, text):
        return self.client.call("interline/turn/start", {
            "sessionId": session, "input": [{"type": "text", "text": text}]})["turnId"]

    def cancel(self, session):
        self.client.call("interline/turn/cancel", {"sessionId": session})

    def messages(self):
        """All incoming messages, forever; questions are declined."""
        while True:
            bodies = self.client.aside + list(self.client.bodies())
            self.client.aside = []
            for body in bodies:
                message = json.loads(body)
                if "id" in message and "method" in message:
                    self.refuse(message)
                yield message
            if not bodies:
                self.client.more()

    def refuse(self, message):
        text = json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": {
            "code": -32601, "message": "no client is here"}}).encode()
        self.client.send(b"Content-Length: %d\r\n\r\n%s" % (len(text), text))

    def until(self, turn, wanted):
        """Events of the turn up to the first that `wanted` takes."""
        found = []
        for message in self.messages():
            params = message.get("params") or {}
            if params.get("turnId") != turn:
                continue
            found.append((message["method"], params))
            if wanted(message["method"], params):
                return found
            if message["method"] == ENDED:
                raise AssertionError(f"the turn ended before that: {params}")

    def turn(self, session, text):
        turn = self.start(session, text)
        return Turn(self.until(turn, lambda method, _: method == ENDED))

    def end(self, turn):
        return self.until(turn, lambda method, _: method == ENDED)[-1][1]

    def stop(self):
        self.client.stop()
        self.folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


class Turn:
    def __init__(self, messages):
        self.all = [params["event"] for _, params in messages if "event" in params]
        self.end = messages[-1][1]

    def of(self, kind):
        return [event for event in self.all if event["type"] == kind]

    def said(self):
        return "".join(event["text"] for event in self.of("text"))

    def streamed(self):
        return "".join(event["text"] for event in self.of("textDelta"))

    @property
    def usage(self):
        return self.end["usage"]
