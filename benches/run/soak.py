"""Thousands of turns over eight sessions of one server, with faults. Prints memory, descriptors,
threads and latency over time, and whether they stay flat; fails if the first three do not."""

import argparse
import collections
import itertools
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from client import ENDED, frame
from harness import CAPABILITIES, Subject
from model import Model, Refusal, Reply, call, event, text
from process import cpu, descriptors, memory, threads

SESSIONS = 8
COMPACT = 50  # turns of a session between two compactions
SAMPLES = 100
IDLE = 10  # seconds
SETTLE = 15  # seconds until unused threads have ended
LINES = 40
# What a turn does, and how often in a hundred. The first three have no fault.
PLAIN = ("answer", "read", "edit")
KINDS = {"answer": 34, "read": 20, "edit": 16, "exec": 3, "limited": 2, "failing": 2,
         "overloaded": 2, "cut": 3, "slow": 3, "malformed": 2, "missing": 3, "arguments": 2,
         "unknown": 2, "cancel": 3, "reopen": 3}
DIRECTIVE = re.compile(rb"soak (\w+) (\d+) (\d+) of (\d+)")
SUMMARY = "## Task\nSoak.\n## State\nMany turns were made.\n## Next\nMore of them.\n"


class Script:
    """What the model does: a list of answers for each prompt, which names its kind."""

    def __init__(self, folder):
        self.folder = folder
        self.rest = {}  # number of a prompt → its answers
        self.ids = itertools.count()
        self.lock = threading.Lock()

    def __call__(self, _number, body):
        if b"Write a summary of the conversation" in body[-20_000:]:
            return text([SUMMARY])
        kind, number, value, session = DIRECTIVE.findall(body)[-1]
        with self.lock:
            if number not in self.rest:
                name = f"{self.folder}/s{int(session)}.txt"
                self.rest[number] = iter(self.answers(kind.decode(), name, int(value)))
            found = next(self.rest[number], None)
            if found is None:
                del self.rest[number]
        return found or text(["All ", "is ", "done."])

    def answers(self, kind, name, value):
        use = next(self.ids)
        said = text(["Some ", "words ", "first."])
        if kind in ("edit", "reopen"):
            return [call(f"{use}r", "read", {"path": name}),
                    call(f"{use}e", "edit", {"path": name, "old_string": f"value {value}\n",
                                             "new_string": f"value {value + 1}\n"})]
        broken = said[:3] + [b"event: content_block_delta\ndata: {\"type\": \"content_b\n\n"]
        return {
            "answer": [said],
            "read": [call(use, "read", {"path": name})],
            "exec": [call(use, "exec", {"command": "true"})],
            "limited": [Refusal("429 Too Many Requests", "rate_limit_error")],
            "failing": [Refusal("500 Internal Server Error", "api_error")],
            "overloaded": [said[:3] + [event("error", {"error": {
                "type": "overloaded_error", "message": "Overloaded"}})]],
            "cut": [Reply(said[:3], cut=True)],
            "slow": [Reply(text(["slowly "] * 10), pause=0.02)],
            "malformed": [broken],
            "missing": [call(use, "read", {"path": f"{name}.missing"})],
            "arguments": [call(use, "read", {"offset": "five"})],
            "unknown": [call(use, "no_such_tool", {})],
            "cancel": [Reply(said[:3], hold=True)],
        }[kind]


class Session:
    """A conversation and its document."""

    def __init__(self, soak, number):
        self.soak, self.number = soak, number
        self.path = f"{soak.subject.work}/s{number}.txt"
        self.lines = [f"line {at}\n" for at in range(LINES)]
        self.lines[LINES // 2] = "value 0\n"
        self.version = 0
        self.turns = 0
        soak.subject.write(self.path, "".join(self.lines))
        self.open()
        self.id = soak.subject.session(soak.client)
        self.kind, self.began, self.compacting = None, 0, None

    def value(self):
        return next(int(line.split()[1]) for line in self.lines if line.startswith("value "))

    def tell(self, method, params):
        self.soak.client.send(self.soak.client.notification(method, params))

    def open(self):
        self.version = 1
        self.tell("textDocument/didOpen", {"textDocument": {
            "uri": f"file://{self.path}", "languageId": "text", "version": 1,
            "text": "".join(self.lines)}})

    def apply(self, part):
        """Edits of whole lines or of parts of one line, as the editor would make them."""
        changes = []
        for edit in reversed(part["edits"]):
            start, end = edit["range"]["start"], edit["range"]["end"]
            before = self.lines[start["line"]][:start["character"]]
            after = self.lines[end["line"]][end["character"]:] if end["line"] < len(self.lines) else ""
            fresh = (before + edit["newText"] + after).splitlines(keepends=True)
            self.lines[start["line"]:end["line"] + 1] = fresh
            changes.append({"range": edit["range"], "text": edit["newText"]})
        self.version += 1
        self.tell("textDocument/didChange", {
            "textDocument": {"uri": f"file://{self.path}", "version": self.version},
            "contentChanges": changes})
        return {"applied": True}

    def next(self):
        """Sends the next prompt, or a compaction."""
        client = self.soak.client
        self.turns += 1
        # Not all sessions at the same time.
        if (self.turns + self.number * 6) % COMPACT == 0 and self.compacting is None:
            data, self.compacting = client.request("interline/session/compact",
                                                   {"sessionId": self.id})
            client.send(data)
            return
        self.compacting = None
        self.kind, number = self.soak.pick()
        if self.kind == "reopen":
            self.soak.subject.write(self.path, "".join(self.lines))
            self.tell("textDocument/didClose", {"textDocument": {"uri": f"file://{self.path}"}})
            self.open()
        self.began = client.start_turn(
            self.id, f"soak {self.kind} {number} {self.value()} of {self.number}")

    def cancel(self):
        data, _ = self.soak.client.request("interline/turn/cancel", {"sessionId": self.id})
        self.soak.client.send(data)


class Soak:
    def __init__(self, interline, turns):
        self.turns, self.done, self.given = turns, 0, 0
        self.chance = random.Random(7)
        plain = json.loads(json.dumps(CAPABILITIES))
        plain["experimental"]["interline"]["edit"] = False
        self.subject = Subject("soak", [os.path.abspath(interline), "lsp"], trusted=True)
        self.model = Model(Script(self.subject.work))
        self.client = self.subject.start(self.model.url)
        self.subject.handshake(self.client, plain)
        self.ends = collections.Counter()  # (kind, reason) → turns
        self.late = []  # milliseconds of turns without a fault since the last sample
        self.samples, self.sampled = [], (0.0, 0)
        self.sessions = {}
        for number in range(SESSIONS):
            session = Session(self, number)
            self.sessions[session.id] = session

    def pick(self):
        self.given += 1
        return self.chance.choices(list(KINDS), list(KINDS.values()))[0], self.given

    def run(self):
        self.started = time.perf_counter()
        for session in self.sessions.values():
            session.next()
        while self.done < self.turns:
            self.client.more()
            for body in self.client.bodies():
                self.take(body)
            # What was read is not needed again.
            del self.client.seen[:self.client.at]
            self.client.at = 0

    def take(self, body):
        message = json.loads(body)
        method, params = message.get("method"), message.get("params", {})
        if method and "id" in message:
            self.client.send(frame({"jsonrpc": "2.0", "id": message["id"],
                                    "result": self.answer(method, params)}))
        elif method == ENDED.decode():
            self.ended(self.sessions[params["sessionId"]], params["stopReason"])
        elif method == "interline/turn/event":
            session = self.sessions[params["sessionId"]]
            if session.kind == "cancel" and params["event"].get("type") == "textDelta":
                session.kind = "cancelled"
                session.cancel()
        elif "error" in message:
            raise RuntimeError(f"an answer is an error: {message['error']}")
        elif message.get("id"):
            for session in self.sessions.values():
                if session.compacting == message["id"]:
                    session.next()

    def answer(self, method, params):
        if method == "workspace/applyEdit":
            part = params["edit"]["documentChanges"][0]
            name = part["textDocument"]["uri"].removeprefix("file://")
            owner = next(one for one in self.sessions.values() if one.path == name)
            return owner.apply(part)
        if method == "interline/approval/request":
            return {"choice": "allowSession", "hash": params["hash"]}
        if method == "interline/workspace/save":
            return {"results": [{"uri": uri, "status": "saved"} for uri in params["uris"]]}
        raise RuntimeError(f"the server asked for {method}")

    def ended(self, session, reason):
        if session.compacting is not None:
            if reason != "endTurn":
                raise RuntimeError(f"a compaction ended with {reason}")
            return  # its answer starts the next turn
        self.done += 1
        self.ends[session.kind, reason] += 1
        if session.kind in PLAIN:
            self.late.append((time.perf_counter() - session.began) * 1e3)
        if self.done % max(1, self.turns // SAMPLES) == 0:
            self.sample()
        if self.given < self.turns:
            session.next()

    def sample(self):
        held, late = memory(self.client.pid), sorted(self.late) or [0.0]
        spent, turns = cpu(self.client.pid), self.done - self.sampled[1]
        each, self.sampled = (spent - self.sampled[0]) / turns, (spent, self.done)
        self.late = []
        self.samples.append({
            "turns": self.done, "seconds": round(time.perf_counter() - self.started, 1),
            "rss": held["Rss"], "anonymous": held["Anonymous"],
            "descriptors": descriptors(self.client.pid), "threads": threads(self.client.pid),
            "cpu": each, "p50": statistics.median(late),
            "p95": late[int(len(late) * 0.95)]})
        if self.done % max(1, self.turns // 20) == 0:
            show(self.samples[-1])

    def idle(self):
        """What wakes the server while nothing happens: switches of its threads and system calls."""
        time.sleep(SETTLE)
        before = switches(self.client.pid)
        time.sleep(IDLE)
        after = switches(self.client.pid)
        woken = sum(count - before.get(task, 0) for task, count in after.items())
        found = {"seconds": IDLE, "switches": woken, "calls": None}
        strace = shutil.which("strace")
        if strace:
            with tempfile.NamedTemporaryFile("r") as out:
                subprocess.run(["timeout", "-s", "INT", str(IDLE), strace, "-f", "-qq", "-o",
                                out.name, "-p", str(self.client.pid)], check=False,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                rows = out.read().splitlines()
            # Each thread is inside one call when strace comes, and is still there when it leaves.
            found["calls"] = len([row for row in rows if " = " in row and "<detached" not in row])
            if not rows:
                raise RuntimeError("strace could not watch the server")
        return found

    def check(self):
        """Every edit of a turn that ended well is in its document, once."""
        made = sum(count for (kind, reason), count in self.ends.items()
                   if kind in ("edit", "reopen") and reason == "endTurn")
        found = sum(session.value() for session in self.sessions.values())
        if made != found:
            raise RuntimeError(f"{made} edits were made, and {found} are in the documents")


def switches(pid):
    """How often each thread was switched to."""
    found = {}
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/status", encoding="ascii", errors="replace") as rows:
            found[task] = sum(int(row.split()[1]) for row in rows if "ctxt_switches" in row)
    return found


def show(one):
    print(f"{one['turns']:6} turns {one['seconds']:7.1f} s  rss {one['rss']:6.1f} MiB  anonymous "
          f"{one['anonymous']:6.1f} MiB  descriptors {one['descriptors']:3}  threads "
          f"{one['threads']:3}  p50 {one['p50']:6.1f} ms  p95 {one['p95']:6.1f} ms  "
          f"CPU {one['cpu']:5.1f} ms/turn", file=sys.stderr, flush=True)


#        what, name, unit, most growth as a factor and in addition, whether it can fail the run
FLAT = [("rss", "resident memory", "MiB", 1.1, 1, True),
        ("anonymous", "anonymous memory", "MiB", 1.1, 1, True),
        ("descriptors", "descriptors", "", 1.0, 2, True), ("threads", "threads", "", 1.0, 1, True),
        ("cpu", "processor time of a turn", "ms", 1.25, 0.5, False),
        ("p50", "latency of a turn, median", "ms", 1.25, 1, False),
        ("p95", "latency of a turn, 95th percentile", "ms", 1.5, 5, False)]


def verdicts(samples):
    """The last tenth of the run against its second tenth."""
    tenth = max(1, len(samples) // 10)
    found = []
    for key, name, unit, factor, more, fails in FLAT:
        early = statistics.median(one[key] for one in samples[tenth:2 * tenth])
        last = statistics.median(one[key] for one in samples[-tenth:])
        found.append({"key": key, "name": name, "unit": unit, "early": early, "last": last, "fails": fails,
                      "flat": last <= early * factor + more})
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=10_000)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--interline", required=True)
    options = parser.parse_args()
    soak = Soak(options.interline, options.turns)
    try:
        soak.run()
        soak.check()
        facts = {"turns": soak.done, "sessions": SESSIONS, "compactEvery": COMPACT,
                 "seconds": round(time.perf_counter() - soak.started),
                 "samples": soak.samples, "verdicts": verdicts(soak.samples),
                 "ends": sorted([*key, count] for key, count in soak.ends.items()),
                 "idle": soak.idle()}
    finally:
        soak.client.stop()
        soak.model.close()
    if options.json:
        json.dump(facts, sys.stdout, indent=1)
        print()
    else:
        for kind, reason, count in facts["ends"]:
            print(f"{kind:11} {reason:12} {count:6}")
        for one in facts["verdicts"]:
            print(f"{one['name']:34} {one['early']:8.1f} → {one['last']:8.1f} {one['unit']:4} "
                  f"{'flat' if one['flat'] else 'GROWS'}")
        idle = facts["idle"]
        calls = "not counted, strace is not installed" if idle["calls"] is None else idle["calls"]
        print(f"idle for {idle['seconds']} s: {idle['switches']} thread switches; "
              f"system calls: {calls}")
    grows = [one["key"] for one in facts["verdicts"] if one["fails"] and not one["flat"]]
    if grows:
        sys.exit(f"not flat: {', '.join(grows)}")


if __name__ == "__main__":
    main()
