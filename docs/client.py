"""A client of Interline in some sixty lines, written from protocol.md alone.
Usage: client.py INTERLINE FOLDER FILE PROMPT. It opens FILE, sends PROMPT, applies edits to its
own buffers, prints the answer, and prints the text of FILE at the end. It saves nothing."""
import json, pathlib, subprocess, sys

program, folder, name, prompt = sys.argv[1:5]
server = subprocess.Popen([program, "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
root = pathlib.Path(folder).resolve()
buffers = {}  # URI -> [version, text]
answers, state = {}, {"turn": None, "ended": False}

def send(**message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    server.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    server.stdin.flush()

def open_buffer(uri):
    text = pathlib.Path(uri.removeprefix("file://")).read_text()
    buffers[uri] = [1, text]
    send(method="textDocument/didOpen", params={"textDocument": {
        "uri": uri, "languageId": "plaintext", "version": 1, "text": text}})

def offset(text, position):  # utf-8 was negotiated: characters are bytes
    lines = text.encode().split(b"\n")[: position["line"]]
    return sum(len(line) + 1 for line in lines) + position["character"]

def apply(params):
    document = params["edit"]["documentChanges"][-1]["textDocument"]
    uri, version = document["uri"], document["version"]
    if uri not in buffers:  # an edit for a closed file has no version: open it first
        open_buffer(uri)
    if version not in (None, buffers[uri][0]):
        return {"applied": False, "failureReason": "the text is newer than the edit"}
    text = buffers[uri][1]
    for edit in reversed(params["edit"]["documentChanges"][-1]["edits"]):
        start, end = (offset(text, edit["range"][side]) for side in ("start", "end"))
        raw = text.encode()
        text = (raw[:start] + edit["newText"].encode() + raw[end:]).decode()
    buffers[uri] = [buffers[uri][0] + 1, text]
    send(method="textDocument/didChange", params={"textDocument": {
        "uri": uri, "version": buffers[uri][0]}, "contentChanges": [{"text": text}]})
    return {"applied": True}

def serve(done):
    while not done():
        length = 0
        while header := server.stdout.readline().strip():
            key, value = header.split(b": ")
            length = int(value) if key == b"Content-Length" else length
        message = json.loads(server.stdout.read(length))
        method, params = message.get("method"), message.get("params")
        if method == "workspace/applyEdit":
            send(id=message["id"], result=apply(params))
        elif method == "interline/approval/request":
            print("asked:", params["title"])
            send(id=message["id"], result={"choice": "allow", "hash": params["hash"]})
        elif method == "interline/turn/event" and params["event"]["type"] == "text":
            print(params["event"]["text"])
        elif method == "interline/turn/ended":
            state["ended"] = True
        elif method and "id" in message:
            send(id=message["id"], error={"code": -32601, "message": "not here"})
        elif "id" in message:
            answers[message["id"]] = message

def ask(number, method, params):
    send(id=number, method=method, params=params)
    serve(lambda: number in answers)
    return answers[number].get("result")

ask(1, "initialize", {"processId": None, "rootUri": root.as_uri(), "capabilities": {
    "general": {"positionEncodings": ["utf-8"]},
    "workspace": {"applyEdit": True, "workspaceEdit": {"documentChanges": True}},
    "experimental": {"interline": {"version": 1, "events": True, "approvals": True}}}})
send(method="initialized", params={})
open_buffer((root / name).as_uri())
session = ask(2, "interline/session/new", {})["sessionId"]
ask(3, "interline/turn/start", {"sessionId": session, "input": [{"type": "text", "text": prompt}]})
serve(lambda: state["ended"])
print(buffers[(root / name).as_uri()][1], end="")
ask(4, "shutdown", None)
send(method="exit")
sys.exit(server.wait())
