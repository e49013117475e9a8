"""Rows about how a prompt is gathered in a folder with everything in it."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import time

from client import Client
from harness import BESIDE, OURS, Measure, Row, timed
from process import cpu
from stage import DEPTH, FILES, MEMORIES, NESTED, SKILLS, large

WARM = 5  # previews of a running server in each run


def cold(stage, command):
    """Milliseconds of a new process, of time and of CPU, and its output."""
    took, spent, done = timed(command, env=stage.environment(), cwd=stage.root)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.decode(errors="replace")[-500:])
    return took, spent, done.stdout


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
                    # Parsing the answer is the client's work.
                    took = (time.perf_counter() - began) * 1e3
                    return took, json.loads(body)["result"]
            client.more()


def check(preview):
    """The figures are of a prompt that has everything in it."""
    rows = {row["id"]: row for row in preview["segments"]}
    assert rows["skills"]["reason"] == f"there are {SKILLS} skills", rows["skills"]
    assert rows["instructions"]["source"].count("AGENTS.md") == DEPTH, rows["instructions"]
    assert rows["memoryIndex"]["reason"] == "10 entries", rows["memoryIndex"]


def terminal(bench, side):
    stage = large()
    if side == BESIDE:
        took, spent, _ = cold(stage, [bench.floor, "read", stage.listing()])
        bench.note("gather-terminal", side, took, spent)
        return
    took, spent, out = cold(stage, [bench.interline, "prompt", "--json", stage.chain[-1]])
    bench.note("gather-terminal", side, took, spent)
    check(json.loads(out))


def editor(bench, side):
    stage = large()
    if side == BESIDE:
        took, spent, _ = cold(stage, [bench.floor, "read", stage.listing()])
        bench.note("gather-editor", side, took, spent)
        return
    server = Server(stage, bench.interline)
    try:
        preview = server.preview()[1]
        bench.note("gather-editor", side, (time.perf_counter() - server.client.began) * 1e3,
                   cpu(server.client.pid))
        check(preview)
    finally:
        server.client.stop()


def warm(bench, side):
    stage = large()
    if side == BESIDE:
        stat(bench, stage)
        return
    server = Server(stage, bench.interline)
    try:
        server.preview()
        for _ in range(WARM):
            bench.note("preview", side, server.preview()[0])
        for took in gathered(stage)[-WARM:]:
            bench.note("gather", side, took)
    finally:
        server.client.stop()


def stat(bench, stage):
    """A running process that asks for the state of the same files."""
    with subprocess.Popen([bench.floor, "stat", stage.listing()],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          env=stage.environment()) as process:
        for number in range(WARM + 1):
            began = time.perf_counter()
            process.stdin.write(b"\n")
            process.stdin.flush()
            process.stdout.readline()
            took = (time.perf_counter() - began) * 1e3
            if number > 0:
                bench.note("gather", BESIDE, took)
                bench.note("preview", BESIDE, took)
        process.stdin.close()


def gathered(stage):
    """Milliseconds of each gathering that the server's log reports, in order."""
    with open(f"{stage.state}/logs/interline.log", encoding="utf-8") as log:
        rows = [json.loads(line)["fields"] for line in log]
    return [float(row["micros"]) / 1e3 for row in rows if row.get("message") == "gathered"]


def calls(bench, _side):
    """System calls of a new process, and the folders of the tree that it lists."""
    strace = shutil.which("strace")
    if not strace:
        bench.remark("gather-calls", "not counted: strace is not installed")
        return
    stage = large()
    with tempfile.NamedTemporaryFile("r", dir=f"{stage.place}/tmp") as out:
        subprocess.run([strace, "-f", "-y", "-o", out.name, "-e",
                        "trace=getdents64,openat,openat2,open,newfstatat,statx,lstat,stat,"
                        "readlink,readlinkat", bench.interline, "prompt", "--json",
                        stage.chain[-1]],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       env=stage.environment(), cwd=stage.root, check=False)
        text = out.read()
    names = re.findall(r"^\d+ +(\w+)\(", text, re.M)
    listed = {path for path in re.findall(r"getdents64\(\d+<([^>]+)>", text)
              if path.startswith(stage.root)}
    bench.note("gather-calls", OURS, float(len(names)))
    git = os.path.exists(f"{stage.place}/git-ran")
    counts = ", ".join(f"{name} {names.count(name)}" for name in sorted(set(names)))
    bench.remark("gather-calls", f"{counts}; folders of the tree listed: {len(listed)}; git was "
                                 f"{'' if git else 'not '}run")


PLACE = (f"{FILES} files, {NESTED} AGENTS.md ({DEPTH} above the folder), {SKILLS} skills, "
         f"{MEMORIES} memories")
MEASURES = [
    Measure(terminal, [
        Row("gather-terminal", "new process, prompt --json", "ms", "floor, reads", ratio=2,
            cpu="ms",
            meaning=f"`interline prompt --json` in a folder of {PLACE}; the floor reads and "
                    "hashes the same files"),
    ]),
    Measure(editor, [
        Row("gather-editor", "new process, initialize and preview", "ms", "floor, reads", ratio=2,
            cpu="ms",
            meaning="the same through `interline lsp` and `prompt/preview`"),
    ]),
    Measure(warm, [
        Row("gather", "running server, gathering", "ms", "floor, stats", ratio=2,
            meaning="what the server's log reports for gathering alone; the floor asks the "
                    "system for the state of the same files"),
        Row("preview", "running server, preview there and back", "ms", "floor, stats",
            meaning="the same as the client sees it, with the answer's transport"),
    ]),
    Measure(calls, [
        Row("gather-calls", "path calls of a new process", "",
            meaning="system calls that open, list or look up a path, counted by strace"),
    ], sides=(OURS,), runs=1),
]
