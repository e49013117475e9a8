"""Rows about edits under typing and about their review."""

import copy
import json
import statistics
import time

from documents import LONG, SHORT, Buffer
from harness import BESIDE, CAPABILITIES, OURS, Measure, Row
from model import Model, call, text
from process import cpu

EDITS = 25  # below the limit of steps
TYPED = 64  # changes of the user before each edit
HUNKS = 1_000
LISTS = 6
PLAIN = copy.deepcopy(CAPABILITIES)
PLAIN["experimental"]["interline"]["edit"] = False


class TypingBuffer(Buffer):
    """The user types a character in each of the first lines after every edit."""

    def __init__(self, client, uri, lines):
        super().__init__(client, uri, lines)
        self.asked = []

    def apply(self, params):
        self.asked.append(time.perf_counter())
        done = super().apply(params)
        frames = []
        for number in range(TYPED):
            self.version += 1
            place = {"line": number % 8, "character": 0}
            frames.append(self.client.notification("textDocument/didChange", {
                "textDocument": {"uri": self.uri, "version": self.version}, "contentChanges": [
                    {"range": {"start": place, "end": place}, "text": "k"}]}))
        self.client.send(b"".join(frames))
        return done


def under_typing(bench, side):
    """Milliseconds from the end of the model's answer to the request that edits: the slowest."""
    lines = LONG if side == OURS else SHORT
    subject = bench.subject(OURS, f"typed-{lines}", trusted=True)
    path = f"{subject.work}/long.txt"
    line = lines // 2
    answers = [call(0, "read", {"path": path, "offset": line, "limit": 4})]
    texts = [f"line {line} of this text"] + [f"line {line}, edit {n}" for n in range(EDITS)]
    answers += [call(number + 1, "edit", {"path": path, "old_string": old, "new_string": new})
                for number, (old, new) in enumerate(zip(texts, texts[1:]))]
    model = Model(answers + [text(["done"])])
    client = subject.start(model.url)
    try:
        subject.handshake(client, PLAIN)
        buffer = TypingBuffer(client, "file://" + path, lines)
        client.start_turn(subject.session(client))
        client.follow({"workspace/applyEdit": buffer.apply})
        if len(buffer.asked) != EDITS:
            raise RuntimeError(f"{len(buffer.asked)} edits of {EDITS} were sent")
        waits = [(asked - sent) * 1e3 for sent, asked in zip(model.sent[1:], buffer.asked)]
        bench.note("edit-typed", side, max(waits))
    finally:
        client.stop()
        model.close()


def review(bench, side):
    """The list of a session's hunks, one of every ten lines of a document."""
    hunks = HUNKS if side == OURS else 1
    subject = bench.subject(OURS, f"review-{hunks}", trusted=True)
    path, lines = f"{subject.work}/long.txt", HUNKS * 10
    changed = [f"line {n} of {'the new' if n % 10 == 5 and n // 10 < hunks else 'this'} text\n"
               for n in range(lines)]
    model = Model([call(0, "read", {"path": path, "limit": 1}),
                   call(1, "write", {"path": path, "content": "".join(changed)}),
                   text(["done"])])
    client = subject.start(model.url)
    try:
        subject.handshake(client, PLAIN)
        buffer = Buffer(client, "file://" + path, lines)
        session = subject.session(client)
        client.start_turn(session)
        client.follow({"workspace/applyEdit": buffer.apply})
        took, before = [], cpu(client.pid)
        for _ in range(LISTS):
            data, number = client.request("interline/review/list", {"sessionId": session})
            began = time.perf_counter()
            client.send(data)
            listed = body_of(client, number)
            took.append((time.perf_counter() - began) * 1e3)
            count = len(json.loads(listed)["result"]["hunks"])
            if count != hunks:
                raise RuntimeError(f"{count} hunks of {hunks} were listed")
        bench.note("review", side, statistics.median(took), (cpu(client.pid) - before) / LISTS)
    finally:
        client.stop()
        model.close()


def body_of(client, number):
    """The answer as bytes: parsing it is the client's work."""
    mark = b'"id":%d' % number
    while True:
        for body in client.bodies():
            if mark in body[:100] or mark in body[-100:]:
                return body
        client.more()


MEASURES = [
    Measure(under_typing, [
        Row("edit-typed", f"edit under typing in {LONG} lines, slowest", "ms", f"{SHORT} lines",
            most=20,
            meaning=f"from the model's answer with an `edit` call to the request that edits the "
                    f"buffer, the slowest of {EDITS} edits; before each, the user typed "
                    f"{TYPED} characters elsewhere; compared with a short document"),
    ], sides=(BESIDE, OURS)),
    Measure(review, [
        Row("review", f"review of {HUNKS} hunks", "ms", "1 hunk", most=50, cpu="ms",
            meaning=f"`review/list` of {HUNKS} changed places in {HUNKS * 10} lines, from the "
                    "request to the answer; compared with one place in as many lines"),
    ], sides=(BESIDE, OURS)),
]
