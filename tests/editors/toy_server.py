#!/usr/bin/env python3
"""A language server for a toy language, the same in the tests of all editors. Files end in `.toy`.

`def NAME` defines a name, indented below another one inside of it; every other word refers to one,
and `use NAME` with an unknown name is an error. It knows the unsaved text of open documents, and
the files of the workspace. While a file `starting` is in the root, it reports progress and
has no answers. Flags: `--encoding utf-8`, `--without rename,hover` (not among its capabilities).
"""

import json
import pathlib
import re
import sys
import threading
import time
import urllib.parse

WIDTHS = {"utf-8": lambda text: len(text.encode()), "utf-32": len,
          "utf-16": lambda text: len(text.encode("utf-16-le")) // 2}
FEATURES = {"definition": "definitionProvider", "references": "referencesProvider",
            "hover": "hoverProvider", "documentSymbol": "documentSymbolProvider",
            "symbol": "workspaceSymbolProvider", "rename": "renameProvider"}


def flag(name, default):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else default


class Failure(Exception):
    """An error that the client gets as the answer to its request."""


class Server:
    def __init__(self):
        self.width = WIDTHS[flag("--encoding", "utf-16")]
        self.open = {}  # version and text by URI
        self.root = None
        self.lock = threading.RLock()

    # The wire.

    def send(self, **message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        with self.lock:
            sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
            sys.stdout.buffer.flush()

    def serve(self):
        while True:
            size = 0
            while line := sys.stdin.buffer.readline().strip():
                if line.lower().startswith(b"content-length:"):
                    size = int(line.split(b":")[1])
            if not size:
                return
            message = json.loads(sys.stdin.buffer.read(size))
            if "method" in message:
                self.take(message)

    def take(self, message):
        method, params = message["method"], message.get("params") or {}
        if method == "exit":
            sys.exit()
        answer = getattr(self, method.replace("textDocument/", "").replace("/", "_")
                         .replace("$", "_"), None)
        if "id" not in message:
            if answer:
                answer(params)
            return
        try:
            result = answer(params) if answer else None
            self.send(id=message["id"], result=result)
        except Failure as failure:
            self.send(id=message["id"], error={"code": -32602, "message": str(failure)})

    # Texts and places.

    def texts(self):
        """Of all files: what is open as it is in the editor, the rest as it is on disk."""
        found = {path.as_uri(): path.read_text() for path in sorted(self.root.rglob("*.toy"))}
        return {**found, **{uri: text for uri, (_, text) in self.open.items()}}

    def words(self, name=None):
        """Each word with its place, and whether that defines it: (uri, word, range, indent, role)."""
        for uri, text in self.texts().items():
            for number, line in enumerate(text.splitlines()):
                role, indent = "", len(line) - len(line.lstrip())
                for found in re.finditer(r"\w+", line):
                    word = found[0]
                    if word in ("def", "use"):
                        role = word
                        continue
                    if name in (None, word):
                        ends = [self.width(line[:at]) for at in found.span()]
                        yield uri, word, {"start": {"line": number, "character": ends[0]},
                                          "end": {"line": number, "character": ends[1]}}, indent, role
                    role = ""

    def at(self, params):
        """The word at the params' position."""
        place, wanted = params["position"], params["textDocument"]["uri"]
        for uri, word, span, _, _ in self.words():
            if (uri == wanted and span["start"]["line"] == place["line"]
                    and span["start"]["character"] <= place["character"] <= span["end"]["character"]):
                return word
        return None

    def places(self, params, *roles):
        return [{"uri": uri, "range": span} for uri, _, span, _, role in self.words(self.at(params))
                if not self.starting() and self.at(params) and (not roles or role in roles)]

    def starting(self):
        return (self.root / "starting").exists()

    # What clients ask.

    def initialize(self, params):
        uri = params.get("rootUri") or params["workspaceFolders"][0]["uri"]
        self.root = pathlib.Path(urllib.parse.unquote(urllib.parse.urlparse(uri).path))
        without = flag("--without", "").split(",")
        offered = {key: True for name, key in FEATURES.items() if name not in without}
        if "codeAction" not in without:
            offered["codeActionProvider"] = {"resolveProvider": True}
        if flag("--encoding", ""):
            offered["positionEncoding"] = flag("--encoding", "")
        return {"capabilities": {**offered, "textDocumentSync": 1}, "serverInfo": {"name": "toy"}}

    def initialized(self, _params):
        if self.starting():
            self.progress("begin", title="Indexing")
            threading.Thread(target=self.await_start, daemon=True).start()

    def await_start(self):
        while self.starting():
            time.sleep(0.01)
        self.progress("end")

    def progress(self, kind, **more):
        self.send(method="$/progress", params={"token": "toy", "value": {"kind": kind, **more}})

    def didOpen(self, params):
        document = params["textDocument"]
        self.open[document["uri"]] = document["version"], document["text"]
        self.diagnose()

    def didChange(self, params):
        document = params["textDocument"]
        self.open[document["uri"]] = document["version"], params["contentChanges"][-1]["text"]
        self.diagnose()

    def didClose(self, params):
        self.open.pop(params["textDocument"]["uri"], None)

    def diagnose(self):
        words = list(self.words())
        known = {word for _, word, _, _, role in words if role == "def"}
        for uri, (version, _) in self.open.items():
            wrong = [{"range": span, "severity": 1, "source": "toy", "message": f"cannot find {word}"}
                     for at, word, span, _, role in words
                     if at == uri and role == "use" and word not in known]
            self.send(method="textDocument/publishDiagnostics",
                      params={"uri": uri, "version": version, "diagnostics": wrong})

    def definition(self, params):
        return self.places(params, "def")

    def references(self, params):
        return self.places(params)

    def hover(self, params):
        word = None if self.starting() else self.at(params)
        return word and {"contents": {"kind": "markdown", "value": f"**def** {word}"}}

    def documentSymbol(self, params):
        symbols = []
        for uri, word, span, indent, role in self.words():
            if uri == params["textDocument"]["uri"] and role == "def" and not self.starting():
                inside = symbols[-1]["children"] if indent and symbols else symbols
                inside.append({"name": word, "kind": 12, "range": span, "selectionRange": span,
                               "children": []})
        return symbols

    def workspace_symbol(self, params):
        return [{"name": word, "kind": 12, "location": {"uri": uri, "range": span}}
                for uri, word, span, _, role in self.words()
                if role == "def" and params["query"] in word and not self.starting()]

    def rename(self, params):
        if not re.fullmatch(r"\w+", params["newName"]):
            raise Failure(f"{params['newName']} is not a name")
        changes = {}
        for place in self.places(params):
            edit = {"range": place["range"], "newText": params["newName"]}
            changes.setdefault(place["uri"], []).append(edit)
        return {"documentChanges": [{
            "textDocument": {"uri": uri, "version": self.open.get(uri, [None])[0]}, "edits": edits,
        } for uri, edits in changes.items()]}

    def codeAction(self, params):
        """One with its edit, one that has it when it is resolved, and one that is only a command."""
        uri, line = params["textDocument"]["uri"], params["range"]["start"]["line"]
        start = {"line": line, "character": 0}
        edit = {"changes": {uri: [{"range": {"start": start, "end": start}, "newText": "use "}]}}
        command = {"title": "Run it", "command": "toy.run"}
        return [{"title": "Use it", "kind": "quickfix", "isPreferred": True, "edit": edit},
                {"title": "Use it later", "kind": "refactor", "data": edit},
                {"title": "Run it", "kind": "source", "command": command}]

    def codeAction_resolve(self, action):
        return {**action, "edit": action["data"]} if "data" in action else action


Server().serve()
