"""Measures the program beside the floor and other references, interleaved in one run. Prints one
table, or JSON with --json. A figure never makes it fail."""

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys

import documents
import folders
import gather
import long
import reviews
import search
import start
import turns
from harness import Bench

GROUPS = {"start": start, "turns": turns, "documents": documents, "reviews": reviews,
          "folders": folders, "search": search, "gather": gather, "long": long}
ALIASES = {"prompt": ["gather"], "turn": ["turns", "long"]}


def chosen(names):
    """The measures to run: all, or those of the named groups and rows."""
    every = []
    for group, module in GROUPS.items():
        for measure in module.MEASURES:
            measure.group = group
            every.append(measure)
    if not names:
        return every
    names = [one for name in names for one in ALIASES.get(name, [name])]
    keys = {measure.group: 1 for measure in every}
    for measure in every:
        keys.update((part.key, 1) for part in [*measure.rows, *measure.curves])
    unknown = [name for name in names if name not in keys]
    if unknown:
        sys.exit(f"There is no row or group {', '.join(unknown)}. "
                 f"Choose from: {', '.join(keys)}.")
    return [measure for measure in every if measure.group in names
            or any(part.key in names for part in [*measure.rows, *measure.curves])]


def run(bench, measures, runs):
    """Runs everything `runs` times; what failed, by measure."""
    broken = {}
    for number in range(runs):
        for measure in measures:
            if measure.runs and number >= measure.runs:
                continue
            # The order alternates, so that no program always runs on a warm machine.
            for side in measure.sides if number % 2 == 0 else measure.sides[::-1]:
                name = f"{measure.group}.{measure.run.__name__}"
                print(f"run {number + 1}: {name}, {side}", file=sys.stderr)
                try:
                    measure.run(bench, side)
                except (RuntimeError, OSError, LookupError, ValueError, StopIteration,
                        AssertionError, subprocess.CalledProcessError) as error:
                    broken[f"{name}, {side}"] = repr(error)[:400]
    return broken


def command_output(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip()


def machine():
    """The class of machine, without its name, and how busy it is."""
    with open("/proc/meminfo", encoding="ascii") as rows:
        total = int(next(row for row in rows if row.startswith("MemTotal")).split()[1])
    with open("/proc/cpuinfo", encoding="utf-8") as rows:
        models = [row.split(":", 1)[1].strip() for row in rows if row.startswith("model name")]
    return {"cores": os.cpu_count(), "memoryGiB": round(total / 2**20),
            "processor": models[0] if models else platform.machine(),
            "load": round(os.getloadavg()[0], 1),
            "system": platform.system() + " " + platform.release().split("-")[0]}


def report(bench, measures, runs, broken, where):
    rows = [bench.result(row, measure.group) for measure in measures for row in measure.rows]
    curves = [bench.curve(curve) for measure in measures for curve in measure.curves]
    clean = not command_output("git", "status", "--porcelain", "--untracked-files=no")
    return {"machine": where, "runs": runs,
            "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
            "commit": command_output("git", "rev-parse", "--short=12", "HEAD")
            + ("" if clean else " with changes"),
            "rows": rows, "curves": [curve for curve in curves if curve["lines"]],
            "failed": broken}


def number(value):
    if value == 0:
        return "0"
    if abs(value) >= 1000:
        return f"{value:.0f}"
    return f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}"


def cell(found):
    if not found:
        return "–"
    if found["min"] == found["max"]:
        return number(found["median"])
    return f"{number(found['median'])} ({number(found['min'])}–{number(found['max'])})"


def spent(found, unit):
    return f"{number(found['median'])} {unit}" if found else ""


def table(facts):
    where = facts["machine"]
    print(f"{facts['runs']} runs, median (min–max); {where['cores']} cores, "
          f"{where['memoryGiB']} GiB, load at the start {where['load']}; "
          f"commit {facts['commit']}")
    print(f"{'measure':54} {'interline':>26} {'CPU':>10} {'beside':>26} {'CPU':>10} "
          f"{'ratio':>6} {'of CPU':>6}  {'beside is':20} goal")
    group = None
    for row in facts["rows"]:
        if row["group"] != group:
            group = row["group"]
            print(f"-- {group}")
        ratio, cpu = (f"{row[key]:.2f}" if row[key] is not None else ""
                      for key in ("ratio", "cpuRatio"))
        goal = row["goal"] and row["goal"] + {True: ": met", False: ": MISSED", None: ""}[row["met"]]
        line = (f"{row['title'] + ', ' + row['unit']:54} {cell(row['ours']):>26} "
                f"{spent(row['cpu'], row['cpuUnit']):>10} {cell(row['besideValue']):>26} "
                f"{spent(row['besideCpu'], row['cpuUnit']):>10} {ratio:>6} {cpu:>6}  "
                f"{row['beside'] if row['besideValue'] else '':20} {goal}")
        print(line.rstrip())
        if row["note"]:
            print(f"     {row['note']}")
    for where, error in facts["failed"].items():
        print(f"failed: {where}: {error}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=11)
    parser.add_argument("--rows", default="", help="groups and rows, separated by commas")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--interline", required=True)
    parser.add_argument("--floor", required=True)
    options = parser.parse_args()
    measures = chosen([name for name in options.rows.split(",") if name])
    bench = Bench(options.interline, options.floor)
    where = machine()
    broken = run(bench, measures, options.runs)
    facts = report(bench, measures, options.runs, broken, where)
    if options.json:
        json.dump(facts, sys.stdout, ensure_ascii=False, indent=1)
        print()
    else:
        table(facts)


if __name__ == "__main__":
    main()
