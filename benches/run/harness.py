"""What every group of rows shares: a program in a clean home, the rows, and where figures go."""

import json
import os
import resource
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass, field

from client import Client

OURS, BESIDE = "interline", "beside"
MODEL = "anthropic/claude-opus-5-5"
CAPABILITIES = {
    "general": {"positionEncodings": ["utf-16"]},
    "workspace": {"applyEdit": True, "workspaceEdit": {"documentChanges": True}},
    "experimental": {"interline": {"version": 1, "events": True, "approvals": True,
                                   "save": True, "edit": True, "commands": True,
                                   "userSettings": True}},
}


class Subject:
    """One program with its own home; `work` is its workspace, by default a new folder."""

    def __init__(self, name, command, work=None, config="", trusted=False):
        self.name = name
        self.command = command
        self.stage = tempfile.TemporaryDirectory(prefix="bench-")
        place = self.place = os.path.realpath(self.stage.name)
        self.work = work or os.path.join(place, "work")
        for folder in (self.work, f"{place}/home", f"{place}/config/interline",
                       f"{place}/state/interline", f"{place}/run", f"{place}/tmp"):
            os.makedirs(folder, exist_ok=True)
        self.file = os.path.join(place, "work", "a.txt")
        if not work:
            self.write(self.file, "a line of text\n" * 100)
        if config:
            self.write(f"{place}/config/interline/config.toml", config)
        if trusted:
            self.write(f"{place}/state/interline/trust.json",
                       json.dumps({"version": 1, "folders": [self.work], "files": {}}))

    def write(self, path, content):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as out:
            out.write(content)
        return path

    def environment(self, url):
        place = self.place
        return {
            "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": f"{place}/home",
            "XDG_CONFIG_HOME": f"{place}/config", "XDG_STATE_HOME": f"{place}/state",
            "XDG_DATA_HOME": f"{place}/state", "XDG_CACHE_HOME": f"{place}/tmp",
            "XDG_RUNTIME_DIR": f"{place}/run", "TMPDIR": f"{place}/tmp",
            "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "bench",
        }

    def start(self, url="http://127.0.0.1:9", mode=None, before=()):
        command = [*before, *self.command] + ([mode] if mode else [])
        return Client(command, self.environment(url), self.work)

    def handshake(self, client, capabilities=CAPABILITIES):
        """The time when `initialize` was answered."""
        root = "file://" + self.work
        client.call("initialize", {
            "processId": os.getpid(), "rootUri": root, "capabilities": capabilities,
            "workspaceFolders": [{"uri": root, "name": "work"}],
            "initializationOptions": {"model": MODEL},
        })
        done = time.perf_counter()
        client.send(client.notification("initialized", {}))
        return done

    def session(self, client):
        return client.call("interline/session/new", {})["sessionId"]

    def ready(self, url="http://127.0.0.1:9", before=()):
        """A started client and its session."""
        client = self.start(url, before=before)
        self.handshake(client)
        return client, self.session(client)

    def log(self):
        """The file of the only session."""
        for folder, _, names in os.walk(f"{self.place}/state/interline/sessions"):
            for name in names:
                if name.endswith(".jsonl"):
                    return os.path.join(folder, name)
        raise RuntimeError("no session log was written")


@dataclass
class Row:
    """A line of the table. The goal is the largest ratio and the largest value allowed, or for a
    rate the smallest ratio."""
    key: str
    title: str
    unit: str
    beside: str = "floor"
    ratio: float = None
    most: float = None
    least: float = None  # smallest ratio, where more is better
    cpu: str = ""  # unit of the processor time, if it is measured
    meaning: str = ""

    def goal(self):
        parts = [f"≤ {self.ratio:g} ×"] if self.ratio else []
        parts += [f"≥ {self.least:g} ×"] if self.least else []
        parts += [f"≤ {self.most:g} {self.unit}"] if self.most is not None else []
        return " and ".join(parts)

    def met(self, value, ratio):
        if not self.goal():
            return None
        if ratio is None and (self.ratio or self.least):
            return None
        fine = not self.ratio or ratio <= self.ratio
        fine = fine and (not self.least or ratio >= self.least)
        return fine and (self.most is None or value <= self.most)


@dataclass
class Measure:
    """A function that fills rows. It runs once per side and run; at most `runs` times."""
    run: object
    rows: list
    sides: tuple = (BESIDE, OURS)
    runs: int = None
    group: str = ""
    curves: tuple = ()


@dataclass
class Curve:
    """How a figure grows with a size."""
    key: str
    title: str
    across: str
    unit: str
    logarithmic: bool = False
    points: dict = field(default_factory=dict)  # line → x → values


def summary(values):
    if not values:
        return None
    return {"median": statistics.median(values), "min": min(values), "max": max(values),
            "samples": values}


def ratio_of(ours, beside):
    """That of the medians."""
    if not ours or not beside or not statistics.median(beside):
        return None
    return statistics.median(ours) / statistics.median(beside)


class Bench:
    """The programs to compare, and every figure of this run."""

    def __init__(self, interline, floor):
        self.interline = os.path.abspath(interline)
        self.floor = os.path.abspath(floor)
        self.samples = {}  # (row, side) → values
        self.cpus = {}
        self.points = {}  # (curve, line) → x → values
        self.notes = {}  # row → remark
        self.subjects = {}
        self.prefixes = {}  # side → tools and system text of its first session

    def command(self, side):
        return [self.interline, "lsp"] if side == OURS else [self.floor]

    def subject(self, side, key="", **options):
        """The same home for all runs of one measure."""
        place = (side, key)
        if place not in self.subjects:
            self.subjects[place] = Subject(side, self.command(side), **options)
        return self.subjects[place]

    def note(self, row, side, value, cpu=None):
        self.samples.setdefault((row, side), []).append(value)
        if cpu is not None:
            self.cpus.setdefault((row, side), []).append(cpu)

    def point(self, curve, line, x, value):
        self.points.setdefault((curve, line), {}).setdefault(x, []).append(value)

    def remark(self, row, words):
        self.notes[row] = words

    def result(self, row, group):
        ours = summary(self.samples.get((row.key, OURS)))
        beside = summary(self.samples.get((row.key, BESIDE)))
        ratio = ratio_of(*(self.samples.get((row.key, side)) for side in (OURS, BESIDE)))
        met = row.met(ours["median"], ratio) if ours else None
        spent, least = (self.cpus.get((row.key, side)) for side in (OURS, BESIDE))
        return {"key": row.key, "group": group, "title": row.title, "unit": row.unit,
                "meaning": row.meaning, "ours": ours,
                "cpu": summary(spent), "cpuUnit": row.cpu, "beside": row.beside,
                "besideValue": beside, "besideCpu": summary(least), "ratio": ratio,
                "cpuRatio": ratio_of(spent, least),
                "goal": row.goal(), "met": met, "note": self.notes.get(row.key)}

    def curve(self, curve):
        lines = {line: sorted((x, statistics.median(values)) for x, values in found.items())
                 for (key, line), found in sorted(self.points.items(),
                                                  key=lambda one: one[0][1].lower() != OURS)
                 if key == curve.key}
        return {"key": curve.key, "title": curve.title, "across": curve.across,
                "unit": curve.unit, "logarithmic": curve.logarithmic, "lines": lines}


def children():
    """Milliseconds of processor time of the processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (used.ru_utime + used.ru_stime) * 1e3


def timed(command, **options):
    """Milliseconds of a program from spawn to end, of time and of CPU, and what it printed."""
    before, began = children(), time.perf_counter()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False, **options)
    took = (time.perf_counter() - began) * 1e3
    return took, children() - before, done
