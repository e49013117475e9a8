"""Writes early.ld: which functions the linker puts side by side, because the program runs them until
it has answered its first requests. The kernel maps 64 KB around each function that is run, so
functions that are spread over the program fill the memory with others that are not."""

import argparse
import os
import re
import subprocess
import tempfile
from collections import defaultdict

from harness import Subject
from model import Model, read, text

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FILE = os.path.join(TOP, "early.ld")
# A line of the file is worth as much as so many bytes of functions that it includes needlessly.
LINE = 8_000
HEAD = """\
/* Written by `scripts/early`: the functions that run until the first session exists, then those of a
   turn that reads a file. They are side by side in the program, so that the kernel maps few others
   with them (build.rs). Hashes in their names are left out: a line may match more functions. */
SECTIONS {
  .text.early : {
"""
TAIL = "  }\n}\nINSERT BEFORE .text;\n"


def executed(program, turn):
    """The symbols of the functions that callgrind sees in one run."""
    subject = Subject("interline", [program, "lsp"])
    model = Model([read(0, subject.file), text(["ok"])])
    with tempfile.TemporaryDirectory() as folder:
        out = f"{folder}/callgrind.out"
        client = subject.start(model.url, before=[
            "valgrind", "--tool=callgrind", "--demangle=no", f"--callgrind-out-file={out}"])
        try:
            subject.handshake(client)
            session = subject.session(client)
            if turn:
                client.turn(session)
            client.call("shutdown", None)
            client.send(client.notification("exit", None))
            client.process.wait(60)
        finally:
            client.stop()
            model.close()
        with open(out, encoding="utf-8", errors="replace") as rows:
            found = re.findall(r"^c?fn=\(\d+\) ([^\s']+)", rows.read(), re.M)
    return set(found)


def sizes(program):
    """Bytes of each function."""
    listing = subprocess.run(["nm", "-S", program], capture_output=True, text=True, check=True)
    found = re.findall(r"^\w+ (\w+) [tTwW] (\S+)$", listing.stdout, re.M)
    return {name: int(size, 16) for size, name in found}


def bare(symbol):
    """The symbol without what differs between builds."""
    symbol = re.sub(r"17h[0-9a-f]{16}E(\.llvm\.\d+)?$", "", symbol)
    return re.sub(r"Cs[0-9A-Za-z]+_", "Cs*_", symbol)


def prefixes(rows):
    """The beginnings of names that match all wanted functions for the least cost. `rows`: sorted
    names, with the bytes of the others of that name, and whether one is wanted."""
    def solve(low, high, depth):
        part = rows[low:high]
        if not any(wanted for _, _, wanted in part):
            return 0, []
        needless = sum(size for _, size, _ in part)
        (first, _, _), (last, _, _) = part[0], part[-1]
        common = depth + len(os.path.commonprefix([first[depth:], last[depth:]]))
        whole = LINE + needless, [first[:common]]
        if high - low == 1 or needless == 0:
            return whole
        cost, found = 0, []
        while low < high:
            letter, begun = rows[low][0][common:common + 1], low
            while low < high and rows[low][0][common:common + 1] == letter:
                low += 1
            more, names = solve(begun, low, common)
            cost, found = cost + more, found + names
        return min(whole, (cost, found), key=lambda it: it[0])

    return solve(0, len(rows), 0)[1]


def patterns(bytes_of, wanted):
    """What matches the wanted symbols."""
    needless, names = defaultdict(int), set()
    for symbol, size in bytes_of.items():
        needless[bare(symbol)] += 0 if symbol in wanted else size
        if symbol in wanted:
            names.add(bare(symbol))
    return prefixes([(name, needless[name], name in names) for name in sorted(needless)])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--interline", required=True, help="a build with symbols")
    program = os.path.abspath(parser.parse_args().interline)
    bytes_of = sizes(program)
    start = patterns(bytes_of, executed(program, False))
    turn = patterns(bytes_of, executed(program, True))
    turn = [name for name in turn if not name.startswith(tuple(start))]
    with open(FILE, "w", encoding="utf-8") as out:
        # Functions that the compiler takes to be rare are in sections of their own.
        lines = "".join(f"    *(.text*.{name}*)\n" for name in start + turn)
        out.write(HEAD + lines + TAIL)
    print(f"{len(start)} lines for the start, {len(turn)} more for a turn: {os.path.relpath(FILE)}")


if __name__ == "__main__":
    main()
