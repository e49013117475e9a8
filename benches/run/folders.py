"""Rows about the workspace: how deep its path is, and how many files it has."""

import os
import shutil
import statistics
import tempfile
import time

from client import ENDED
from harness import BESIDE, OURS, Curve, Measure, Row
from model import Model, read, text
from process import cpu, memory
from stage import FILES, large

STEPS = 10
DEPTHS = (2, 12)
SIZES = [100, 1_000, 10_000]  # files; the last size is the large folder


def conversation(subject, path):
    """A second prompt, then read steps: milliseconds and CPU of each."""
    answers = [text(["ok"])] + [read(n, path) for n in range(STEPS)] + [text(["ok"])]
    model = Model(answers)
    client, session = subject.ready(model.url)
    spent = []
    model.at_request = lambda _: spent.append(cpu(client.pid))
    try:
        client.turn(session)
        before = cpu(client.pid)
        began, _ = client.turn(session)
        gaps = [(after - sent) * 1e3 for sent, after in zip(model.sent[1:], model.arrived[2:])]
        return ((model.arrived[1] - began) * 1e3, spent[1] - before,
                statistics.median(gaps[1:]), (spent[-1] - spent[2]) / (STEPS - 1))
    finally:
        client.stop()
        model.close()


def deep(depth):
    """A folder whose path has this many names, and a file this many folders below another."""
    top = os.path.realpath(tempfile.mkdtemp(prefix="bench-"))
    names = [f"level{number}" for number in range(depth)]
    have = top.count("/")
    return top, os.path.join(top, *names[:max(0, depth - have)]), names


def depths(bench, side):
    for depth in DEPTHS:
        top, root, names = deep(depth)
        try:
            subject = bench.subject(side, f"depth-{depth}-{root}", work=root)
            path = subject.write(os.path.join(root, "a.txt"), "a line of text\n" * 100)
            prompt, spent, _, _ = conversation(subject, path)
            bench.note(f"prompt-depth-{depth}", side, prompt, spent)
        finally:
            shutil.rmtree(top)
        subject = bench.subject(side, "depth")
        path = subject.write(os.path.join(subject.work, *names[:depth], "a.txt"),
                             "a line of text\n" * 100)
        _, _, gap, spent = conversation(subject, path)
        bench.note(f"read-depth-{depth}", side, gap, spent)


def opened(subject, path):
    """Start, first prompt and read steps in a workspace, as milliseconds; memory when idle."""
    model = Model([read(n, path) for n in range(STEPS)] + [text(["ok"])])
    client = subject.start(model.url)
    try:
        subject.handshake(client)
        session = subject.session(client)
        ready = time.perf_counter()
        began = client.start_turn(session)
        client.wait_mark(ENDED)
        gaps = [(after - sent) * 1e3 for sent, after in zip(model.sent, model.arrived[1:])]
        return {"ready": (ready - client.began) * 1e3,
                "request": (model.arrived[0] - client.began) * 1e3,
                "prompt": (model.arrived[0] - began) * 1e3,
                "gap": statistics.median(gaps[1:]), "rss": memory(client.pid)["Rss"]}
    finally:
        client.stop()
        model.close()


def size(bench, side):
    """The large folder, with a home of its own, against a small one."""
    subject = bench.subject(OURS, f"size-{side}", work=large().root if side == OURS else None)
    found = opened(subject, f"{subject.work}/{'aside0/part0/file0.rs' if side == OURS else 'a.txt'}")
    for key, value in found.items():
        bench.note(f"large-{key}", side, value)


def sizes(bench, side):
    for count in SIZES:
        subject = bench.subject(side, f"files-{count}")
        last = f"{subject.work}/part{(count - 1) // 100}/file{count - 1}.rs"
        for number in range(0 if os.path.exists(last) else count):
            subject.write(f"{subject.work}/part{number // 100}/file{number}.rs",
                          f"fn f{number}() {{}}\n")
        grown(bench, side, count, subject, last)
    root = large().root
    grown(bench, side, FILES, bench.subject(side, "files-large", work=root),
          f"{root}/aside0/part0/file0.rs")


def grown(bench, side, count, subject, path):
    name = "Interline" if side == OURS else "floor"
    bench.point("files", name, count, opened(subject, path)["request"])


MEASURES = [
    Measure(depths, [
        row for depth in DEPTHS for row in (
            Row(f"prompt-depth-{depth}", f"second prompt, root at path depth {depth}", "ms",
                cpu="ms", meaning=f"the path of the workspace's root has {depth} names"),
            Row(f"read-depth-{depth}", f"read step, file {depth} folders deep", "ms", cpu="ms",
                meaning=f"the file is {depth} folders below the root"))
    ]),
    Measure(size, [
        Row("large-ready", f"{FILES} files: spawn → session created", "ms", "small folder",
            ratio=1.3, meaning=f"a workspace of {FILES} files with nested AGENTS.md, against "
                               "one of a single file"),
        Row("large-request", f"{FILES} files: spawn → first request", "ms", "small folder",
            ratio=1.3),
        Row("large-prompt", f"{FILES} files: first prompt → request", "ms", "small folder",
            ratio=1.3),
        Row("large-gap", f"{FILES} files: read step", "ms", "small folder", ratio=1.3),
        Row("large-rss", f"{FILES} files: memory after {STEPS} steps", "MiB", "small folder",
            ratio=1.3),
    ], sides=(BESIDE, OURS)),
    Measure(sizes, [], runs=3, curves=(
        Curve("files", "Spawn to first request, by files in the workspace", "files", "ms", True),)),
]
