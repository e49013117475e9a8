"""Measures the turn and the log beside the floor: paced deltas, what a delta costs, a long
conversation's memory, opening a large log. Prints goals as met or MISSED; never fails because of
a figure."""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
import zlib

from bench import Subject
from model import Model, read, text

PACED = 400  # deltas
PAUSE = 0.005
BURST = 20_000  # deltas
STEPS = 1_000
RESULT = 4_096  # bytes of one tool result
LOG = 500_000_000
END = b"interline/turn/ended"


class Paced(Model):
    """Sends a piece every 5 ms, and notes when."""

    def serve(self, stream):
        self.wrote = []
        try:
            while self.take(stream):
                stream.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
                               b"transfer-encoding: chunked\r\n\r\n")
                due = time.perf_counter()
                for piece in self.answers[0]:
                    due += PAUSE
                    time.sleep(max(0, due - time.perf_counter()))
                    data = b"%x\r\n%s\r\n" % (len(piece), piece)
                    self.wrote.append((time.perf_counter(), piece))
                    stream.sendall(data)
                stream.sendall(b"0\r\n\r\n")
        except OSError:
            pass


def cpu(pid):
    """Milliseconds of processor time so far, of the process alone."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as stat:
            total += int(stat.read().split()[0])
    return total / 1e6


def memory(pid):
    """MiB that only this process holds and has written: the nearest to a heap from outside."""
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii", errors="replace") as rows:
        return sum(int(row.split()[1]) for row in rows if row.startswith("Private_Dirty")) / 1024


class Heap:
    """Counts the live heap of what it starts, by a library that is loaded before."""

    def __init__(self, subject):
        here = os.path.dirname(os.path.abspath(__file__))
        place = subject.stage.name
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", f"{place}/heap.so",
                        f"{here}/heap.c"], check=True)
        self.file = f"{place}/heap"
        subject.command = ["/usr/bin/env", f"LD_PRELOAD={place}/heap.so",
                           f"HEAP_FILE={self.file}"] + subject.command

    def live(self):
        """MiB."""
        with open(self.file, "rb") as file:
            return int.from_bytes(file.read(8), sys.byteorder) / 2**20


def latency(subject, facts):
    words = [f"word{number} " for number in range(PACED)]
    model = Paced([text(words)])
    client = subject.start(model.url)
    try:
        subject.handshake(client)
        client.answer(subject.prompt(client))
        came, looked = {}, client.at
        while END not in client.seen[looked:]:
            client.more()
            now = time.perf_counter()
            for part in bytes(client.seen[looked:]).split(b'"text":"word')[1:]:
                number = part.split(b" ")[0]
                if number.isdigit():
                    came.setdefault(int(number), now)
            looked = max(looked, client.seen.rfind(b"\r\n\r\n") - 200)
        wrote = [when for when, piece in model.wrote if b"text_delta" in piece]
        gaps = sorted((came[number] - when) * 1e3 for number, when in enumerate(wrote)
                      if number in came)
        facts["middle"].append(statistics.median(gaps))
        facts["late"].append(gaps[int(len(gaps) * 0.95)])
        shown = bytes(client.seen).count(b'"textDelta"')
        facts["apart"].append(float(shown))
    finally:
        client.stop()
        model.close()


def cost(subject, facts):
    """Processor time of one delta when they come in a burst, a read of many at a time."""
    words = [f"word{number} " for number in range(BURST)]
    model = Model([text(["ok"]), text(words)])
    client = subject.start(model.url)
    try:
        subject.handshake(client)
        session = client.call("interline/session/new", {})["sessionId"]
        for count in (1, 2):
            client.call("interline/turn/start", {
                "sessionId": session, "input": [{"type": "text", "text": "go"}]})
            before = cpu(client.process.pid)
            while client.seen.count(END) < count:
                client.more()
        facts["burst"].append((cpu(client.process.pid) - before) * 1e3 / BURST)
    finally:
        client.stop()
        model.close()


def paced_cost(subject, facts):
    """The same when each delta comes alone."""
    model = Paced([text([f"word{number} " for number in range(PACED)])])
    client = subject.start(model.url)
    try:
        subject.handshake(client)
        client.answer(subject.prompt(client))
        while b"word5 " not in client.seen:
            client.more()
        before = cpu(client.process.pid)
        client.wait_mark(END)
        facts["alone"].append((cpu(client.process.pid) - before) * 1e3 / (PACED - 6))
    finally:
        client.stop()
        model.close()


def settings(subject, content):
    folder = os.path.join(subject.stage.name, "config/interline")
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/config.toml", "w", encoding="ascii") as out:
        out.write(content)


def session_file(subject):
    root = os.path.join(subject.stage.name, "state/interline/sessions")
    for folder, _, names in os.walk(root):
        for name in names:
            if name.endswith(".jsonl"):
                return os.path.join(folder, name)
    raise RuntimeError("no session log was written")


def growth(subject, report):
    """A thousand steps of 4 KB results in one turn, then a compaction, then a fresh process."""
    with open(subject.file, "w", encoding="ascii") as out:
        out.write("x" * 63 + "\n")
        out.write(("a line of text " * 4 + "abc\n") * (RESULT // 64 - 1))
    settings(subject, f"[limits]\nsteps = {STEPS + 10}\n[compaction]\nauto = false\n")
    answers = [read(number, subject.file) for number in range(STEPS)]
    # With the headings that a summary must have.
    summary = "## Task\nRead.\n## State\nAll was read.\n## Next\nNothing.\n"
    model = Model(answers + [text([summary]), text(["done"])])
    heap = Heap(subject)
    client = subject.start(model.url)
    try:
        subject.handshake(client)
        session = client.call("interline/session/new", {})["sessionId"]
        time.sleep(0.3)
        idle, idle_dirty = heap.live(), memory(client.process.pid)
        client.call("interline/turn/start", {
            "sessionId": session, "input": [{"type": "text", "text": "go"}]})
        while client.seen.count(END) < 1:
            client.more()
        steps = len(model.arrived) - 1
        path = session_file(subject)
        history = sum(len(line) for line in open(path, "rb") if line.startswith(b'{"type":"message"'))
        full, dirty = heap.live(), memory(client.process.pid)
        client.call("interline/session/compact", {"sessionId": session})
        time.sleep(1)
        shortened, kept = heap.live(), memory(client.process.pid)
    finally:
        client.stop()
    client = subject.start(model.url)
    try:
        subject.handshake(client)
        client.call("interline/session/open", {"sessionId": session, "limit": 1})
        time.sleep(1)
        fresh, fresh_dirty = heap.live(), memory(client.process.pid)
        client.call("interline/turn/start", {
            "sessionId": session, "input": [{"type": "text", "text": "go on"}]})
        client.wait_mark(END)
        time.sleep(1)
        used = heap.live()
    finally:
        client.stop()
        model.close()
    mib = history / 2**20
    report(f"live heap after {steps} steps of 4 KB, MiB", full,
           f"≤ idle {idle:.1f} + 4 × history {mib:.1f} = {idle + 4 * mib:.1f}",
           full <= idle + 4 * mib and steps >= STEPS)
    report("written pages then, MiB (Private_Dirty)", dirty,
           f"≤ idle {idle_dirty:.1f} + 4 × history = {idle_dirty + 4 * mib:.1f}",
           dirty <= idle_dirty + 4 * mib)
    report("live heap after compaction, MiB", shortened,
           f"≤ 1.2 × fresh resume {fresh:.2f} = {1.2 * fresh:.2f}", shortened <= 1.2 * fresh)
    print(f"{'':60} a fresh one after its first turn: {used:.2f} MiB; "
          f"written pages then {kept:.1f} MiB, fresh {fresh_dirty:.1f} MiB")


def line(record):
    """A record as the log has it, with its sum."""
    return summed(json.dumps(record, separators=(",", ":"), ensure_ascii=False).encode())


def summed(body):
    return body[:-1] + b',"crc":"%08x"}\n' % zlib.crc32(body)


def large_log(subject, size):
    """A session of one real turn with a call, its records again and again with other ids."""
    model = Model([read(0, subject.file), text(["done"])])
    settings(subject, "")
    client = subject.start(model.url)
    try:
        subject.handshake(client)
        client.answer(subject.prompt(client))
        client.wait_mark(END)
        client.call("interline/session/list", {})
    finally:
        client.stop()
        model.close()
    path = session_file(subject)
    records = []
    for row in open(path, "rb"):
        record = json.loads(row)
        record.pop("crc", None)
        records.append(record)
    head = next(at for at, record in enumerate(records) if record["type"] == "item")
    turn = [record for record in records[head:]
            if record["type"] in ("item", "message", "usage", "tail")]
    grown(path, records, turn, size)
    return records[0]["sessionId"], path


def grown(path, records, turn, size):
    old = next(record["turn"] for record in turn if "turn" in record)
    rows = []  # with marks where the number of the turn and of the event go
    for record in turn:
        if "seq" in record:
            record = {**record, "seq": "#SEQ#"}
        row = json.dumps(record, separators=(",", ":"), ensure_ascii=False)
        row = row.replace(old, old[:-8] + "#TURN#").replace("toolu_0", "toolu_#TURN#")
        rows.append(row.replace('"#SEQ#"', "#SEQ#"))
    place = path + ".new"
    number = seq = 0
    with open(place, "wb") as out:
        written = sum(out.write(line(record)) for record in records)
        while written < size:
            number += 1
            for row in rows:
                seq += 1
                row = row.replace("#TURN#", f"{number:08x}").replace("#SEQ#", str(1000 + seq))
                written += out.write(summed(row.encode()))
            if number % 50 == 49:
                written += out.write(line(compaction(old, number)))
    os.replace(place, path)


def compaction(old, number):
    """Without it no model's window would hold the conversation."""
    said = [{"role": role, "content": [{"type": "text", "text": text}]}
            for role, text in (("user", "a summary"), ("assistant", "done"))]
    return {"type": "compaction", "turn": f"{old[:-8]}{number:08x}", "reason": "threshold",
            "first_kept": 0, "summary": "a summary", "tokens_before": 100_000,
            "tokens_after": 100, "model": "anthropic/claude-opus-5-5", "messages": said}


def opened(subject, url, session):
    client = subject.start(url)
    try:
        subject.handshake(client)
        began = time.perf_counter()
        page = client.call("interline/session/open", {"sessionId": session, "limit": 200})
        first = (time.perf_counter() - began) * 1e3
        client.call("interline/turn/start", {
            "sessionId": session, "input": [{"type": "text", "text": "go on"}]})
        client.wait_mark(END)
        return first, began, len(page["items"]), memory(client.process.pid)
    finally:
        client.stop()


def floors(path):
    began = time.perf_counter()
    with open(path, "rb", buffering=0) as file:
        while file.read(1 << 20):
            pass
    whole = (time.perf_counter() - began) * 1e3
    began = time.perf_counter()
    with open(path, "rb", buffering=0) as file:
        file.seek(-(1 << 20), os.SEEK_END)
        rows = file.read().split(b"\n")[1:-1]
    for row in rows[-400:]:
        json.loads(row)
    return whole, (time.perf_counter() - began) * 1e3


def log(command, runs, size, report):
    subject = Subject("interline", command)
    session, path = large_log(subject, size)
    model = Model([text(["done"])])
    try:
        cold = opened(subject, model.url, session)[0]
    finally:
        model.close()
    firsts, requests = [], []
    for _ in range(runs):
        model = Model([text(["done"])])
        try:
            first, began, count, held = opened(subject, model.url, session)
            firsts.append(first)
            requests.append((model.arrived[0] - began) * 1e3)
        finally:
            model.close()
    whole, tail = floors(path)
    size = os.path.getsize(path) / 1e6
    seen = f"(min {min(firsts):.0f}; floor: tail {tail:.1f} ms, whole file {whole:.0f} ms)"
    report(f"first page of a log of {size:.0f} MB, ms", statistics.median(firsts),
           f"≤ 100 ms {seen}, {count} items", statistics.median(firsts) <= 100)
    report("its history: open → next model request, ms", statistics.median(requests),
           f"≤ 300 ms (min {min(requests):.0f})", statistics.median(requests) <= 300)
    print(f"{'':60} memory with it open: {held:.0f} MiB; without its checkpoint {cold:.0f} ms")


def show(title, value, goal, fine):
    print(f"{title:60} {value:10.2f}  {goal}: {'met' if fine else 'MISSED'}")


#       key, what is printed, goal in words, most that the ratio may be
ROWS = [("middle", "paced delta, written → received, median, ms", 1.3),
        ("late", "paced delta, written → received, p95, ms", 2.0),
        ("alone", "processor time of a delta that comes alone, µs", 2.0),
        ("burst", "processor time of a delta in a burst, µs", 2.0)]


def table(floor, ours):
    print(f"{'measure':52} {'floor':>22} {'interline':>22} {'ratio':>6}  goal")
    for key, title, most in ROWS:
        a, b = floor[key], ours[key]
        if not a or not b:
            print(f"{title:52} not measured")
            continue
        cells = [f"{statistics.median(x):.2f} ({min(x):.2f}–{max(x):.2f})" for x in (a, b)]
        ratio = statistics.median(b) / statistics.median(a)
        print(f"{title:52} {cells[0]:>22} {cells[1]:>22} {ratio:6.2f}  ≤ {most} ×: "
              f"{'met' if ratio <= most else 'MISSED'}; of the least {min(b) / min(a):.2f}")
    for name, facts in (("floor", floor), ("interline", ours)):
        if facts["apart"]:
            print(f"{name}: of {PACED} paced deltas at least {min(facts['apart']):.0f} came as "
                  f"notifications of their own")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--log-bytes", type=int, default=LOG)
    parser.add_argument("--interline", required=True)
    parser.add_argument("--floor", required=True)
    options = parser.parse_args()
    command = [os.path.abspath(options.interline), "lsp"]
    subjects = [Subject("floor", [os.path.abspath(options.floor)]), Subject("interline", command)]
    facts = {one.name: {key: [] for key in ("middle", "late", "alone", "burst", "apart")}
             for one in subjects}
    broken = {}
    for turn in range(options.runs):
        for subject in subjects if turn % 2 == 0 else reversed(subjects):
            for measure in (latency, paced_cost, cost):
                try:
                    measure(subject, facts[subject.name])
                except (RuntimeError, OSError, LookupError) as error:
                    broken[f"{subject.name} {measure.__name__}"] = str(error)[:300]
    print(f"{options.runs} runs, median (min–max), {os.cpu_count()} cores")
    table(facts["floor"], facts["interline"])
    for name, measure in (
            ("growth", lambda: growth(Subject("interline", command), show)),
            ("log", lambda: log(command, min(options.runs, 3), options.log_bytes, show))):
        try:
            measure()
        except (RuntimeError, OSError, LookupError, StopIteration,
                subprocess.CalledProcessError) as error:
            broken[name] = repr(error)[:300]
    for where, error in broken.items():
        print(f"failed: {where}: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
