"""Runs the story in each Neovim, checks what became of the files, writes the transcript."""

import argparse
import difflib
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import tempfile
import threading
import time

from . import crates, script, wire

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
MINUTES = 12
TYPED = ["// unsaved: grüße 𝒳", "// typed after the first check", "// typed while an edit comes"]
PROMPT = ("This crate does not compile. Repair it, and mention the repaired name in a comment in "
          "two more files, one of them the open one.")


class Transcript:
    def __init__(self, path):
        self.file = open(path, "w", encoding="utf-8") if path else None

    def __call__(self, line=""):
        print(line, flush=True)
        if self.file:
            self.file.write(line + "\n")
            self.file.flush()


def short(text, most=150):
    text = " ".join(text.split())
    return text if len(text) <= most else text[:most - 1] + "…"


def lines_of(content):
    """Lines with their ends; only a line feed ends one."""
    return re.findall(r"[^\n]*\n|[^\n]+", content.decode())


def exit_code(text):
    found = re.search(r"^Exit code (\d+)", text, re.M)
    return int(found[1]) if found else None


def call(name, given):
    if name == "read":
        return "read " + given["path"] + (f" from {given['offset']}" if "offset" in given else "")
    if name == "edit":
        return "edit " + given["path"]
    return f"{name} " + (given.get("command") or given.get("pattern"))


class Story:
    """One crate in one Neovim."""

    def __init__(self, plan, opened, editor, binary, say):
        self.plan, self.opened, self.editor, self.binary = plan, opened, editor, binary
        self.say = say
        self.began = time.monotonic()
        self.lock = threading.Lock()
        self.events = []
        self.step, self.words, self.calls, self.meanwhile = 0, "", [], []

    def tell(self, kind, **more):
        """What the model and the editor report, as it happens."""
        with self.lock:
            self.events.append({"kind": kind, **more})
            getattr(self, "on_" + kind, lambda **_: None)(**more)

    def line(self, text):
        self.say(f"{time.monotonic() - self.began:6.2f}  {text}")

    def on_step(self, words, calls):
        self.step, self.calls = self.step + 1, calls
        self.flush()
        self.words = words

    def on_results(self, results):
        """A line for the step: its calls, each with what came of it; before it what happened."""
        self.flush()
        parts = [f"{short(call(*each), 76)} → {self.outcome(*result)}"
                 for each, result in zip(self.calls, results)]
        self.line(f"{self.step}. " + " | ".join(parts))

    @staticmethod
    def outcome(text, is_error):
        error = crates.first_error(text)
        if error:
            return f"exit {exit_code(text)}, {short(error[0])} --> {error[1]}:{error[2]}:{error[3]}"
        lines = text.split("\n")
        unsaved = " [unsaved]" if "has unsaved changes" in text else ""
        return ("ERROR " if is_error else "") + short(lines[0], 66) + unsaved

    def flush(self):
        if self.meanwhile:
            self.line("   " + " · ".join(self.meanwhile))
        self.meanwhile = []

    def on_asked(self, title, reason, what, unsaved=None, command=None):
        names = ", ".join(uri.rpartition("/src/")[2] for uri in unsaved or [])
        self.meanwhile.append(f"asked for a {what}, unsaved: {names or 'none'}")

    def on_answered(self, prompt, choice):
        self.meanwhile.append(f"“{prompt}” {choice}")

    def on_typed(self, text, file, saved):
        self.meanwhile.append(f"user types in {file}: {text}")

    def on_edit(self, file, status, reason=None):
        self.meanwhile.append(f"edit {file} {status}{' (' + reason + ')' if reason else ''}")

    def on_saved(self, file, status, reason=None):
        self.meanwhile.append(f"{file} {status}{' (' + reason + ')' if reason else ''}")

    def on_failed(self, reason, answers):
        self.say(f"the driver failed: {reason}\n{answers}")

    def run(self, work):
        """Starts Neovim and waits for its end."""
        plan = {"root": str(self.plan.folder), "open": self.opened, "typed": TYPED,
                "prompt": PROMPT}
        model = wire.Model(script.solve, self.tell)
        plan["url"] = model.url
        (work / "plan.json").write_text(json.dumps(plan))
        command = [*self.editor, "--clean", "-i", "NONE", "-n", "--headless", "-l",
                   str(HERE / "driver.lua")]
        with open(work / "nvim.err", "wb") as errors:
            nvim = subprocess.Popen(command, cwd=self.plan.folder, stdin=subprocess.DEVNULL,
                                    stdout=subprocess.PIPE, stderr=errors, text=True,
                                    env=self.environment(work))
            timer = threading.Timer(60 * MINUTES, nvim.kill)
            timer.start()
            for line in nvim.stdout:
                event = json.loads(line)
                self.tell(event.pop("kind"), **event)
            code = nvim.wait()
            timer.cancel()
        model.close()
        if code:
            self.say((work / "nvim.err").read_text(errors="replace")[-2000:])
        return code, model

    def environment(self, work):
        home = pathlib.Path.home()
        new = crates.environment()
        new.setdefault("CARGO_HOME", str(home / ".cargo"))
        new.setdefault("RUSTUP_HOME", str(home / ".rustup"))
        for name in [name for name in new if name.endswith("_API_KEY")]:
            del new[name]
        folders = {"HOME": "home", "TMPDIR": "tmp", "XDG_RUNTIME_DIR": "tmp",
                   "XDG_CONFIG_HOME": "config", "XDG_DATA_HOME": "data",
                   "XDG_STATE_HOME": "state", "XDG_CACHE_HOME": "cache"}
        for name, folder in folders.items():
            (work / folder).mkdir(exist_ok=True)
            new[name] = str(work / folder)
        return {**new, "INTERLINE_BIN": self.binary, "REAL_PLAN": str(work / "plan.json"),
                "INTERLINE_PLUGIN": str(TOP / "editors/nvim")}

    def found(self, kind, **more):
        return [event for event in self.events if event["kind"] == kind
                and all(event.get(name) == value for name, value in more.items())]

    def changes(self):
        """Lines that went and came, by file, over all files of the crate's sources."""
        changed = {}
        for path in sorted((self.plan.folder / "src").rglob("*.rs")):
            name = path.relative_to(self.plan.folder).as_posix()
            before = self.plan.sound[name]
            if name == self.plan.file:
                before = self.plan.broken()
            after = path.read_bytes()
            if before != after:
                if not before.endswith(b"\n"):
                    # Neovim's 'fixendofline' does that, as its user wants it.
                    before += b"\n"
                rows = [row for row in difflib.ndiff(lines_of(before), lines_of(after))
                        if row[0] in "-+"]
                changed[name] = ([row[2:] for row in rows if row[0] == "-"],
                                 [row[2:] for row in rows if row[0] == "+"], rows)
        return changed

    def checks(self, nvim, model, code, output):
        """The checks: a description and whether it holds."""
        plan, changed = self.plan, self.changes()
        results = [text for event in self.found("results") for text, _ in event["results"]]
        runs = [code for text in results if (code := exit_code(text)) is not None]
        edits = self.found("edit")
        undo = (self.found("undo") or [{}])[0]
        mentions = f"// `{plan.right}` is used in {plan.file}:"
        end = "\r\n" if b"\r\n" in plan.sound[self.opened] else "\n"

        def minimal(name):
            gone, come, _ = changed[name]
            bad = [lines_of(plan.broken())[plan.line - 1]] if name == plan.file else []
            good = [bad[0].replace(plan.wrong, plan.right)] if bad else []
            typed = [each + end for each in TYPED] if name == self.opened else []
            own = [line for line in come if line not in typed + good]
            single = len(own) == (name != plan.file) and all(
                line.lstrip().startswith(mentions) for line in own)
            return gone == bad and single and sorted(come) == sorted(good + typed + own)

        yield "Neovim and the turn end well", nvim == 0 and self.found("ended", reason="endTurn")
        yield "the model's requests are as the provider wants them", not model.violations
        yield "the model saw the unsaved text", any(
            TYPED[0] in text and "unsaved changes" in text for text in results)
        yield "the first check in the session fails, the last passes", (
            len(runs) >= 2 and runs[0] == 101 and runs[-1] == 0)
        yield "each check was asked for, and its unsaved files saved", (
            len(self.found("asked", what="command")) == len(runs)
            and len(self.found("saved", status="saved")) >= 4)
        yield "cargo check passes afterwards", code == 0
        yield "the open file's edit met the user's typing and was rebased", any(
            edit["file"] == self.opened and edit["status"] == "rebased" for edit in edits)
        yield "one undo took the agent's edit back, redo brought it again", (
            undo.get("taken_back") and undo.get("again"))
        yield "three files changed, one of them the open one", (
            len(changed) == 3 and self.opened in changed and plan.file in changed)
        yield "only the lines meant changed; line ends and other bytes are as before", (
            all(minimal(name) for name in changed))
        yield "the user's three texts are in the open file", all(
            each in (plan.folder / self.opened).read_text() for each in TYPED)

    def tell_story(self, work):
        """Everything; returns how many checks passed and failed."""
        work.mkdir(parents=True)
        plan = self.plan
        plan.heal()
        plan.plant()
        code, output, seconds = crates.check(plan.folder)
        version = subprocess.run([*self.editor, "--version"], capture_output=True, text=True)
        self.say(f"== {plan.folder.name} in {version.stdout.splitlines()[0]}; planted in {plan.file}:"
                 f"{plan.line}: {plan.right} → {plan.wrong}; cargo check: exit {code} "
                 f"({seconds:.1f} s), {plan.error}")
        self.began = time.monotonic()
        nvim, model = self.run(work)
        self.flush()
        seconds = time.monotonic() - self.began
        after, output, _ = crates.check(plan.folder)
        for name, (_, _, rows) in self.changes().items():
            self.say(f"diff {name}: " + "  ⏎  ".join(short(row, 75) for row in rows))
        verdicts = [("cargo check fails before", code == 101)]
        verdicts += self.checks(nvim, model, after, output)
        bad = [words for words, holds in verdicts if not holds]
        for words in bad + model.violations:
            self.say(f"FAILED: {words}")
        self.say(f"{len(verdicts) - len(bad)} of {len(verdicts)} hold; the model's last words: "
                 f"{short(self.words)} cargo check afterwards: exit {after}; {model.steps} requests "
                 f"in {seconds:.1f} s")
        plan.heal()
        return verdicts


def editors(given):
    """Command lines of the Neovims."""
    found = [pathlib.Path(each) for each in given]
    if not found:
        target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", TOP / "target"))
        found = [prefix for name in ("trixie", "sid")
                 if (prefix := target / f"editors/nvim-{name}").is_dir()]
    run = ["sh", str(TOP / "scripts/editors/prefix-run.sh")]
    commands = [[*run, str(prefix.resolve()), "nvim"] for prefix in found]
    if not commands and shutil.which("nvim"):
        commands = [["nvim"]]
    return commands


def server(given):
    """The server's binary: the one named, or the newest build."""
    named = given or os.environ.get("INTERLINE_BIN")
    if named:
        return str(pathlib.Path(named).resolve())
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", TOP / "target"))
    built = [path for kind in ("release", "debug") if (path := target / kind / "interline").is_file()]
    return str(max(built, key=lambda path: path.stat().st_mtime)) if built else None


def open_file(rng, plan, number):
    """The file that the user types in; in the third crate it is the broken one."""
    if number % 3 == 2:
        return plan.file
    others = [name for name in plan.sound if name != plan.file and plan.sound[name].count(b"\n") > 2]
    return rng.choice(others)


def main(about):
    parser = argparse.ArgumentParser(usage=about)
    parser.add_argument("seed", nargs="?", default=None)
    parser.add_argument("--nvim", action="append", default=[])
    parser.add_argument("--transcript")
    parser.add_argument("--crates", type=int)
    parser.add_argument("--crate", action="append", default=[])
    parser.add_argument("--bin")
    parser.add_argument("--keep", action="store_true")
    given = parser.parse_args()
    say = Transcript(given.transcript)
    commands, binary = editors(given.nvim), server(given.bin)
    if not commands or not binary:
        say("nothing to run: " + ("build the server (cargo build --release) or give --bin"
                                  if commands else "give --nvim, or run scripts/test first"))
        return 2
    seed = given.seed or str(random.SystemRandom().randrange(10**6))
    rng = random.Random(seed)
    work = pathlib.Path(tempfile.mkdtemp(prefix="interline-real-"))
    say(f"seed {seed}")
    passed, failed, verdicts = 0, 0, []
    try:
        wanted = given.crates or len(given.crate) or 3
        plans = crates.choose(rng, work, wanted, say, given.crate)
        failed += wanted - len(plans)
        if len(plans) < wanted:
            say(f"FAILED: {len(plans)} of {wanted} crates found that can be used")
        opened = [open_file(rng, plan, number) for number, plan in enumerate(plans)]
        for at, editor in enumerate(commands):
            for plan, name in zip(plans, opened):
                story = Story(plan, name, editor, binary, say)
                verdicts = story.tell_story(work / f"run{at}-{plan.folder.name}")
                bad = sum(not holds for _, holds in verdicts)
                passed, failed = passed + len(verdicts) - bad, failed + bad
    finally:
        if given.keep:
            say(f"kept {work}")
        else:
            shutil.rmtree(work, ignore_errors=True)
    say("asked of each: " + "; ".join(words for words, _ in verdicts))
    say(f"{passed} passed, {failed} failed")
    return int(failed > 0 or passed == 0)
