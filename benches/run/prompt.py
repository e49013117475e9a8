"""Measures how the prompt is gathered in a large folder beside the floor: a new process, and a
running server. Counts what is opened and listed. Prints ratios; never fails because of a figure."""

import argparse
import hashlib
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from client import Client

FILES = 100_000
NESTED = 40
SKILLS = 200
MEMORIES = 2_000
SEED = 7
DEPTH = 20
MODEL = "anthropic/claude-opus-5-5"
WORDS = ("cart price round test build deploy parse number buffer layout index query cache "
         "lane frame rope hash order folder release window panel theme font").split()


class Stage:
    """The folder with everything that is gathered, made once and kept for the next run."""

    def __init__(self, place):
        self.place = os.path.realpath(place)
        self.root = f"{self.place}/work"
        self.chain = [self.root]
        for level in range(1, DEPTH):
            self.chain.append(f"{self.chain[-1]}/level{level}")
        self.config = f"{self.place}/config/interline"
        self.state = f"{self.place}/state/interline"
        self.read = []  # files and folders that every session reads or lists
        self.walk = []  # instruction files from the root down
        self.project = {}  # what is remembered of each root
        self.chance = random.Random(SEED)
        fresh = not os.path.exists(f"{self.place}/made")
        if fresh:
            shutil.rmtree(self.place, ignore_errors=True)
        self.fresh = fresh
        self.tree()
        self.skills()
        self.memories()
        self.settings()
        if fresh:
            self.write(f"{self.place}/made", "")

    def write(self, path, text):
        if not self.fresh:
            return
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)

    def sentence(self, words):
        return " ".join(self.chance.choice(WORDS) for _ in range(words))

    def tree(self):
        for level, folder in enumerate(self.chain):
            self.write(f"{folder}/AGENTS.md", f"Rules of level {level}: {self.sentence(40)}.\n")
            self.walk.append(f"{folder}/AGENTS.md")
        for number in range(NESTED - DEPTH):
            text = f"Rules aside {number}: {self.sentence(40)}.\n"
            self.write(f"{self.root}/aside{number}/AGENTS.md", text)
        for number in range(FILES if self.fresh else 0):
            folder = f"{self.root}/aside{number % 20}/part{number // 20 % 50}"
            self.write(f"{folder}/file{number}.rs", f"fn f{number}() {{}}\n")
        self.write(f"{self.root}/.git/HEAD", "ref: refs/heads/main\n")
        self.write(f"{self.root}/.git/refs/heads/main", "0123456789abcdef" * 2 + "01234567\n")
        self.read += [f"{self.root}/.git/HEAD", f"{self.root}/.git/refs/heads/main"]

    def skills(self):
        self.read.append(f"{self.config}/skills")
        for number in range(SKILLS):
            path = f"{self.config}/skills/skill-{number}/SKILL.md"
            self.write(path, f"---\nname: skill-{number}\ndescription: {self.sentence(12)}.\n---\n"
                             + f"{self.sentence(10)}.\n" * 30)
            self.read.append(path)

    def memories(self):
        places = {f"{self.config}/memory": self.read}
        for root in (self.root, self.chain[-1]):
            digest = hashlib.sha256(root.encode()).hexdigest()[:8]
            name = f"{os.path.basename(root)}-{digest}"
            places[f"{self.state}/memory/{name}"] = self.project.setdefault(root, [])
        for place, known in places.items():
            known.append(f"{place}/topics")
            for kind in ("fact", "habit", "constraint", "preference", "skill"):
                count = MEMORIES // 10
                lines = [f"- (2026-11-{1 + n % 28:02}) {self.sentence(12)} {n}\n"
                         for n in range(count)]
                self.write(f"{place}/topics/{kind}.md", f"# {kind}\n\n" + "".join(lines))
                known.append(f"{place}/topics/{kind}.md")

    def settings(self):
        self.write(f"{self.config}/AGENTS.md", "Be brief.\n")
        self.write(f"{self.config}/config.toml", f'model = "{MODEL}"\n')
        self.write(f"{self.state}/trust.json",
                   json.dumps({"version": 1, "folders": [self.root], "files": {}}))
        self.read += [f"{self.config}/AGENTS.md", f"{self.config}/config.toml",
                      f"{self.state}/trust.json"]
        git = f"{self.place}/bin/git"
        self.write(git, f"#!/bin/sh\necho ran >> {self.place}/git-ran\n")
        os.chmod(git, 0o755)
        for folder in ("home", "run", "tmp"):
            os.makedirs(f"{self.place}/{folder}", exist_ok=True)

    def listing(self, root):
        """The name of a file with all that a session of this root reads, in its deepest folder."""
        walk = self.walk if root == self.root else self.walk[-1:]
        name = f"{self.place}/listing-{len(walk)}"
        with open(name, "w", encoding="utf-8") as out:
            out.write("\n".join(self.read + walk + self.project[root]) + "\n")
        return name

    def environment(self):
        place = self.place
        return {"PATH": f"{place}/bin:{os.environ['PATH']}", "LANG": "C.UTF-8",
                "HOME": f"{place}/home", "XDG_CONFIG_HOME": f"{place}/config",
                "XDG_STATE_HOME": f"{place}/state", "XDG_DATA_HOME": f"{place}/state",
                "XDG_CACHE_HOME": f"{place}/tmp", "XDG_RUNTIME_DIR": f"{place}/run",
                "TMPDIR": f"{place}/tmp", "ANTHROPIC_API_KEY": "bench",
                "INTERLINE_LOG": "interline::agent::compose=debug"}


def cold(stage, command):
    """Milliseconds from spawn to end, and the output."""
    began = time.perf_counter()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env=stage.environment(), cwd=stage.root,
                          check=False)
    took = (time.perf_counter() - began) * 1e3
    if done.returncode != 0:
        raise RuntimeError(done.stderr.decode(errors="replace")[-500:])
    return took, done.stdout


class Server:
    """Interline as a running server."""

    def __init__(self, stage, interline):
        self.stage = stage
        self.client = Client([interline, "lsp"], stage.environment(), stage.root)
        root = "file://" + stage.root
        self.client.call("initialize", {
            "processId": os.getpid(), "rootUri": root,
            "capabilities": {"experimental": {"interline": {"version": 1}}},
            "workspaceFolders": [{"uri": root, "name": "work"}],
            "initializationOptions": {},
        })
        self.client.send(self.client.notification("initialized", {}))

    def preview(self):
        ask = {"uri": "file://" + self.stage.chain[-1],
               "input": [{"type": "text", "text": "round the price in the cart"}]}
        client = self.client
        data, number = client.request("interline/prompt/preview", ask)
        mark = b'"id":%d' % number
        began = time.perf_counter()
        client.send(data)
        while True:
            for body in client.bodies():
                if mark in body[:100] or mark in body[-100:]:
                    # Reading the answer is the client's work.
                    took = (time.perf_counter() - began) * 1e3
                    return took, json.loads(body)["result"]
            client.more()


class Stats:
    """The floor as a running process that asks for the state of the same files."""

    def __init__(self, stage, floor, listing):
        self.process = subprocess.Popen([floor, "stat", listing], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, env=stage.environment())
        self.ask()

    def ask(self):
        began = time.perf_counter()
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()
        self.process.stdout.readline()
        return (time.perf_counter() - began) * 1e3


def traced(stage, command):
    """System calls by name, and the folders that were listed, of one new process."""
    strace = shutil.which("strace")
    if not strace:
        return None
    with tempfile.NamedTemporaryFile("r", dir=f"{stage.place}/tmp") as out:
        subprocess.run([strace, "-f", "-y", "-o", out.name, "-e",
                        "trace=getdents64,openat,openat2,open,execve,newfstatat,statx,lstat,stat,"
                        "readlink,readlinkat"] + command,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       env=stage.environment(), cwd=stage.root, check=False)
        text = out.read()
    counts = {}
    for name in re.findall(r"^\d+ +(\w+)\(", text, re.M):
        counts[name] = counts.get(name, 0) + 1
    listed = set(re.findall(r"getdents64\(\d+<([^>]+)>", text))
    return counts, sorted(path for path in listed if path.startswith(stage.root))


def show(title, ours, floor):
    ratio = statistics.median(ours) / statistics.median(floor)
    both = [f"{statistics.median(x):.2f} ({min(x):.2f}–{max(x):.2f})" for x in (floor, ours)]
    print(f"{title:44} {both[0]:>22} {both[1]:>22} {ratio:7.2f}  goal ≤ 2 ×: "
          f"{'met' if ratio <= 2 else 'MISSED'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=11)
    parser.add_argument("--interline", required=True)
    parser.add_argument("--floor", required=True)
    parser.add_argument("--place", default=os.path.join(tempfile.gettempdir(),
                                                        f"interline-bench-prompt-{SEED}"))
    options = parser.parse_args()
    interline, floor = os.path.abspath(options.interline), os.path.abspath(options.floor)
    stage = Stage(options.place)
    command = [interline, "prompt", "--json", stage.chain[-1]]
    check(json.loads(cold(stage, command)[1]), 1)
    facts = {name: ([], []) for name in ("terminal", "editor", "warm", "gathering")}
    for turn in range(options.runs):
        measures = [lambda: terminal(stage, command, floor, facts["terminal"]),
                    lambda: editor(stage, interline, floor, facts["editor"])]
        # The order alternates, so that no program always runs on a warm machine.
        for measure in measures if turn % 2 == 0 else reversed(measures):
            measure()
    warm(stage, interline, floor, options.runs * 3, facts["warm"], facts["gathering"])
    print(f"{FILES} files, {NESTED} AGENTS.md ({DEPTH} on the way), {SKILLS} skills, {MEMORIES} "
          f"memories; {options.runs} runs, median (min–max) in ms, {os.cpu_count()} cores")
    print(f"{'measure':44} {'floor':>22} {'interline':>22} {'ratio':>7}")
    show("new process, prompt --json DEEPEST", *facts["terminal"])
    show("new process, lsp: initialize and preview", *facts["editor"])
    show("warm, gathering alone (floor: stat)", *facts["gathering"])
    show("warm, a preview there and back (floor: stat)", *facts["warm"])
    found = traced(stage, command)
    if found:
        counts, listed = found
        print("calls of a new process:", ", ".join(f"{n} {c}" for n, c in sorted(counts.items())))
        print(f"folders of the tree that were listed: {len(listed)}")
    else:
        print("calls were not counted: strace is not here")
    print("git was run:", os.path.exists(f"{stage.place}/git-ran"))


def terminal(stage, command, floor, facts):
    facts[0].append(cold(stage, command)[0])
    facts[1].append(cold(stage, [floor, "read", stage.listing(stage.chain[-1])])[0])


def editor(stage, interline, floor, facts):
    server = Server(stage, interline)
    try:
        preview = server.preview()[1]
        facts[0].append((time.perf_counter() - server.client.began) * 1e3)
        check(preview, DEPTH)
    finally:
        server.client.stop()
    facts[1].append(cold(stage, [floor, "read", stage.listing(stage.root)])[0])


def gathered(stage):
    """Milliseconds of each gathering that the server's log tells of, in order."""
    with open(f"{stage.state}/logs/interline.log", encoding="utf-8") as log:
        rows = [json.loads(line)["fields"] for line in log]
    return [float(row["micros"]) / 1e3 for row in rows if row.get("message") == "gathered"]


def warm(stage, interline, floor, runs, facts, alone):
    server, stats = Server(stage, interline), Stats(stage, floor, stage.listing(stage.root))
    try:
        server.preview()
        for _ in range(runs):
            facts[0].append(server.preview()[0])
            facts[1].append(stats.ask())
        alone[0].extend(gathered(stage)[-runs:])
        alone[1].extend(facts[1])
    finally:
        server.client.stop()
        stats.process.kill()


def check(preview, files):
    """The figures are of a prompt that has everything in it."""
    rows = {row["id"]: row for row in preview["segments"]}
    assert rows["skills"]["reason"] == f"there are {SKILLS} skills", rows["skills"]
    assert rows["instructions"]["source"].count("AGENTS.md") == files, rows["instructions"]
    assert rows["memoryIndex"]["reason"] == "10 entries", rows["memoryIndex"]


if __name__ == "__main__":
    sys.exit(main())
