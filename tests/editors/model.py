"""A model server on loopback that speaks the Anthropic Messages stream.

A story gives `script(asked)`: a generator for each turn that yields steps and is sent what the
tools answered to its calls; what it returns is the last text. Every request is held against what
was sent before, as the provider does it.
"""

import http.server
import json
import threading
import time
from dataclasses import dataclass, field


@dataclass
class Step:
    """Text, calls, and how they are sent: `pace` seconds between two pieces; if `hold` is
    set, the stream stays open before the calls until it is released or the client hangs up."""
    words: str
    calls: list = field(default_factory=list)
    pace: float = 0
    hold: threading.Event = None


@dataclass
class Result:
    text: str
    failed: bool


def call(name, **arguments):
    return name, arguments


def read(path):
    return call("read", path=path)


def edit(path, old, new):
    return call("edit", path=path, old_string=old, new_string=new)


class Model:
    def __init__(self, script):
        self.script = script
        self.turn = None
        self.sent = []
        self.results = []  # of all turns, in order
        self.asked = []  # the first request of each turn
        self.problems = []
        self.steps = 0
        self.hung_up = threading.Event()
        self.lock = threading.Lock()
        model = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def log_message(self, *_):
                pass

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                model.answer(self, body)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = "http://127.0.0.1:%d" % self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, handler, body):
        with self.lock:
            try:
                self.examine(handler, body)
                step = self.next(body)
            except Exception as error:  # of the script: the turn must end, and the story see why
                self.problems.append(f"the scripted model failed: {error!r}")
                step = Step(f"I give up: {error!r}")
            self.steps += 1
            blocks = self.blocks(step, self.steps)
            self.sent = blocks
        try:
            self.stream(handler, step, blocks)
        except OSError:
            self.hung_up.set()

    def examine(self, handler, body):
        wrong = []
        if handler.path != "/v1/messages":
            wrong.append(f"path {handler.path}")
        if handler.headers["x-api-key"] != "test" or not handler.headers["anthropic-version"]:
            wrong.append("key or version header")
        if body.get("stream") is not True or body["messages"][-1]["role"] != "user":
            wrong.append("not a stream for a user's message")
        open_calls = set()
        for message in body["messages"]:
            content = message["content"]
            content = content if isinstance(content, list) else []
            answered = {each["tool_use_id"] for each in content if each["type"] == "tool_result"}
            if answered != open_calls:
                wrong.append(f"calls {sorted(open_calls)}, results {sorted(answered)}")
            open_calls = {each["id"] for each in content if each["type"] == "tool_use"}
        self.problems += wrong

    def next(self, body):
        content = body["messages"][-1]["content"]
        content = content if isinstance(content, list) else [{"type": "text", "text": content}]
        results = {each["tool_use_id"]: each for each in content if each["type"] == "tool_result"}
        ids = [each["id"] for each in self.sent if each["type"] == "tool_use"]
        if self.turn is None or not ids or not set(ids) <= set(results):
            words = "\n".join(each["text"] for each in content if each["type"] == "text")
            self.asked.append(words)
            self.turn = self.script(words)
            return self.advance(None)
        ordered = [result(results[each]) for each in ids]
        self.results += ordered
        return self.advance(ordered)

    def advance(self, results):
        try:
            return self.turn.send(results)
        except StopIteration as stop:
            self.turn = None
            return stop.value if isinstance(stop.value, Step) else Step(stop.value)

    @staticmethod
    def blocks(step, number):
        blocks = [{"type": "thinking", "thinking": f"Step {number}.",
                   "signature": f"c2lnbmF0dXJl{number:04}"},
                  {"type": "text", "text": step.words}]
        for at, (name, arguments) in enumerate(step.calls):
            blocks.append({"type": "tool_use", "id": f"toolu_{number:02}_{at}", "name": name,
                           "input": arguments})
        return blocks

    def stream(self, handler, step, blocks):
        handler.send_response(200)
        handler.send_header("content-type", "text/event-stream")
        handler.send_header("transfer-encoding", "chunked")
        handler.end_headers()

        def send(kind, **data):
            event = f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n".encode()
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
            handler.wfile.flush()

        send("message_start", message={
            "id": f"msg_{self.steps:04}", "type": "message", "role": "assistant", "content": [],
            "model": "claude-opus-5-5", "stop_reason": None, "stop_sequence": None,
            "usage": {"input_tokens": 50, "cache_read_input_tokens": 0, "output_tokens": 1}})
        for index, block in enumerate(blocks):
            if index == 2:
                self.held(step, send)
            start, deltas = pieces(block)
            send("content_block_start", index=index, content_block=start)
            for delta in deltas:
                send("content_block_delta", index=index, delta=delta)
                if step.pace:
                    time.sleep(step.pace)
            send("content_block_stop", index=index)
        if len(blocks) == 2:
            self.held(step, send)
        send("message_delta", delta={"stop_reason": "tool_use" if step.calls else "end_turn",
                                     "stop_sequence": None}, usage={"output_tokens": 20})
        send("message_stop")
        handler.wfile.write(b"0\r\n\r\n")

    @staticmethod
    def held(step, send):
        while step.hold and not step.hold.wait(0.05):
            send("ping")


def result(block):
    content = block.get("content", "")
    if not isinstance(content, str):
        content = "\n".join(part.get("text", "") for part in content)
    return Result(content, bool(block.get("is_error")))


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
