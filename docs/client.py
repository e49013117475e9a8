"""A client of Interline written from protocol.md alone. Usage: client.py INTERLINE FOLDER FILE PROMPT.
It opens FILE, sends PROMPT, allows every question, prints the answer and FILE. It saves nothing."""
import json, pathlib, subprocess, sys, urllib.parse
program, folder, name, prompt = sys.argv[1:]
server = subprocess.Popen([program, "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
buffers = {}  # URI -> (version, bytes)

def send(**message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    server.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    server.stdin.flush()

def messages():  # serves the server, and yields what it sends
    while True:
        headers = dict(line.split(b": ") for line in iter(server.stdout.readline, b"\r\n"))
        message = json.loads(server.stdout.read(int(headers[b"Content-Length"])))
        match message:
            case {"method": "workspace/applyEdit", "id": number, "params": {"edit": edit}}:
                send(id=number, result=apply(**edit["documentChanges"][-1]))
            case {"method": "interline/approval/request", "id": number, "params": question}:
                print("asked:", question["title"])
                send(id=number, result={"choice": "allow", "hash": question["hash"]})
            case {"params": {"event": {"type": "text", "text": text}}}: print(text)
        yield message

def ask(method, params):  # each method is asked once here, so its name can be the id
    send(id=method, method=method, params=params)
    return next(message for message in messages() if message.get("id") == method)["result"]

def open_buffer(uri):
    buffers[uri] = 1, pathlib.Path(urllib.parse.unquote(uri.removeprefix("file://"))).read_bytes()
    send(method="textDocument/didOpen", params={"textDocument": {
        "uri": uri, "languageId": "plaintext", "version": 1, "text": buffers[uri][1].decode()}})

def apply(textDocument, edits):  # no one types here, so the edit's version is the buffer's
    uri = textDocument["uri"]
    if uri not in buffers: open_buffer(uri)
    version, text = buffers[uri]
    for edit in reversed(edits):
        places, lines = (edit["range"]["start"], edit["range"]["end"]), text.splitlines(True)
        start, end = (sum(map(len, lines[:at["line"]])) + at["character"] for at in places)
        text = text[:start] + edit["newText"].encode() + text[end:]
    buffers[uri] = version + 1, text
    send(method="textDocument/didChange", params={"textDocument": {"uri": uri, "version": version + 1},
        "contentChanges": [{"text": text.decode()}]})
    return {"applied": True}

root = pathlib.Path(folder).resolve()
ask("initialize", {"processId": None, "rootUri": root.as_uri(), "capabilities": {
    "general": {"positionEncodings": ["utf-8"]},  # characters are bytes
    "workspace": {"applyEdit": True, "workspaceEdit": {"documentChanges": True}},
    "experimental": {"interline": {"version": 1, "events": True, "approvals": True}}}})
send(method="initialized", params={})
open_buffer((root / name).as_uri())
session = ask("interline/session/new", {})["sessionId"]
ask("interline/turn/start", {"sessionId": session, "input": [{"type": "text", "text": prompt}]})
next(message for message in messages() if message.get("method") == "interline/turn/ended")
print(buffers[(root / name).as_uri()][1].decode(), end="")
ask("shutdown", None)
send(method="exit")
