"""The bench's model server: scripted answers over HTTP, with the times that a client cannot see."""

import json
import socket
import threading
import time
from dataclasses import dataclass

HEAD = (b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
        b"transfer-encoding: chunked\r\n\r\n")


def event(kind, data):
    body = json.dumps({"type": kind, **data}, separators=(",", ":"))
    return f"event: {kind}\ndata: {body}\n\n".encode()


def message(blocks, stop):
    """One answer as pieces: a piece a delta."""
    usage = {"input_tokens": 100, "cache_read_input_tokens": 0, "output_tokens": 1}
    head = {"id": "msg_1", "type": "message", "role": "assistant", "content": [],
            "model": "claude-opus-5-5", "stop_reason": None, "usage": usage}
    pieces = [event("message_start", {"message": head})]
    for index, (start, deltas) in enumerate(blocks):
        pieces.append(event("content_block_start", {"index": index, "content_block": start}))
        pieces += [event("content_block_delta", {"index": index, "delta": d}) for d in deltas]
        pieces.append(event("content_block_stop", {"index": index}))
    pieces.append(event("message_delta", {"delta": {"stop_reason": stop},
                                          "usage": {"output_tokens": 9}}))
    pieces.append(event("message_stop", {}))
    return pieces


def text(words):
    deltas = [{"type": "text_delta", "text": word} for word in words]
    return message([({"type": "text", "text": ""}, deltas)], "end_turn")


def call(number, name, arguments):
    start = {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": {}}
    part = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
    return message([(start, [part])], "tool_use")


def read(number, path):
    return call(number, "read", {"path": path})


@dataclass
class Reply:
    """An answer that is not only pieces of a stream."""
    pieces: list
    pause: float = 0.0  # seconds before each piece
    hold: bool = False  # keeps the stream open until the client closes it
    cut: bool = False  # closes the connection in the middle of the stream


@dataclass
class Refusal:
    """An HTTP error; the client may retry at once."""
    status: str
    kind: str

    def data(self):
        body = json.dumps({"type": "error",
                           "error": {"type": self.kind, "message": self.kind}}).encode()
        return (f"HTTP/1.1 {self.status}\r\ncontent-type: application/json\r\n"
                f"retry-after-ms: 1\r\ncontent-length: {len(body)}\r\n\r\n").encode() + body


class Model:
    """Serves `answers`: a list in order, then its last one for ever, or a function of a request's
    number and body."""

    def __init__(self, answers, together=20, keep=False):
        self.answers = answers
        self.together = together
        self.arrived = []  # first byte of each request
        self.sent = []  # just before the last byte of each answer
        self.wrote = []  # each piece of a paced answer
        self.closed = []  # the client closed a stream that was held
        self.bodies = [] if keep else None
        self.at_request = None  # called with the number of the request that begins
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = "http://127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def close(self):
        self.listener.close()

    def accept(self):
        while True:
            try:
                stream, _ = self.listener.accept()
            except OSError:
                return
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self.serve, args=(stream,), daemon=True).start()

    def serve(self, stream):
        with stream:
            try:
                while (request := self.take(stream)) is not None:
                    if not self.reply(stream, self.choose(*request)):
                        return
            except OSError:
                pass

    def choose(self, number, body):
        if callable(self.answers):
            return self.answers(number, body)
        return self.answers[min(number, len(self.answers) - 1)]

    def reply(self, stream, answer):
        """False if the connection ends with this answer."""
        if isinstance(answer, Refusal):
            stream.sendall(answer.data())
            return True
        answer = answer if isinstance(answer, Reply) else Reply(answer)
        stream.sendall(HEAD)
        together = 1 if answer.pause else self.together
        due = time.perf_counter()
        for at in range(0, len(answer.pieces), together):
            chunk = b"".join(answer.pieces[at:at + together])
            data = b"%x\r\n%s\r\n" % (len(chunk), chunk)
            if answer.pause:
                due += answer.pause
                time.sleep(max(0, due - time.perf_counter()))
                self.wrote.append((time.perf_counter(), chunk))
            stream.sendall(data)
        if answer.cut:
            return False
        if answer.hold:
            while stream.recv(65536):
                pass
            self.closed.append(time.perf_counter())
            return False
        self.sent.append(time.perf_counter())
        stream.sendall(b"0\r\n\r\n")
        return True

    def take(self, stream):
        """One request: its number and body. None at the connection's end."""
        data = bytearray(stream.recv(1 << 20))
        if not data:
            return None
        now = time.perf_counter()
        with self.lock:
            number = len(self.arrived)
            self.arrived.append(now)
        if self.at_request:
            self.at_request(number)
        while (end := data.find(b"\r\n\r\n")) < 0:
            data += received(stream)
        length = 0
        for line in data[:end].decode("latin-1").lower().split("\r\n"):
            if line.startswith("content-length:"):
                length = int(line.split(":")[1])
        while len(data) < end + 4 + length:
            data += received(stream)
        body = bytes(data[end + 4:])
        if self.bodies is not None:
            self.bodies.append(body)
        return number, body


def received(stream):
    data = stream.recv(1 << 20)
    if not data:
        raise ConnectionError("the request ended early")
    return data
