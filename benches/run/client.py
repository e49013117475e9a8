"""The bench's client: frames over stdio, waiting for marks in the raw bytes, so that parsing
never counts."""

import json
import os
import select
import subprocess
import threading
import time

LIMIT = 60


def frame(body):
    body = json.dumps(body, separators=(",", ":")).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


class Client:
    def __init__(self, command, environment, cwd):
        self.began = time.perf_counter()
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, env=environment, cwd=cwd)
        self.out = self.process.stdout.fileno()
        self.seen = bytearray()
        self.at = 0  # where the next look begins
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
        """The frame of a request and the mark of its answer."""
        self.id += 1
        body = {"jsonrpc": "2.0", "id": self.id, "method": method, "params": params}
        return frame(body), self.id

    def call(self, method, params):
        data, number = self.request(method, params)
        self.send(data)
        return self.answer(number)

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
        """Waits until `mark` is in the raw output, from its beginning; the time of it."""
        looked = 0
        while True:
            found = self.seen.find(mark, max(0, looked - len(mark)))
            if found >= 0:
                return time.perf_counter()
            looked = len(self.seen)
            self.more()

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def rss(pid):
    """Resident memory in MiB."""
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as status:
        for line in status:
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
    return 0.0


def spawned(pid):
    """Whether the process has or had children: living ones, or faults and time of dead ones."""
    living = []
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as children:
                living += children.read().split()
        except OSError:
            pass
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    # Fields 11, 13, 16 and 17 of proc(5), counted from 3 here: of waited-for children.
    dead = any(int(fields[at]) for at in (8, 10, 13, 14))
    return bool(living) or dead
