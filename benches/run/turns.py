"""Rows about steps, deltas, cancelling, and the bytes of requests."""

import json
import statistics
import time

from client import ENDED
from harness import OURS, Curve, Measure, Row
from model import Model, Reply, read, text
from process import cpu, peak

STEPS = 20
PACED = 400  # deltas
PAUSE = 0.005
BURST = 20_000  # deltas
BURSTS = [1_000, 5_000, 10_000, 20_000, 50_000, 100_000]


def steps(bench, side):
    """A turn of read calls."""
    subject = bench.subject(side)
    model = Model([read(n, subject.file) for n in range(STEPS)] + [text(["ok"])], keep=True)
    client, session = subject.ready(model.url)
    spent = []
    model.at_request = lambda _: spent.append(cpu(client.pid))
    try:
        client.turn(session)
        gaps = [(after - before) * 1e3 for before, after in zip(model.sent, model.arrived[1:])]
        bench.note("gap", side, statistics.median(gaps[1:]), (spent[-1] - spent[1]) / (STEPS - 1))
        bench.note("loop-peak", side, peak(client.pid))
        sizes(bench, side, model.bodies)
    finally:
        client.stop()
        model.close()


def bare(part):
    """Without the cache's marks, which move with the conversation."""
    if isinstance(part, dict):
        return {key: bare(value) for key, value in part.items() if key != "cache_control"}
    return [bare(value) for value in part] if isinstance(part, list) else part


def stable(body):
    return json.dumps([body.get("tools"), body.get("system")], ensure_ascii=False)


def sizes(bench, side, bodies):
    requests = [bare(json.loads(body)) for body in bodies]
    bench.note("static", side, len(stable(requests[0]).encode()) / 1e3)
    bench.note("body", side, len(bodies[0]) / 1e3)
    kept = sum(stable(one) == stable(two)
               and one["messages"] == two["messages"][:len(one["messages"])]
               for one, two in zip(requests, requests[1:]))
    bench.note("prefix", side, 100 * kept / (len(requests) - 1))
    known = bench.prefixes.setdefault(side, stable(requests[0]))
    bench.note("prefix-new", side, 100.0 * (known == stable(requests[0])))


def paced(bench, side):
    """Deltas that come one at a time."""
    subject = bench.subject(side)
    model = Model([Reply(text([f"word{number} " for number in range(PACED)]), pause=PAUSE)])
    client, session = subject.ready(model.url)
    try:
        client.start_turn(session)
        came, at, before, ended = {}, client.at, None, False
        while not ended:
            client.more()
            now = time.perf_counter()
            fresh = bytes(client.seen[at:])
            ended = ENDED in fresh
            for part in fresh.split(b'"text":"word')[1:]:
                number = part.split(b" ")[0]
                if number.isdigit():
                    came.setdefault(int(number), now)
            if before is None and 5 in came:
                before = cpu(client.pid)
            at = max(at, client.seen.rfind(b"\r\n\r\n") - 200)
        spent = (cpu(client.pid) - before) * 1e3 / (PACED - 6)
        wrote = [when for when, piece in model.wrote if b"text_delta" in piece]
        late = sorted((came[number] - when) * 1e3 for number, when in enumerate(wrote)
                      if number in came)
        bench.note("delta", side, statistics.median(late), spent)
        bench.note("delta-p95", side, late[int(len(late) * 0.95)])
    finally:
        client.stop()
        model.close()


def stream(subject, count):
    """One burst after a small turn: seconds, microseconds of CPU per delta, the text shown."""
    words = [f"word{n} " for n in range(count)]
    model = Model([text(["ok"]), text(words)])
    client, session = subject.ready(model.url)
    try:
        client.turn(session)
        before, at = cpu(client.pid), len(client.seen)
        _, ended = client.turn(session)
        spent = (cpu(client.pid) - before) * 1e3 / count
        client.at = client.seen.find(b"Content-Length", at)
        shown = []
        for body in client.bodies():
            event = json.loads(body).get("params", {}).get("event", {})
            if event.get("type") == "textDelta":
                shown.append(event["text"])
        return ended - model.arrived[1], spent, shown, words
    finally:
        client.stop()
        model.close()


def burst(bench, side):
    took, spent, shown, words = stream(bench.subject(side), BURST)
    if "".join(shown) != "".join(words):
        raise RuntimeError("the text that was shown differs from the model's")
    bench.note("burst", side, BURST / took, spent)
    bench.note("burst-parts", side, float(len(shown)))


def bursts(bench, side):
    for count in BURSTS:
        took = stream(bench.subject(side), count)[0]
        bench.point("deltas", "Interline" if side == OURS else "floor", count, took * 1e3)


def cancel(bench, side):
    """The model has begun to answer and is silent when the user cancels."""
    subject = bench.subject(side)
    begun = text(["a word "])[:3]
    model = Model([Reply(begun, hold=True)])
    client, session = subject.ready(model.url)
    try:
        client.start_turn(session)
        client.wait_mark(b'"a word ')
        data, _ = client.request("interline/turn/cancel", {"sessionId": session})
        began = time.perf_counter()
        client.send(data)
        ended = client.wait_mark(ENDED)
        while not model.closed:
            time.sleep(0.0005)
        bench.note("cancel-socket", side, (model.closed[0] - began) * 1e3)
        bench.note("cancel-ended", side, (ended - began) * 1e3)
    finally:
        client.stop()
        model.close()


MEASURES = [
    Measure(steps, [
        Row("gap", "read step: answer → next request", "ms", ratio=3, most=0.8, cpu="ms",
            meaning=f"from the last byte of an answer with one `read` call to the first byte of "
                    f"the next request; the median of {STEPS} steps, and CPU per step"),
        Row("loop-peak", f"peak memory of {STEPS} steps", "MiB", most=16,
            meaning="most resident memory during those steps"),
        Row("static", "tools and system text", "KB",
            meaning="the part of a request that every request repeats, as JSON"),
        Row("body", "first request", "KB", meaning="the whole body of a session's first request"),
        Row("prefix", "requests that extend the last one", "%",
            meaning="tools, system text and all earlier messages are the same bytes, so that the "
                    "provider's cache applies"),
        Row("prefix-new", "same prefix in a new session", "%",
            meaning="runs whose tools and system text equal those of the first run"),
    ]),
    Measure(paced, [
        Row("delta", "delta, written → received", "ms", ratio=1.3, cpu="µs",
            meaning="the model writes a delta each 5 ms; from its write to its line at the "
                    "client, and CPU per delta"),
        Row("delta-p95", "the same, 95th percentile", "ms", ratio=2),
    ]),
    Measure(burst, [
        Row("burst", f"{BURST} deltas", "/s", least=0.75, cpu="µs",
            meaning="the model writes them as fast as it can; until `turn/ended` is read, and "
                    "CPU per delta"),
        Row("burst-parts", "notifications they arrive in", "",
            meaning="deltas that arrive together are sent on together; the text is compared"),
    ]),
    Measure(cancel, [
        Row("cancel-socket", "cancel → model's connection closed", "ms", most=0.7,
            meaning="from writing `turn/cancel` until the model sees the end of its connection"),
        Row("cancel-ended", "cancel → turn ended", "ms", most=1.5,
            meaning="the same until `turn/ended` is read"),
    ], sides=(OURS,)),
    Measure(bursts, [], runs=3, curves=(
        Curve("deltas", "A burst of deltas", "deltas", "ms"),)),
]
