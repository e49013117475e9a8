"""Rows about open documents: typing in a large one, edits in a long one."""

import copy
import random
import statistics
import time

from harness import BESIDE, CAPABILITIES, OURS, Curve, Measure, Row
from model import Model, call, text
from process import cpu

CHANGES = 2_000
LINE = "x" * 55 + "\n"
MEGABYTES = 5
SIZES = [0.01, 0.1, 1, 5, 20]  # MB
SHORT, LONG = 40, 40_000  # lines
EDITS = 8


def typing(client, uri, lines, version):
    """Deterministic typing: one key a change, all over the file."""
    chance = random.Random(7)
    frames = []
    for number in range(version, CHANGES + version):
        place = {"line": chance.randrange(lines), "character": chance.randrange(50)}
        change = {"range": {"start": place, "end": place}, "text": "k"}
        frames.append(client.notification("textDocument/didChange", {
            "textDocument": {"uri": uri, "version": number}, "contentChanges": [change]}))
    return b"".join(frames)


def flush(client, before=b""):
    """Writes `before` and a request of an unknown method, which is answered after all of it."""
    data, number = client.request("bench/flush", {})
    client.send_aside(before + data)
    try:
        client.answer(number)
    except RuntimeError as error:
        if "-32601" not in str(error):
            raise


def typed(subject, mode, megabytes):
    """Changes per second, and microseconds of CPU of each, in a document of this size."""
    client = subject.start(mode=mode)
    uri = "file://" + subject.file
    lines = int(megabytes * 1e6 / len(LINE))
    try:
        subject.handshake(client)
        document = {"uri": uri, "languageId": "text", "version": 1, "text": LINE * lines}
        flush(client, client.notification("textDocument/didOpen", {"textDocument": document}))
        frames, before = typing(client, uri, lines, 2), cpu(client.pid)
        began = time.perf_counter()
        flush(client, frames)
        took = time.perf_counter() - began
        return CHANGES / took, (cpu(client.pid) - before) * 1e3 / CHANGES
    finally:
        client.stop()


def mode(side):
    """The floor only parses the messages."""
    return None if side == OURS else "parse"


def changes(bench, side):
    rate, spent = typed(bench.subject(side), mode(side), MEGABYTES)
    bench.note("change", side, rate, spent)


def sizes(bench, side):
    for megabytes in SIZES:
        spent = typed(bench.subject(side), mode(side), megabytes)[1]
        bench.point("keystrokes", "Interline" if side == OURS else "floor (parse only)",
                    megabytes, spent)


class Buffer:
    """An open document whose editor applies every edit at once."""

    def __init__(self, client, uri, lines):
        self.client, self.uri, self.version = client, uri, 1
        content = "".join(f"line {number} of this text\n" for number in range(lines))
        document = {"uri": uri, "languageId": "text", "version": 1, "text": content}
        client.send(client.notification("textDocument/didOpen", {"textDocument": document}))

    def apply(self, params):
        part = params["edit"]["documentChanges"][0]
        self.version += 1
        changed = [{"range": edit["range"], "text": edit["newText"]}
                   for edit in reversed(part["edits"])]
        self.client.send(self.client.notification("textDocument/didChange", {
            "textDocument": {"uri": self.uri, "version": self.version},
            "contentChanges": changed}))
        return {"applied": True}


def edited(subject, lines):
    """Milliseconds and CPU of one edit in an open document, with the editor's answer."""
    path = f"{subject.work}/long.txt"
    first = lines // 2
    answers = [call(0, "read", {"path": path, "offset": first, "limit": EDITS + 4})]
    answers += [call(number + 1, "edit", {
        "path": path, "old_string": f"line {first + number} of this text\n",
        "new_string": f"line {first + number} of the new text\n"}) for number in range(EDITS)]
    model = Model(answers + [text(["done"])])
    spent = []
    plain = copy.deepcopy(CAPABILITIES)
    plain["experimental"]["interline"]["edit"] = False
    client = subject.start(model.url)
    model.at_request = lambda _: spent.append(cpu(client.pid))
    try:
        subject.handshake(client, plain)
        buffer = Buffer(client, "file://" + path, lines)
        client.start_turn(subject.session(client))
        client.follow({"workspace/applyEdit": buffer.apply})
        if buffer.version != EDITS + 1:
            raise RuntimeError(f"{buffer.version - 1} edits of {EDITS} were sent")
        gaps = [(after - before) * 1e3 for before, after in zip(model.sent, model.arrived[1:])]
        return statistics.median(gaps[1:]), (spent[-1] - spent[1]) / EDITS
    finally:
        client.stop()
        model.close()


def edits(bench, side):
    subject = bench.subject(OURS, "edits", trusted=True)
    bench.note("edit", side, *edited(subject, LONG if side == OURS else SHORT))


MEASURES = [
    Measure(changes, [
        Row("change", f"didChange in a document of {MEGABYTES} MB", "/s", "floor, parse only",
            least=0.5, cpu="µs",
            meaning=f"{CHANGES} single keys all over the document, until all are applied; the "
                    f"floor only parses them; CPU per key"),
    ]),
    Measure(edits, [
        Row("edit", f"edit in an open document of {LONG} lines", "ms", f"{SHORT} lines", ratio=2,
            cpu="ms",
            meaning="from the model's answer with an `edit` call to the next request; in between "
                    "the client applies the edit and reports it; compared with a short document"),
    ], sides=(BESIDE, OURS)),
    Measure(sizes, [], runs=3, curves=(
        Curve("keystrokes", "A keystroke, by size of the document", "MB", "µs of CPU", True),)),
]
