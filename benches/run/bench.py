"""Measures the program beside the floor, in one run, interleaved; prints medians, ratios and the
goals. It never fails because of a figure."""

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
import time

from client import Client, rss, spawned
from model import Model, read, text

CAPABILITIES = {
    "general": {"positionEncodings": ["utf-16"]},
    "workspace": {"applyEdit": True, "workspaceEdit": {"documentChanges": True}},
    "experimental": {"interline": {"version": 1, "events": True, "approvals": True,
                                   "save": True, "edit": True, "commands": True,
                                   "userSettings": True}},
}
DELTAS = 20_000
CHANGES = 2_000
STEPS = 20


class Subject:
    """One of the two programs, on a stage of its own."""

    def __init__(self, name, command):
        self.name = name
        self.command = command
        self.stage = tempfile.TemporaryDirectory(prefix="bench-")
        self.work = os.path.join(os.path.realpath(self.stage.name), "work")
        for folder in ("work", "home", "config", "state", "run", "tmp"):
            os.makedirs(os.path.join(self.stage.name, folder), exist_ok=True)
        self.file = os.path.join(self.work, "a.txt")
        with open(self.file, "w", encoding="ascii") as out:
            out.write("a line of text\n" * 100)

    def start(self, url, mode=None):
        place = self.stage.name
        environment = {
            "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": f"{place}/home",
            "XDG_CONFIG_HOME": f"{place}/config", "XDG_STATE_HOME": f"{place}/state",
            "XDG_DATA_HOME": f"{place}/state", "XDG_CACHE_HOME": f"{place}/tmp",
            "XDG_RUNTIME_DIR": f"{place}/run", "TMPDIR": f"{place}/tmp",
            "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "bench",
        }
        command = self.command + ([mode] if mode else [])
        return Client(command, environment, self.work)

    def handshake(self, client):
        root = "file://" + self.work
        client.call("initialize", {
            "processId": os.getpid(), "rootUri": root, "capabilities": CAPABILITIES,
            "workspaceFolders": [{"uri": root, "name": "work"}],
            "initializationOptions": {"model": "anthropic/claude-opus-5-5"},
        })
        done = time.perf_counter()
        client.send(client.notification("initialized", {}))
        return done

    def prompt(self, client):
        session = client.call("interline/session/new", {})["sessionId"]
        data, number = client.request("interline/turn/start", {
            "sessionId": session, "input": [{"type": "text", "text": "go"}]})
        client.send(data)
        return number


def measure_initialize(subject, facts):
    client = subject.start("http://127.0.0.1:9")
    try:
        facts["initialize"].append((subject.handshake(client) - client.began) * 1e3)
        client.call("interline/session/new", {})
        time.sleep(0.3)  # settles, so that idle memory is idle
        facts["memory"].append(rss(client.process.pid))
    finally:
        client.stop()


def measure_first_request(subject, facts):
    model = Model([text(["ok"])])
    client = subject.start(model.url)
    had = []
    model.at_first_request = lambda: had.append(spawned(client.process.pid))
    try:
        subject.handshake(client)
        client.answer(subject.prompt(client))
        client.wait_mark(b"interline/turn/ended")
        facts["request"].append((model.arrived[0] - client.began) * 1e3)
        facts["processes"].append(float(had[0]))
    finally:
        client.stop()
        model.close()


def measure_gap(subject, facts):
    answers = [read(n, subject.file) for n in range(STEPS)] + [text(["ok"])]
    model = Model(answers)
    client = subject.start(model.url)
    try:
        subject.handshake(client)
        client.answer(subject.prompt(client))
        client.wait_mark(b"interline/turn/ended")
        gaps = [(after - before) * 1e3 for before, after in zip(model.sent, model.arrived[1:])]
        facts["gap"].append(statistics.median(gaps[1:]))
    finally:
        client.stop()
        model.close()


def measure_stream(subject, facts):
    words = [f"word{n} " for n in range(DELTAS)]
    model = Model([text(words)])
    client = subject.start(model.url)
    try:
        subject.handshake(client)
        client.answer(subject.prompt(client))
        end = client.wait_mark(b"interline/turn/ended")
        facts["stream"].append(DELTAS / (end - model.arrived[0]))
        shown, count = [], 0
        for body in client.aside + list(client.bodies()):
            event = json.loads(body).get("params", {}).get("event", {})
            if event.get("type") == "textDelta":
                shown.append(event["text"])
                count += 1
        facts["notifications"].append(float(count))
        facts["equal"].append(float("".join(shown) == "".join(words)))
    finally:
        client.stop()
        model.close()


def changes(client, uri):
    """Deterministic typing: one key a change, all over a file of 5 MB."""
    chance = random.Random(7)
    frames = []
    for version in range(2, CHANGES + 2):
        place = {"line": chance.randrange(90_000), "character": chance.randrange(50)}
        change = {"range": {"start": place, "end": place}, "text": "k"}
        frames.append(client.notification("textDocument/didChange", {
            "textDocument": {"uri": uri, "version": version}, "contentChanges": [change]}))
    return b"".join(frames)


def measure_changes(subject, facts):
    client = subject.start("http://127.0.0.1:9", "parse" if subject.name == "floor" else None)
    uri = "file://" + subject.file
    try:
        subject.handshake(client)
        big = ("x" * 55 + "\n") * 93_000
        document = {"uri": uri, "languageId": "text", "version": 1, "text": big}
        client.send(client.notification("textDocument/didOpen", {"textDocument": document}))
        # An unknown method: answered in order, after all that came before it.
        data, number = client.request("bench/flush", {})
        client.send(data)
        wait_any(client, number)
        data, number = client.request("bench/flush", {})
        frames = changes(client, uri) + data
        began = time.perf_counter()
        client.send_aside(frames)
        wait_any(client, number)
        facts["changes"].append(CHANGES / (time.perf_counter() - began))
    finally:
        client.stop()


def wait_any(client, number):
    try:
        client.answer(number)
    except RuntimeError as error:
        if "-32601" not in str(error):
            raise


#       key, what is printed, unit, goal in words, whether the ratio meets it
ROWS = [
    ("initialize", "spawn → initialize answered", "ms", "≤ 2.5 ×", lambda r: r <= 2.5),
    ("request", "spawn → first model request", "ms", "≤ 3.5 ×", lambda r: r <= 3.5),
    ("memory", "idle memory", "MiB", "≤ 3 ×", lambda r: r <= 3),
    ("gap", "read step: answer → next request", "ms", "≤ 3 × and ≤ 1 ms", None),
    ("stream", f"{DELTAS} deltas, last byte visible", "/s", "≥ 0.75 ×", lambda r: r >= 0.75),
    ("changes", "didChange on 5 MB (floor: parse only)", "/s", "≥ 0.5 ×", lambda r: r >= 0.5),
]
MEASURES = [measure_initialize, measure_first_request, measure_gap, measure_stream,
            measure_changes]


def table(floor, ours):
    print(f"{'measure':40} {'floor':>22} {'interline':>22} {'ratio':>7}  goal")
    for key, title, unit, goal, met in ROWS:
        a, b = floor[key], ours[key]
        if not a or not b:
            print(f"{title:40} not measured")
            continue
        ratio = statistics.median(b) / statistics.median(a)
        fine = met(ratio) if met else ratio <= 3 and statistics.median(b) <= 1
        show = [f"{statistics.median(x):.1f} ({min(x):.1f}–{max(x):.1f})" for x in (a, b)]
        if key == "gap":
            show = [f"{statistics.median(x):.2f} ({min(x):.2f}–{max(x):.2f})" for x in (a, b)]
        print(f"{title + ', ' + unit:40} {show[0]:>22} {show[1]:>22} {ratio:7.2f}  {goal}: "
              f"{'met' if fine else 'MISSED'}")
    for name, facts in (("floor", floor), ("interline", ours)):
        if facts["processes"]:
            count = sum(facts["processes"])
            print(f"{name}: runs with a process spawned before the first request: {count:.0f} "
                  f"of {len(facts['processes'])}")
        if facts["notifications"]:
            equal = "all" if all(facts["equal"]) else "NOT ALL"
            least = min(facts["notifications"])
            print(f"{name}: {equal} text equal, {least:.0f} notifications at least (goal ≥ 100)")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=11)
    parser.add_argument("--interline", required=True)
    parser.add_argument("--floor", required=True)
    options = parser.parse_args()
    subjects = [Subject("floor", [os.path.abspath(options.floor)]),
                Subject("interline", [os.path.abspath(options.interline), "lsp"])]
    keys = [row[0] for row in ROWS] + ["processes", "notifications", "equal"]
    facts = {subject.name: {key: [] for key in keys} for subject in subjects}
    broken = {}
    for turn in range(options.runs):
        # The order alternates, so that no program always runs on a warm machine.
        for subject in subjects if turn % 2 == 0 else reversed(subjects):
            for measure in MEASURES:
                try:
                    measure(subject, facts[subject.name])
                except (RuntimeError, OSError, IndexError, KeyError) as error:
                    broken[f"{subject.name} {measure.__name__}"] = str(error)[:300]
    print(f"{options.runs} runs, median (min–max), {os.cpu_count()} cores")
    table(facts["floor"], facts["interline"])
    for where, error in broken.items():
        print(f"failed: {where}: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
