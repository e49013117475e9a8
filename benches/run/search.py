"""Rows about searching a large folder beside ripgrep, and about running a command."""

import json
import shutil
import statistics

from harness import BESIDE, CAPABILITIES, OURS, Measure, Row, timed
from model import Model, call, text
from process import cpu
from stage import FILES, large

NOWHERE = "zqxj_in_no_file"
NAMES = "**/*9999.rs"
EXECS = 6
LOOKUPS = 6


def asked(subject, name, arguments):
    """A tool call of a running server, the second time: milliseconds, CPU, the result."""
    model = Model([call(0, name, arguments), call(1, name, arguments), text(["ok"])], keep=True)
    client, session = subject.ready(model.url)
    spent = []
    model.at_request = lambda _: spent.append(cpu(client.pid))
    try:
        client.turn(session)
        result = json.loads(model.bodies[-1])["messages"][-1]
        return (model.arrived[2] - model.sent[1]) * 1e3, spent[2] - spent[1], json.dumps(result)
    finally:
        client.stop()
        model.close()


def ripgrep(bench, row, arguments, codes):
    """The same search by `rg`, from spawn to end."""
    if not shutil.which("rg"):
        bench.remark(row, "rg is not installed: nothing to compare with")
        return None
    took, spent, done = timed(["rg", *arguments], cwd=large().root)
    if done.returncode not in codes:
        raise RuntimeError(f"rg ended with {done.returncode}: {done.stderr[-300:]!r}")
    bench.note(row, BESIDE, took, spent)
    return done.stdout.decode()


def grep(bench, side):
    if side == BESIDE:
        ripgrep(bench, "grep", [NOWHERE, "."], {1})
        return
    subject = bench.subject(OURS, "search", work=large().root)
    took, spent, result = asked(subject, "grep", {"pattern": NOWHERE})
    if "rs:" in result:
        raise RuntimeError(f"grep found something: {result[:300]}")
    bench.note("grep", side, took, spent)


def glob(bench, side):
    if side == BESIDE:
        found = ripgrep(bench, "glob", ["--files", "-g", NAMES], {0})
        if found is not None and "file99999.rs" not in found:
            raise RuntimeError("rg did not find file99999.rs")
        return
    subject = bench.subject(OURS, "search", work=large().root)
    took, spent, result = asked(subject, "glob", {"pattern": NAMES})
    if "file99999.rs" not in result:
        raise RuntimeError(f"glob did not find file99999.rs: {result[:300]}")
    bench.note("glob", side, took, spent)


def execute(bench, side, row="exec", sandbox="off"):
    """`true` in a shell, after it was allowed for the session."""
    if side == BESIDE:
        for _ in range(EXECS):
            took, spent, _ = timed(["/bin/sh", "-c", "true"])
            bench.note(row, side, took, spent)
        return
    config = f'sandbox.mode = "{sandbox}"\n'
    subject = bench.subject(OURS, row, trusted=True, config=config)
    model = Model([call(n, "exec", {"command": "true"}) for n in range(EXECS)] + [text(["ok"])])
    client, session = subject.ready(model.url)
    spent = []
    model.at_request = lambda _: spent.append(cpu(client.pid))
    try:
        client.start_turn(session)
        client.follow({
            "interline/approval/request": lambda asked: {
                "choice": "allowSession", "hash": asked["hash"]},
            "interline/workspace/save": lambda asked: {
                "results": [{"uri": uri, "status": "saved"} for uri in asked["uris"]]}})
        gaps = [(after - sent) * 1e3 for sent, after in zip(model.sent, model.arrived[1:])]
        bench.note(row, side, statistics.median(gaps[1:]), (spent[-1] - spent[1]) / (EXECS - 1))
    finally:
        client.stop()
        model.close()


def confined(bench, side):
    """The same in the sandbox."""
    execute(bench, side, "confined", "auto")


def lookup(bench, side):
    """References that the client answers at once: 100 lines of 20 files."""
    subject = bench.subject(side, "lookup", trusted=True)
    for number in range(20):
        subject.write(f"{subject.work}/f{number}.rs", "fn one() {}\n" * 100)
    ask = {"what": "references", "path": "f0.rs", "line": 1, "symbol": "one"}
    model = Model([call(n, "lookup", ask) for n in range(LOOKUPS)] + [text(["ok"])], keep=True)
    client = subject.start(model.url)
    able = json.loads(json.dumps(CAPABILITIES))
    able["experimental"]["interline"]["query"] = True
    subject.handshake(client, able)
    client.send(client.notification("interline/languages/didChange", {"languages": ["rust"]}))
    session = subject.session(client)
    places = [{"uri": f"file://{subject.work}/f{n % 20}.rs",
               "range": {"start": {"line": n, "character": 3}, "end": {"line": n, "character": 6}}}
              for n in range(100)]
    spent = []
    model.at_request = lambda _: spent.append(cpu(client.pid))
    try:
        client.start_turn(session)
        client.follow({"interline/editor/query": lambda _: {"status": "ok", "items": places}})
        if "f19.rs:100:fn one" not in json.dumps(json.loads(model.bodies[-1])["messages"][-1]):
            raise RuntimeError("lookup did not list the last place")
        gaps = [(after - sent) * 1e3 for sent, after in zip(model.sent, model.arrived[1:])]
        bench.note("lookup", side, statistics.median(gaps[1:]),
                   (spent[-1] - spent[1]) / (LOOKUPS - 1))
    finally:
        client.stop()
        model.close()


MEASURES = [
    Measure(grep, [
        Row("grep", f"grep of {FILES} files, nothing found", "ms", "rg", ratio=1.3, cpu="ms",
            meaning="from the model's answer with the call to the next request, on a warm "
                    "cache; `rg` from its start to its end, with the same pattern and folder"),
    ]),
    Measure(glob, [
        Row("glob", f"glob of {FILES} files, 10 found", "ms", "rg --files -g", ratio=1.3,
            cpu="ms", meaning="the same for a pattern of names"),
    ]),
    Measure(execute, [
        Row("exec", "exec true", "ms", "plain spawn", most=3, cpu="ms",
            meaning="a step that runs `true` and needs no approval, against starting "
                    "`sh -c true` and waiting for it; without the sandbox"),
    ]),
    Measure(confined, [
        Row("confined", "exec true in the sandbox", "ms", "plain spawn", most=13, cpu="ms",
            meaning="the same in the sandbox, which may add 10 ms"),
    ]),
    Measure(lookup, [
        Row("lookup", "lookup, 100 references in 20 files", "ms", most=5, cpu="ms",
            meaning="from the model's answer with the call to the next request, with a client "
                    "that answers the query at once"),
    ], sides=(OURS,)),
]
