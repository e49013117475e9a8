"""The bench's model server: fixed answers over HTTP, with the times that a client cannot see."""

import json
import socket
import threading
import time


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


def read(number, path):
    arguments = json.dumps({"path": path})
    start = {"type": "tool_use", "id": f"toolu_{number}", "name": "read", "input": {}}
    return message([(start, [{"type": "input_json_delta", "partial_json": arguments}])],
                   "tool_use")


class Model:
    """Serves `answers` in order, then the last one for ever."""

    def __init__(self, answers, together=20):
        self.answers = answers
        self.together = together
        self.arrived = []  # first byte of each request
        self.sent = []  # last byte of each answer
        self.at_first_request = None
        self.listener = socket.create_server(("127.0.0.1", 0))
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
        try:
            while self.take(stream):
                number = min(len(self.arrived), len(self.answers)) - 1
                pieces = self.answers[number]
                stream.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
                               b"transfer-encoding: chunked\r\n\r\n")
                for at in range(0, len(pieces), self.together):
                    chunk = b"".join(pieces[at:at + self.together])
                    stream.sendall(b"%x\r\n%s\r\n" % (len(chunk), chunk))
                self.sent.append(time.perf_counter())
                stream.sendall(b"0\r\n\r\n")
        except OSError:
            pass

    def take(self, stream):
        """One request; False at the connection's end."""
        data = stream.recv(65536)
        if not data:
            return False
        self.arrived.append(time.perf_counter())
        if len(self.arrived) == 1 and self.at_first_request:
            self.at_first_request()
        while b"\r\n\r\n" not in data:
            data += stream.recv(65536)
        head, body = data.split(b"\r\n\r\n", 1)
        length = 0
        for line in head.decode("latin-1").lower().split("\r\n"):
            if line.startswith("content-length:"):
                length = int(line.split(":")[1])
        while len(body) < length:
            body += stream.recv(65536)
        return True
