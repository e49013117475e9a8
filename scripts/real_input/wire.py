"""A model server on loopback that speaks the Anthropic Messages stream; `script` decides.

`script(body)` is a generator: it yields `(words, calls)` and is sent the calls' results; what
it returns is the last text. Each request is held against what was sent before: every call has
its result, and thinking comes back with its signature, unchanged.
"""

import http.server
import json
import threading


class Model:
    def __init__(self, script, tell):
        self.script, self.tell = script, tell
        self.running = None  # the generator of the turn
        self.sent = []  # content blocks of the last answer
        self.violations = []
        self.steps = 0
        self.lock = threading.Lock()
        model = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def log_message(self, *_):
                pass

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                with model.lock:
                    model.answer(self, body)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = "http://127.0.0.1:%d" % self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, handler, body):
        self.examine(handler, body)
        try:
            words, calls = self.next(body)
            blocks = self.blocks(words, calls)
        except Exception as error:  # the script's own: the turn must end, visibly
            self.violations.append(f"the scripted model failed: {error!r}")
            blocks = [{"type": "text", "text": f"I give up: {error!r}"}]
        self.sent = blocks
        self.steps += 1
        self.stream(handler, blocks)

    def examine(self, handler, body):
        wrong = []
        if handler.path != "/v1/messages":
            wrong.append(f"path {handler.path}")
        if handler.headers["x-api-key"] != "test" or not handler.headers["anthropic-version"]:
            wrong.append("key or version header")
        if body.get("stream") is not True or body["messages"][-1]["role"] != "user":
            wrong.append("not a stream for a user's message")
        if self.running and self.sent:
            before = body["messages"][-2]["content"]
            kept = [{name: block[name] for name in sent if name in block}
                    for sent, block in zip(self.sent, before)]
            if kept != self.sent:
                wrong.append("the last answer came back changed: " + json.dumps(before)[:300])
        self.violations += wrong

    def next(self, body):
        """The script's next step from the request's results."""
        if self.running is None:
            self.running = self.script(body)
            return next(self.running)
        results = {block["tool_use_id"]: block for block in body["messages"][-1]["content"]
                   if block["type"] == "tool_result"}
        ids = [block["id"] for block in self.sent if block["type"] == "tool_use"]
        if set(ids) != set(results):
            raise ValueError(f"results for {sorted(results)}, calls were {ids}")
        ordered = []
        for each in ids:
            content = results[each].get("content", "")
            if not isinstance(content, str):
                content = "\n".join(part.get("text", "") for part in content)
            ordered.append((content, bool(results[each].get("is_error"))))
        self.tell("results", results=ordered)
        try:
            return self.running.send(ordered)
        except StopIteration as stop:
            self.running = None
            return stop.value, []

    def blocks(self, words, calls):
        number = self.steps + 1
        blocks = [{"type": "thinking", "thinking": f"Step {number}: {words}",
                   "signature": f"c2lnbmF0dXJl{number:04}"},
                  {"type": "text", "text": words}]
        for at, (name, arguments) in enumerate(calls):
            blocks.append({"type": "tool_use", "id": f"toolu_{number:02}_{at}", "name": name,
                           "input": arguments})
        self.tell("step", words=words, calls=calls)
        return blocks

    def stream(self, handler, blocks):
        handler.send_response(200)
        handler.send_header("content-type", "text/event-stream")
        handler.send_header("transfer-encoding", "chunked")
        handler.end_headers()

        def send(kind, **data):
            data = json.dumps({"type": kind, **data})
            event = f"event: {kind}\ndata: {data}\n\n".encode()
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
            handler.wfile.flush()

        usage = {"input_tokens": 50, "cache_read_input_tokens": 0, "output_tokens": 1}
        send("message_start", message={
            "id": f"msg_{self.steps:04}", "type": "message", "role": "assistant", "content": [],
            "model": "claude-opus-5-5", "stop_reason": None, "stop_sequence": None,
            "usage": usage})
        send("ping")
        for index, block in enumerate(blocks):
            start, deltas = pieces(block)
            send("content_block_start", index=index, content_block=start)
            for delta in deltas:
                send("content_block_delta", index=index, delta=delta)
            send("content_block_stop", index=index)
        calls = any(block["type"] == "tool_use" for block in blocks)
        send("message_delta", delta={"stop_reason": "tool_use" if calls else "end_turn",
                                     "stop_sequence": None}, usage={"output_tokens": 20})
        send("message_stop")
        handler.wfile.write(b"0\r\n\r\n")


def pieces(block):
    """A block's start and its deltas, cut in odd places."""
    def cut(text):
        return [text[at:at + 7] for at in range(0, len(text), 7)]

    if block["type"] == "thinking":
        deltas = [{"type": "thinking_delta", "thinking": part} for part in cut(block["thinking"])]
        deltas.append({"type": "signature_delta", "signature": block["signature"]})
        return {"type": "thinking", "thinking": "", "signature": ""}, deltas
    if block["type"] == "text":
        deltas = [{"type": "text_delta", "text": part} for part in cut(block["text"])]
        return {"type": "text", "text": ""}, deltas
    deltas = [{"type": "input_json_delta", "partial_json": part}
              for part in ["", *cut(json.dumps(block["input"], ensure_ascii=False))]]
    return {**block, "input": {}}, deltas

