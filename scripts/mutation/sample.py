"""Mutations at random over all production code. cargo-mutants lists what can be changed; here each
is put behind a switch, so that one build holds all of them, and the tests say which they notice."""

import json
import os
import random
import re
import shutil
import subprocess
import time

from .rust import Source, Unclear

# Seconds for the tests of one module: a mutation may make them run forever.
SOON = 120
# How many mutations are switched on together in a run of all tests.
GROUP = 8
# So many of the tests that failed with a group are run again with each of its mutations alone.
AGAIN = 40
# Rounds of the compiler; each drops what it complains of.
ROUNDS = 12


class Drawn:
    """One mutation: what is inserted where, so that the original stays as it is when it is off."""

    def __init__(self, entry, number):
        self.file = entry["file"]
        self.name = entry["name"]
        self.switch = f"sample-{number}"
        self.entry = entry
        self.on = f'crate::mutant("{self.switch}")'

    def inserts(self, text, source, lines):
        """(start, words before, end, words after); Unclear where it cannot be switched."""
        start, end = (offset(lines, self.entry["span"][side]) for side in ("start", "end"))
        old, new, genre = text[start:end], self.entry["replacement"], self.entry["genre"]
        if genre == "FnValue":
            value = "return" if new == "()" else f"return {new}"
            return start, f"if {self.on} {{ {value}; }} ", start, ""
        if genre == "MatchArmGuard":
            return start, f"(if {self.on} {{ {new} }} else {{ ", end, " })"
        if genre == "MatchArm":
            return arm(source, start, end, self.on)
        if genre == "StructField":
            return field(text, source, start, end, self.on)
        if genre == "UnaryOperator":
            first, last = source.prefix(start)
        else:
            first, last = source.infix(start)
        mutated = text[first:start] + new + text[start + len(old) : last]
        return first, f"(if {self.on} {{ {mutated} }} else {{ ", last, " })"


def offset(lines, place):
    return lines[place["line"] - 1] + place["column"] - 1


def arm(source, start, end, on):
    """A deleted arm never matches: its guard fails."""
    guard = None
    index = source.at(start)
    while index < len(source.tokens) and source.tokens[index][2] < end:
        text, begins, ends = source.tokens[index][1:]
        if text == "=>":
            if guard is None:
                return begins, f"if !{on} ", begins, ""
            return guard, f" !{on} && (", begins, ") "
        if text == "if":
            guard = ends
        partner = source.pairs.get(index, index)
        index = max(index, partner) + 1
    raise Unclear


def field(text, source, start, end, on):
    """A deleted field has the value of the struct's base."""
    name = source.at(start)
    index = name
    while index < len(source.tokens) and source.text(index) not in ("..", "}"):
        index = max(index, source.pairs.get(index, index)) + 1
    if source.text(index) != "..":
        raise Unclear
    base = source.tokens[index][3]
    while source.text(index) != "}":
        index = max(index, source.pairs.get(index, index)) + 1
    value = f"({text[base:source.tokens[index][2]].strip()}).{source.text(name)}"
    if source.text(name + 1) in (",", "}"):
        # A field named as its variable.
        at = source.tokens[name][3]
        return at, f": (if {on} {{ {value} }} else {{ {source.text(name)} }})", at, ""
    last = end
    while text[last - 1] in ", \n":
        last -= 1
    return source.tokens[name + 1][3], f" (if {on} {{ {value} }} else {{ ", last, " })"


class File:
    """A source file and the mutations drawn in it."""

    def __init__(self, top, name):
        self.name = name
        self.text = (top / name).read_text()
        self.source = Source(self.text)
        self.lines = [0]
        for line in self.text.split("\n"):
            self.lines.append(self.lines[-1] + len(line) + 1)
        self.places = {}

    def add(self, drawn):
        """Whether it can be switched."""
        try:
            self.places[drawn] = drawn.inserts(self.text, self.source, self.lines)
        except Unclear:
            return False
        return True

    def written(self):
        """The text with all switches, and (mutation, start, end) of all that belongs to one."""
        pieces = []
        for order, (drawn, (start, before, end, after)) in enumerate(self.places.items()):
            # What spans more opens first and closes last.
            pieces.append((start, 1, start - end, order, before, drawn))
            if after:
                pieces.append((end, 0, start - end, -order, after, drawn))
        # At one place: ends of the shorter first, then beginnings of the longer first.
        pieces.sort(key=lambda it: (it[0], it[1], -it[2] if it[1] == 0 else it[2], it[3]))
        text, at, ranges, opened = "", 0, [], {}
        for place, opens, _, _, words, drawn in pieces:
            text += self.text[at:place]
            at = place
            start = len(text.encode())
            text += words
            ranges.append((drawn, start, len(text.encode())))
            if opens:
                opened[drawn] = start
            else:
                ranges.append((drawn, opened[drawn], len(text.encode())))
        return text + self.text[at:], ranges


def found_in(place):
    """PATH with the tools that are installed below `place`."""
    return os.pathsep.join([os.environ.get("PATH", ""), str(place / "tools" / "bin")])


def tool(place):
    """The environment in which `cargo mutants` runs; installed below `place` when it is absent."""
    path = found_in(place)
    env = os.environ | {"PATH": path}
    if shutil.which("cargo-mutants", path=path) is None:
        print("installing cargo-mutants (some minutes, once)", flush=True)
        command = ["cargo", "install", "cargo-mutants", "--locked", "--quiet"]
        subprocess.run([*command, "--root", place / "tools"], check=True)
    return env


def is_production(entry):
    """Not the fuzz harness, helpers of tests, or the one line of main."""
    path = entry["file"].removesuffix(".rs").split("/")
    return "tests" not in path and path[:2] not in (["src", "fuzz"], ["src", "main"])


def draw(top, place, count, seed):
    """So many mutations of production code."""
    listed = subprocess.run(
        ["cargo", "mutants", "--list", "--json"],
        cwd=top, env=tool(place), check=True, stdout=subprocess.PIPE,
    )
    entries = [entry for entry in json.loads(listed.stdout) if is_production(entry)]
    entries.sort(key=lambda it: it["name"])
    some = random.Random(seed).sample(entries, min(count, len(entries)))
    print(f"{len(some)} of {len(entries)} mutations", flush=True)
    return [Drawn(entry, number) for number, entry in enumerate(some)]


class Sample:
    def __init__(self, top, place, count, seed):
        self.drawn = draw(top, place, count, seed)
        self.files, self.unviable = {}, {}
        for drawn in self.drawn:
            if drawn.file not in self.files:
                self.files[drawn.file] = File(top, drawn.file)
            if not self.files[drawn.file].add(drawn):
                self.unviable[drawn] = "no switch fits there"

    def texts(self):
        return {name: file.written()[0] for name, file in self.files.items()}

    def viable(self):
        return [drawn for drawn in self.drawn if drawn not in self.unviable]

    def leave_out(self, read):
        """Leaves out mutations of files that are not among those that the compiler read: they are
        for other systems."""
        names = set(re.findall(r"[^\s:]+\.rs", read))
        for drawn in self.viable():
            if not any(name.endswith(f"/{drawn.file}") or name == drawn.file for name in names):
                self.unviable[drawn] = "not compiled on this system"

    def drop(self, messages):
        """Drops the mutations that the compiler's errors point at; whether there are any."""
        before = len(self.unviable)
        for message in messages:
            code = (message.get("code") or {}).get("code", "")
            why = f"{code} {message['message']}".strip()
            places = [span for span in message["spans"] if span["file_name"] in self.files]
            found = self.inside([it for it in places if it["is_primary"]])
            found = found or self.inside(places)
            if not found:
                found = {d for it in places for d in self.files[it["file_name"]].places}
            for drawn in found:
                self.unviable[drawn] = why
        for drawn in self.unviable:
            self.files[drawn.file].places.pop(drawn, None)
        return len(self.unviable) > before

    def inside(self, spans):
        """The mutations to which what the spans show belongs: the innermost of each."""
        found = set()
        for span in spans:
            ranges = self.files[span["file_name"]].written()[1]
            holds = [
                (end - start, number, drawn)
                for number, (drawn, start, end) in enumerate(ranges)
                if start < span["byte_end"] and span["byte_start"] < end
            ]
            if holds:
                found.add(min(holds)[2])
        return found


def compiled(sample, copy, check):
    """Writes the copy until it compiles. `check` gives the compiler's errors."""
    for _ in range(ROUNDS):
        copy(sample.texts())
        errors = check()
        if not errors:
            return True
        print(f"{len(errors)} errors of the compiler", flush=True)
        if not sample.drop(errors):
            break
    for error in errors:
        print(error.get("rendered") or error["message"])
    return False


def near(drawn, tests):
    """The tests of the module: those beside the file and below it."""
    module = drawn.file.removeprefix("src/").removesuffix(".rs").replace("/", "::")
    parent = module.rsplit("::", 1)[0]
    own = [test for test in tests if test.startswith(f"{module}::")]
    return own, [test for test in tests if test.startswith(f"{parent}::") and test not in own]


class Judge:
    """Which mutations the tests notice."""

    def __init__(self, stages):
        self.began = time.monotonic()
        self.caught = {}
        # (name, run): the unit tests, then the stories.
        self.stages = stages

    def note(self, drawn, by):
        self.caught[drawn] = by
        print(f"caught   {drawn.name}  ({by})", flush=True)

    def modules(self, drawn):
        """The module's own tests, each mutation by itself."""
        name, run = self.stages[0]
        for tests in near(drawn, run.tests):
            if not tests:
                continue
            red = run.red(tests, {}, [drawn.switch], SOON)
            if red is None or red:
                return self.note(drawn, sorted(red)[0] if red else "a run without end")
        return None

    def group(self, name, run, group):
        """All tests with the whole group; what fails is run again with each alone."""
        while group:
            red = run.red(run.tests, {}, [it.switch for it in group])
            if red is None:
                if len(group) == 1:
                    return self.note(group[0], f"{name}: a run without end")
                half = len(group) // 2
                self.group(name, run, group[:half])
                return self.group(name, run, group[half:])
            some = sorted(red)[:: max(1, len(red) // AGAIN)]
            left = []
            for drawn in group if some else []:
                again = run.red(some, {}, [drawn.switch])
                if again is None or again:
                    test = sorted(again)[0] if again else "a run without end"
                    self.note(drawn, f"{name}: {test}")
                else:
                    left.append(drawn)
            if len(left) == len(group) or not some:
                return None
            group = left
        return None

    def all(self, drawn):
        for one in drawn:
            self.modules(one)
        for name, run in self.stages:
            left = [it for it in drawn if it not in self.caught]
            print(f"{name}: {len(left)} left, {minutes(self.began)} min", flush=True)
            for at in range(0, len(left), GROUP):
                self.group(name, run, left[at : at + GROUP])
        return [it for it in drawn if it not in self.caught]


def minutes(began):
    return f"{(time.monotonic() - began) / 60:.1f}"
