"""The bench's client: frames over stdio. It waits for marks in the raw bytes where time is
measured, so that parsing never counts."""

import json
import os
import select
import subprocess
import threading
import time

LIMIT = 60
ENDED = b"interline/turn/ended"


def frame(body):
    body = json.dumps(body, separators=(",", ":")).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


class Client:
    def __init__(self, command, environment, cwd):
        self.began = time.perf_counter()
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, env=environment, cwd=cwd)
        self.pid = self.process.pid
        self.out = self.process.stdout.fileno()
        self.seen = bytearray()
        self.at = 0  # where the next frame begins
        self.looked = 0  # where the next search for a mark begins
        self.aside = []  # messages that came before an answer
        self.id = 0

    def send(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send_aside(self, data):
        """Writes on a thread, so that a full pipe never stops the reading."""
        threading.Thread(target=self.send, args=(data,), daemon=True).start()

    def notification(self, method, params):
        return frame({"jsonrpc": "2.0", "method": method, "params": params})

    def request(self, method, params):
        """The frame of a request and the number of its answer."""
        self.id += 1
        body = {"jsonrpc": "2.0", "id": self.id, "method": method, "params": params}
        return frame(body), self.id

    def call(self, method, params):
        data, number = self.request(method, params)
        self.send(data)
        return self.answer(number)

    def start_turn(self, session, text="go"):
        """Sends a prompt; the time just before it was written."""
        data, _ = self.request("interline/turn/start", {
            "sessionId": session, "input": [{"type": "text", "text": text}]})
        now = time.perf_counter()
        self.send(data)
        return now

    def turn(self, session, text="go"):
        """Runs a turn to its end; the times of its beginning and end."""
        began = self.start_turn(session, text)
        return began, self.wait_mark(ENDED)

    def answer(self, number):
        while True:
            for body in self.bodies():
                message = json.loads(body)
                if message.get("id") == number and "method" not in message:
                    if "error" in message:
                        raise RuntimeError(f"{message['error']}")
                    return message["result"]
                self.aside.append(body)
            self.more()

    def follow(self, handlers):
        """Answers the server's requests by `handlers` (method → function) until a turn ends."""
        while True:
            for body in self.bodies():
                message = json.loads(body)
                method = message.get("method")
                if method and "id" in message:
                    result = handlers[method](message["params"])
                    self.send(frame({"jsonrpc": "2.0", "id": message["id"], "result": result}))
                elif method == ENDED.decode():
                    return message["params"]
            self.more()

    def bodies(self):
        """Complete frames that were not looked at."""
        while True:
            end = self.seen.find(b"\r\n\r\n", self.at)
            if end < 0:
                return
            length = int(self.seen[self.at:end].lower().split(b"content-length:")[1].split(b"\r")[0])
            if len(self.seen) < end + 4 + length:
                return
            self.at = end + 4 + length
            yield bytes(self.seen[end + 4:self.at])

    def more(self):
        ready, _, _ = select.select([self.out], [], [], LIMIT)
        if not ready:
            raise RuntimeError("no output for %d s: %r" % (LIMIT, bytes(self.seen[-400:])))
        data = os.read(self.out, 1 << 20)
        if not data:
            raise RuntimeError("the program ended: %r" % bytes(self.seen[-400:]))
        self.seen += data

    def wait_mark(self, mark):
        """Waits for the next `mark` in the raw output; the time when it was there."""
        while True:
            found = self.seen.find(mark, self.looked)
            if found >= 0:
                self.looked = found + len(mark)
                return time.perf_counter()
            self.looked = max(self.looked, len(self.seen) - len(mark))
            self.more()

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
