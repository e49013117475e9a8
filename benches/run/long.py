"""Rows about long conversations: many turns, many steps, compaction, a large log."""

import json
import os
import statistics
import subprocess
import sys
import time
import zlib

from client import ENDED
from harness import BESIDE, OURS, Curve, Measure, Row, Subject
from model import Model, read, text
from process import cpu, memory

TURNS = 2_000
WINDOW = 20  # turns or steps of one figure
STEPS = 1_000
RESULT = 4_096  # bytes of one tool result
LOG = int(os.environ.get("BENCH_LOG_MB", 500))  # MB
LOGS = [1, 10, 100]  # MB; the last size is that of the row
UNCOMPACTED = "[limits]\nsteps = {steps}\n[compaction]\nauto = false\n"


def conversation(bench, side):
    """Each second turn reads a file: three messages a turn. The floor forgets after each turn, so
    the first turns are what the last ones are compared with."""
    subject = Subject(side, bench.command(side), config=UNCOMPACTED.format(steps=30))
    with open(subject.file, "w", encoding="ascii") as out:
        out.write("a line of text\n" * 8)
    asked = read(0, subject.file)

    def answer(number, _body):
        # Requests: a call, its continuation, a turn without a call, and so on.
        return asked if number % 3 == 0 else text(["This is the answer of one turn."])

    model = Model(answer)
    client, session = subject.ready(model.url)
    try:
        spent, held, late = [], [], []
        for number in range(TURNS):
            before = cpu(client.pid)
            began, ended = client.turn(session)
            late.append((ended - began) * 1e3)
            spent.append(cpu(client.pid) - before)
            if number % WINDOW == WINDOW - 1:
                held.append(memory(client.pid)["Rss"])
                bench.point("turns", "CPU of a turn, ms", number + 1,
                            statistics.mean(spent[-WINDOW:]))
                bench.point("turns-memory", "resident memory", number + 1, held[-1])
        first, last = slice(WINDOW, 2 * WINDOW), slice(-WINDOW, None)
        for at, where in ((first, BESIDE), (last, OURS)):
            bench.note("turn-late", where, statistics.median(late[at]),
                       statistics.mean(spent[at]))
            bench.note("turn-cpu", where, statistics.mean(spent[at]))
        each = (held[-1] - held[0]) * 1024 / (TURNS - WINDOW)
        bench.note("turn-memory", OURS, each)
    finally:
        client.stop()
        model.close()


class Heap:
    """Counts the live heap of what a subject starts, by a library that is loaded before."""

    def __init__(self, subject):
        here = os.path.dirname(os.path.abspath(__file__))
        library = f"{subject.place}/heap.so"
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, f"{here}/heap.c"],
                       check=True)
        self.file = f"{subject.place}/heap"
        self.before = ["/usr/bin/env", f"LD_PRELOAD={library}", f"HEAP_FILE={self.file}"]

    def live(self):
        """MiB."""
        with open(self.file, "rb") as file:
            return int.from_bytes(file.read(8), sys.byteorder) / 2**20


def heap(bench, side):
    """A thousand steps of 4 KB results in one turn, then a compaction, then a fresh process."""
    subject = Subject(side, bench.command(side), config=UNCOMPACTED.format(steps=STEPS + 10))
    with open(subject.file, "w", encoding="ascii") as out:
        out.write("x" * 63 + "\n" + ("a line of text " * 4 + "abc\n") * (RESULT // 64 - 1))
    # With the headings that a summary must have.
    summary = "## Task\nRead.\n## State\nAll was read.\n## Next\nNothing.\n"
    model = Model([read(number, subject.file) for number in range(STEPS)]
                  + [text([summary]), text(["done"])])
    counted = Heap(subject)
    client, session = subject.ready(model.url, before=counted.before)
    spent = []
    model.at_request = lambda _: spent.append(cpu(client.pid))
    try:
        time.sleep(0.3)
        idle = counted.live()
        client.turn(session)
        if len(model.arrived) != STEPS + 1:
            raise RuntimeError(f"{len(model.arrived)} requests were made")
        with open(subject.log(), "rb") as log:
            history = sum(len(row) for row in log if row.startswith(b'{"type":"message"')) / 2**20
        # The memory of a conversation may be four times its size.
        bench.note("heap", OURS, counted.live())
        bench.note("heap", BESIDE, idle + 4 * history)
        bench.note("heap-pages", OURS, memory(client.pid)["Private_Dirty"])
        client.call("interline/session/compact", {"sessionId": session})
        time.sleep(1)
        bench.note("heap-compacted", OURS, counted.live())
    finally:
        client.stop()
    for at in range(WINDOW, STEPS + 1, WINDOW):
        bench.point("steps", "CPU of a step", at, (spent[at] - spent[at - WINDOW]) / WINDOW)
    client = subject.start(model.url, before=counted.before)
    try:
        subject.handshake(client)
        client.call("interline/session/open", {"sessionId": session, "limit": 1})
        time.sleep(1)
        bench.note("heap-compacted", BESIDE, counted.live())
    finally:
        client.stop()
        model.close()


def summed(body):
    """A record of the log with its checksum."""
    return body[:-1] + b',"crc":"%08x"}\n' % zlib.crc32(body)


def line(record):
    return summed(json.dumps(record, separators=(",", ":"), ensure_ascii=False).encode())


def large_log(subject, megabytes):
    """A session of one real turn with a call, its records again and again with other ids."""
    model = Model([read(0, subject.file), text(["done"])])
    client, session = subject.ready(model.url)
    try:
        client.turn(session)
        client.call("interline/session/list", {})
    finally:
        client.stop()
        model.close()
    path, records = subject.log(), []
    with open(path, "rb") as rows:
        for row in rows:
            record = json.loads(row)
            record.pop("crc", None)
            records.append(record)
    head = next(at for at, record in enumerate(records) if record["type"] == "item")
    turn = [record for record in records[head:]
            if record["type"] in ("item", "message", "usage", "tail")]
    grown(path, records, turn, megabytes * 1_000_000)
    return session, path


def grown(path, records, turn, size):
    old = next(record["turn"] for record in turn if "turn" in record)
    rows = []  # with marks where the number of the turn and of the event go
    for record in turn:
        if "seq" in record:
            record = {**record, "seq": "#SEQ#"}
        row = json.dumps(record, separators=(",", ":"), ensure_ascii=False)
        row = row.replace(old, old[:-8] + "#TURN#").replace("toolu_0", "toolu_#TURN#")
        rows.append(row.replace('"#SEQ#"', "#SEQ#"))
    number = seq = 0
    with open(path + ".new", "wb") as out:
        written = sum(out.write(line(record)) for record in records)
        while written < size:
            number += 1
            for row in rows:
                seq += 1
                row = row.replace("#TURN#", f"{number:08x}").replace("#SEQ#", str(1000 + seq))
                written += out.write(summed(row.encode()))
            if number % 50 == 49:
                written += out.write(line(compaction(old, number)))
    os.replace(path + ".new", path)


def compaction(old, number):
    """Without it no model's window would hold the conversation."""
    said = [{"role": role, "content": [{"type": "text", "text": words}]}
            for role, words in (("user", "a summary"), ("assistant", "done"))]
    return {"type": "compaction", "turn": f"{old[:-8]}{number:08x}", "reason": "threshold",
            "first_kept": 0, "summary": "a summary", "tokens_before": 100_000,
            "tokens_after": 100, "model": "anthropic/claude-opus-5-5", "messages": said}


def opened(subject, session):
    """Milliseconds to the first page and to the next request, and MiB then."""
    model = Model([text(["done"])])
    client = subject.start(model.url)
    try:
        subject.handshake(client)
        began = time.perf_counter()
        client.call("interline/session/open", {"sessionId": session, "limit": 200})
        first = (time.perf_counter() - began) * 1e3
        client.start_turn(session, "go on")
        client.wait_mark(ENDED)
        return first, (model.arrived[0] - began) * 1e3, memory(client.pid)["Rss"]
    finally:
        client.stop()
        model.close()


def last_page(path):
    """Milliseconds to parse the end of the file: what opening it costs at least."""
    began = time.perf_counter()
    with open(path, "rb", buffering=0) as file:
        file.seek(-min(1 << 20, os.path.getsize(path)), os.SEEK_END)
        rows = file.read().split(b"\n")[1:-1]
    for row in rows[-400:]:
        json.loads(row)
    return (time.perf_counter() - began) * 1e3


def log(bench, side):
    for megabytes in [*LOGS, LOG]:
        subject = Subject(side, bench.command(side))
        session, path = large_log(subject, megabytes)
        without_checkpoint = opened(subject, session)[0]
        opens = [opened(subject, session) for _ in range(3)]
        first = statistics.median(one[0] for one in opens)
        bench.point("log", "Interline", megabytes, first)
        bench.point("log", "the last page alone", megabytes, last_page(path))
    for one in opens:
        bench.note("log-page", OURS, one[0])
        bench.note("log-page", BESIDE, last_page(path))
        bench.note("log-request", OURS, one[1])
        bench.note("log-memory", OURS, one[2])
    bench.remark("log-page", f"the first time, without a checkpoint: {without_checkpoint:.0f} ms")


MEASURES = [
    Measure(conversation, [
        Row("turn-late", f"turn after {TURNS} turns", "ms", "first turns", cpu="ms",
            meaning=f"{TURNS} turns with {TURNS * 3} messages in one session, without "
                    f"compaction: the last {WINDOW} against turns {WINDOW + 1} to {2 * WINDOW}"),
        Row("turn-cpu", "its processor time", "ms", "first turns", ratio=3),
        Row("turn-memory", "memory each turn adds", "KiB", most=10,
            meaning="growth of resident memory, divided by the number of turns"),
    ], sides=(OURS,), runs=1, curves=(
        Curve("turns", "Processor time of a turn, by turns so far", "turns", "ms"),
        Curve("turns-memory", "Resident memory, by turns so far", "turns", "MiB"))),
    Measure(heap, [
        Row("heap", f"live heap after {STEPS} steps of 4 KB", "MiB", "idle + 4 × text", ratio=1,
            meaning="counted by a library loaded before the program; compared with the idle heap "
                    "plus four times the size of the conversation"),
        Row("heap-pages", "pages written by then", "MiB", meaning="`Private_Dirty`"),
        Row("heap-compacted", "live heap after compaction", "MiB", "fresh process", ratio=1.2,
            meaning="compared with a new process that opened the session"),
    ], sides=(OURS,), runs=1, curves=(
        Curve("steps", "Processor time of a read step, by steps so far", "steps", "ms"),)),
    Measure(log, [
        Row("log-page", f"first page of a log of {LOG} MB", "ms", "its last page", most=100,
            meaning="from `session/open` to its answer with 200 items; parsing the last 400 "
                    "records alone beside it"),
        Row("log-request", "open → next model request", "ms", most=300),
        Row("log-memory", "memory with it open", "MiB"),
    ], sides=(OURS,), runs=1, curves=(
        Curve("log", "Opening a session, by length of its log", "MB", "ms", True),)),
]
