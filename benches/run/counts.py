"""Instruction counts by callgrind of start, a read step and a delta, as ratios to the floor's counts,
the size of the program, and that of the part that runs early (early.ld), compared with
`benches/counts.toml`. No clock is involved."""

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tomllib

from harness import Subject
from model import Model, read, text

STEPS = (5, 25)
DELTAS = (1_000, 9_000)
# How many deltas are sent on together differs between runs: ± 3 % of the count, the rest ± 0.3 %.
# Two such runs are compared, so deltas may differ by more than the 5 % of the other figures.
REPEATS = 3
TOLERANCE = {"delta": 0.1}
FILE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "counts.toml")


def counted(subject, model, prompt):
    """Instructions of one run from its start to its orderly end."""
    out = f"{subject.place}/callgrind.out"
    client = subject.start(model.url, before=["valgrind", "--tool=callgrind", "--trace-children=no",
                                              f"--callgrind-out-file={out}"])
    try:
        subject.handshake(client)
        if prompt:
            client.turn(subject.session(client))
        client.call("shutdown", None)
        client.send(client.notification("exit", None))
        client.process.wait(60)
        with open(out, encoding="utf-8", errors="replace") as rows:
            found = re.search(r"^(?:summary|totals): (\d+)", rows.read(), re.M)
        return int(found.group(1))
    finally:
        client.stop()


def run(subject, answers=None):
    model = Model(answers or [text(["ok"])])
    try:
        return counted(subject, model, answers is not None)
    finally:
        model.close()


def steps(subject, count):
    return run(subject, [read(n, subject.file) for n in range(count)] + [text(["ok"])])


def deltas(subject, count):
    return run(subject, [text([f"word{n} " for n in range(count)])])


def measured(subject):
    """Instructions until `initialize` was answered and the program ended; of a step; of a delta."""
    few, many = (steps(subject, count) for count in STEPS)
    short, full = (statistics.median(deltas(subject, count) for _ in range(REPEATS))
                   for count in DELTAS)
    return {"start": run(subject), "step": (many - few) / (STEPS[1] - STEPS[0]),
            "delta": (full - short) / (DELTAS[1] - DELTAS[0])}


def ratios(interline, floor):
    """What is compared: ratios by name, and the counts behind them."""
    ours = measured(Subject("interline", [interline, "lsp"], config="[limits]\nsteps = 100\n"))
    beside = measured(Subject("floor", [floor]))
    return {key: (ours[key] / beside[key], ours[key], beside[key]) for key in ours}


def early(program):
    """Bytes of the functions that are side by side because they run early. Few: the lines of early.ld
    match the compiler's names no longer."""
    listing = subprocess.run(["readelf", "-SW", program], capture_output=True, text=True, check=True)
    found = re.search(r"\.text\.early\s+PROGBITS\s+\w+\s+\w+\s+(\w+)", listing.stdout)
    return int(found.group(1), 16) if found else 0


def compare(found, sizes, stored):
    """Prints each figure with its band; how many are inside and outside."""
    good, bad = 0, 0
    for key, (ratio, ours, beside) in found.items():
        band = TOLERANCE.get(key, 0.05) * stored["ratio"][key]
        low, high = stored["ratio"][key] - band, stored["ratio"][key] + band
        fine = low <= ratio <= high
        word = "fine" if fine else "MORE than stored" if ratio > high else "LESS than stored"
        print(f"{key:6} {ours:12.0f} instructions, floor {beside:12.0f}: {ratio:6.2f} x "
              f"({low:.2f} to {high:.2f}): {word}")
        good, bad = good + fine, bad + (not fine)
    for key, size in sizes.items():
        limit = stored["binary"][key]
        low, high = limit * 0.95, limit * 1.05
        fine = low <= size <= high
        word = "fine" if fine else "LARGER than stored" if size > high else "SMALLER than stored"
        print(f"{key:6} {size:12} bytes ({low:.0f} to {high:.0f}): {word}")
        good, bad = good + fine, bad + (not fine)
    return good, bad


def store(found, sizes):
    ratio = "".join(f"{key} = {ratio:.3f}\n" for key, (ratio, _, _) in found.items())
    binary = "".join(f"{key} = {size}\n" for key, size in sizes.items())
    with open(FILE, "w", encoding="utf-8") as out:
        out.write("# Written by `scripts/counts --update`: instructions of the program divided by the\n"
                  "# floor's, and the bytes of the release binary, all and those of early.ld.\n"
                  f"# `scripts/counts` compares.\n\n[ratio]\n{ratio}\n[binary]\n{binary}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--update", action="store_true", help="store the figures of this run")
    parser.add_argument("--interline", required=True)
    parser.add_argument("--floor", required=True)
    options = parser.parse_args()
    if not shutil.which("valgrind"):
        sys.exit("valgrind is not installed: install it and run this again.")
    interline = os.path.abspath(options.interline)
    with open(FILE, "rb") as rows:
        stored = tomllib.load(rows)
    found = ratios(interline, os.path.abspath(options.floor))
    sizes = {"bytes": os.path.getsize(interline), "early": early(interline)}
    good, bad = compare(found, sizes, stored)
    if options.update:
        store(found, sizes)
        print(f"stored in {os.path.relpath(FILE)}")
        return
    if sizes["early"] < sizes["bytes"] / 10:
        print("Few functions match early.ld: run `scripts/early`, which writes it again.")
    if bad:
        print("A figure left its band. If that is intended, also if it is better now, run "
              "`scripts/counts --update` and commit benches/counts.toml.")
    print(f"{good} passed, {bad} failed")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
