"""Rows about start, first request, idle memory and size of the program."""

import os
import time

from client import ENDED
from harness import OURS, Measure, Row
from model import Model, text
from process import cpu, memory, spawned

SETTLE = 0.3  # seconds until idle memory is idle


def idle(bench, side):
    """Start without a prompt."""
    subject = bench.subject(side)
    client = subject.start()
    try:
        answered = subject.handshake(client)
        bench.note("init", side, (answered - client.began) * 1e3, cpu(client.pid))
        subject.session(client)
        bench.note("ready", side, (time.perf_counter() - client.began) * 1e3, cpu(client.pid))
        time.sleep(SETTLE)
        held, before = memory(client.pid), cpu(client.pid)
        bench.note("idle-rss", side, held["Rss"])
        bench.note("idle-pss", side, held["Pss"])
        bench.note("idle-anonymous", side, held["Anonymous"])
        time.sleep(SETTLE)
        bench.note("idle-cpu", side, (cpu(client.pid) - before) / SETTLE)
    finally:
        client.stop()


def first(bench, side):
    """Start, then a prompt at once."""
    subject = bench.subject(side)
    model = Model([text(["ok"])])
    client = subject.start(model.url)
    had = []
    model.at_request = lambda _: had.append(spawned(client.pid))
    try:
        subject.handshake(client)
        client.start_turn(subject.session(client))
        client.wait_mark(ENDED)
        bench.note("request", side, (model.arrived[0] - client.began) * 1e3, cpu(client.pid))
        bench.note("children", side, float(had[0]))
    finally:
        client.stop()
        model.close()


def prompts(bench, side):
    """Two prompts on a server that has settled."""
    subject = bench.subject(side)
    model = Model([text(["ok"])])
    client, session = subject.ready(model.url)
    try:
        time.sleep(SETTLE)
        for number, row in enumerate(("prompt-1", "prompt-2")):
            before = cpu(client.pid)
            began, ended = client.turn(session)
            spent = cpu(client.pid) - before
            bench.note(row, side, (model.arrived[number] - began) * 1e3, spent)
        while len(model.sent) < 2:
            time.sleep(0.001)
        bench.note("end", side, (ended - model.sent[1]) * 1e3)
    finally:
        client.stop()
        model.close()


def install(bench, side):
    path = bench.interline if side == OURS else bench.floor
    bench.note("install", side, os.path.getsize(path) / 1e6)


MEASURES = [
    Measure(idle, [
        Row("init", "spawn → initialize answered", "ms", ratio=2, cpu="ms",
            meaning="from starting the process until the answer to `initialize` is read"),
        Row("ready", "spawn → session created", "ms", cpu="ms",
            meaning="the same until the answer to `interline/session/new`"),
        Row("idle-rss", "idle memory, resident", "MiB", most=12,
            meaning="after a session was created; includes mapped program text"),
        Row("idle-pss", "idle memory, proportional", "MiB",
            meaning="the same, with shared pages divided among their users"),
        Row("idle-anonymous", "idle memory, anonymous", "MiB", most=2,
            meaning="the part that no file backs: heap and stacks"),
        Row("idle-cpu", "idle processor time", "ms/s", most=0.1,
            meaning="while nothing happens"),
    ]),
    Measure(first, [
        Row("request", "spawn → first model request", "ms", ratio=2, cpu="ms",
            meaning="from starting the process to the first byte of the first model request, "
                    "without a pause; CPU until that prompt is answered"),
        Row("children", "runs that started a process before it", "share", most=0,
            meaning="from 0 (no run) to 1 (every run)"),
    ]),
    Measure(prompts, [
        Row("prompt-1", "first prompt → model request", "ms", most=4, cpu="ms",
            meaning="from writing the first prompt to the first byte of its request; CPU of the "
                    "turn"),
        Row("prompt-2", "second prompt → model request", "ms", most=1, cpu="ms",
            meaning="the same for the second prompt"),
        Row("end", "answer's last byte → turn ended", "ms", most=1,
            meaning="from the last byte of the answer to `turn/ended` at the client"),
    ]),
    Measure(install, [
        Row("install", "size of the program", "MB", most=15,
            meaning="the release binary, stripped; it is the whole installation"),
    ], runs=1),
]
