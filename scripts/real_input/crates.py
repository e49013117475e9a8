"""Crates of cargo's registry as projects: which can be used, and how one of them is broken."""

import difflib
import os
import pathlib
import re
import shutil
import subprocess
import time

LINES = range(150, 6000)  # of all sources: neither trivial nor slow to check
SECONDS = 300
ITEM = re.compile(
    r"^\s*(?:pub(?:\([^)]*\))?\s+)?(?:(?:const|unsafe|async)\s+)*"
    r"(?:fn|struct|enum|trait|type|const|static)\s+([A-Za-z]\w{4,})"
)
NAMES = {"default", "clone", "drop", "deref", "deref_mut", "index", "write", "source", "borrow"}


def registry():
    home = pathlib.Path(os.environ.get("CARGO_HOME") or pathlib.Path.home() / ".cargo")
    return sorted(home.glob("registry/src/*/*/Cargo.toml"))


def check(folder):
    """`cargo check --offline`: exit code, what it printed, seconds."""
    began = time.monotonic()
    command = ["cargo", "check", "--offline"]
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=SECONDS, text=True,
                          errors="replace", env=environment())
    return done.returncode, done.stdout, time.monotonic() - began


def environment():
    """Cargo as the user has it, but with the target folder that the copy's parent names."""
    drop = ("CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR", "RUSTFLAGS", "RUSTC_WRAPPER")
    kept = {name: value for name, value in os.environ.items() if name not in drop}
    return {**kept, "CARGO_TERM_COLOR": "never"}


def first_error(output):
    """Of rustc's output: message, file, line, column, the block's text."""
    for block in re.split(r"\n(?=(?:error|warning)\b)", output):
        found = re.match(r"(error(?:\[E\d+\])?: .*)\n\s*--> ([^:\n]+):(\d+):(\d+)", block)
        if found:
            return found[1], found[2], int(found[3]), int(found[4]), block
    return None


def unfit(source):
    """Why a crate is not used, from its files alone; None if it qualifies."""
    if not (source / "src/lib.rs").is_file():
        return "no src/lib.rs"
    files = sorted((source / "src").rglob("*.rs"))
    if len(files) < 3:
        return f"{len(files)} .rs files"
    lines = 0
    for file in files:
        try:
            here = file.read_bytes().decode().count("\n")
        except UnicodeDecodeError:
            return f"{file.name} is not UTF-8"
        if here > 2000:
            return f"{file.name} has {here} lines"
        lines += here
    if lines not in LINES:
        return f"{lines} lines"
    return None


def copy(source, place):
    """A copy at `place`/NAME that builds into `place`/target, outside any workspace."""
    place.mkdir(parents=True)
    folder = place / source.name
    shutil.copytree(source, folder)
    (place / ".cargo").mkdir()
    (place / ".cargo/config.toml").write_text(f'[build]\ntarget-dir = "{place / "target"}"\n')
    # The author's lock file names versions that this machine may not have.
    for name in (".cargo-ok", ".cargo_vcs_info.json", "Cargo.toml.orig", "Cargo.lock"):
        (folder / name).unlink(missing_ok=True)
    manifest = folder / "Cargo.toml"
    text = manifest.read_text()
    if not re.search(r"^\[workspace\]", text, re.M):
        manifest.write_text(text.rstrip("\n") + "\n\n[workspace]\n")
    (folder / ".git").mkdir(exist_ok=True)
    return folder


def choose(rng, work, wanted, say, named=()):
    """The first `wanted` crates, in the seed's order, that pass `cargo check --offline`; with
    `named` only these, of any size."""
    manifests = [each for each in registry() if not named or each.parent.name in named]
    rng.shuffle(manifests)
    chosen, rejected, passed_over = [], {}, {}
    for manifest in manifests:
        if len(chosen) == wanted:
            break
        source = manifest.parent
        reason = unfit(source)
        if reason and not named:
            passed_over[source.name] = reason
            continue
        place = work / f"crate{len(chosen)}"
        folder = copy(source, place)
        try:
            code, output, seconds = check(folder)
        except subprocess.TimeoutExpired:
            code, output, seconds = 1, "error: took too long", SECONDS
        if code == 0:
            plan = Plan.make(rng, folder)
            if plan:
                say(f"taken: {source.name}: cargo check --offline passes ({seconds:.1f} s)")
                chosen.append(plan)
                continue
            reason = "no place found where a misspelt name is an error"
        else:
            found = re.search(r"^error.*", output, re.M)
            reason = "cargo check fails: " + (found[0] if found else "no reason given")[:90]
        rejected[source.name] = reason
        shutil.rmtree(place)
    for words, which in (("rejected", rejected), ("passed over unchecked", passed_over)):
        listed = [f"{name} ({reason})" for name, reason in which.items()]
        say(f"{words}: {', '.join(listed) or 'none'}")
    return chosen


def defined_names(texts):
    """Of all types, functions and constants."""
    item = r"\b(?:fn|struct|enum|trait|type|const|static)\s+(\w+)"
    return sorted(set(re.findall(item, "\n".join(texts.values()))))


def misspell(rng, name):
    """Two letters after the third change places, or one goes."""
    at = rng.randrange(3, len(name) - 1)
    if name[at] != name[at + 1]:
        return name[:at] + name[at + 1] + name[at] + name[at + 2:]
    return name[:at] + name[at + 1:]


class Plan:
    """One broken crate: where it is broken, and its texts before."""

    def __init__(self, folder, file, line, right, wrong, error):
        self.folder, self.file, self.line = folder, file, line
        self.right, self.wrong, self.error = right, wrong, error
        self.sound = {path.relative_to(folder).as_posix(): path.read_bytes()
                      for path in sorted((folder / "src").rglob("*.rs"))}

    @classmethod
    def make(cls, rng, folder):
        texts = {path.relative_to(folder).as_posix(): path.read_bytes().decode()
                 for path in sorted((folder / "src").rglob("*.rs"))}
        defined = {}
        for file, text in texts.items():
            for line in text.split("\n"):
                found = ITEM.match(line)
                if found:
                    defined.setdefault(found[1], []).append(file)
        places = []
        for file, text in texts.items():
            for number, line in enumerate(text.split("\n"), 1):
                places += cls.uses(defined, file, number, line)
        rng.shuffle(places)
        # Uses of another file's names first: then the definition is worth a search.
        places.sort(key=lambda place: defined[place[2]] == [place[0]])
        every = set(re.findall(r"\w+", "\n".join(texts.values())))
        for file, number, right in places[:12]:
            wrong = misspell(rng, right)
            # A name that looks more like another one has no certain repair.
            alike = [name for name in defined_names(texts) if name.startswith(wrong[:3])]
            if wrong in every or difflib.get_close_matches(wrong, alike, n=1) != [right]:
                continue
            plan = cls(folder, file, number, right, wrong, None)
            plan.plant()
            code, output, _ = check(folder)
            found = first_error(output)
            plan.heal()
            named = re.findall(r"`([^`]+)`", found[0]) if found else []
            first = named[0].split("::")[-1] if named else None
            if code and found and found[1:3] == (file, number) and first == wrong:
                plan.error = found[0]
                return plan
        return None

    @staticmethod
    def uses(defined, file, number, line):
        code = line.split("//")[0]
        if ITEM.match(line) or code.lstrip().startswith(("use ", "pub use ", "#", "*", "/*")):
            return
        for name in sorted(set(re.findall(r"\b[A-Za-z]\w{4,}\b", code))):
            if len(defined.get(name, [])) == 1 and name not in NAMES and line.count(name) == 1:
                yield file, number, name

    def broken(self):
        """The planted file's bytes."""
        lines = self.sound[self.file].split(b"\n")
        at = self.line - 1
        lines[at] = lines[at].replace(self.right.encode(), self.wrong.encode())
        return b"\n".join(lines)

    def plant(self):
        (self.folder / self.file).write_bytes(self.broken())

    def heal(self):
        for name, content in self.sound.items():
            (self.folder / name).write_bytes(content)
