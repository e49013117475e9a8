"""A clean home for one story: the project's files, the editor set up by its page's steps,
the server's folders, and the messages between server and editor."""

import getpass
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess

TOP = pathlib.Path(__file__).resolve().parent.parent.parent


class Home:
    def __init__(self, folder, binary, programs, url):
        self.folder = pathlib.Path(folder)
        self.home = self.folder / "home"
        self.project = self.folder / "project"
        self.bin = self.folder / "bin"
        for each in (self.home, self.project, self.bin, self.folder / "run", self.folder / "tmp"):
            each.mkdir(parents=True)
        (self.folder / "run").chmod(0o700)
        self.recording = self.folder / "frames.jsonl"
        config = self.home / ".config/interline/config.toml"
        config.parent.mkdir(parents=True)
        # What a command does depends on the machine's sandbox, so the stories have none.
        config.write_text(f'record = "{self.recording}"\n[sandbox]\nmode = "off"\n')
        self.url = url
        self.link("interline", [str(binary)])
        for name, command in programs.items():
            self.link(name, command)

    def link(self, name, command):
        """A program of that name on the PATH."""
        words = " ".join(f"'{word}'" for word in command)
        path = self.bin / name
        path.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
        path.chmod(0o755)

    def environment(self):
        return {"HOME": str(self.home), "PATH": f"{self.bin}:/usr/local/bin:/usr/bin:/bin",
                "XDG_RUNTIME_DIR": str(self.folder / "run"), "TMPDIR": str(self.folder / "tmp"),
                "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "SHELL": "/bin/sh", "USER": getpass.getuser(),
                "ANTHROPIC_API_KEY": "test", "ANTHROPIC_BASE_URL": self.url}

    def install(self, page):
        """Carries out the steps of `## Install` in editors/<page>/README.md."""
        text = (TOP / "editors" / page / "README.md").read_text()
        section = re.search(r"^## Install\n(.*?)(?=^## |\Z)", text, re.M | re.S)
        blocks = re.findall(r"^```sh\n(.*?)^```", section[1], re.M | re.S) if section else []
        if not blocks:
            raise AssertionError(f"editors/{page}/README.md has no steps under ## Install")
        for block in blocks:
            self.run(["sh", "-eu", "-c", block], TOP)

    def run(self, command, folder=None):
        done = subprocess.run(command, cwd=folder or self.project, env=self.environment(),
                              capture_output=True, text=True, timeout=60)
        if done.returncode:
            raise AssertionError(f"{command}: {done.stdout}{done.stderr}")
        return done.stdout

    def trust(self):
        self.run([str(self.bin / "interline"), "trust", str(self.project)])

    def write(self, name, text):
        path = self.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        return path

    def read(self, name):
        return (self.project / name).read_bytes().decode()

    def frames(self):
        """What went over the wire of every server so far: ("in" or "out", message)."""
        if not self.recording.exists():
            return []
        found = []
        for line in self.recording.read_text().splitlines():
            try:
                row = json.loads(line)
            except ValueError:  # the line that is being written
                continue
            if "frame" in row:
                found.append((row["direction"], row["frame"]))
        return found

    def sent(self, method):
        """Params of what the server sent with that method."""
        return [frame.get("params") for way, frame in self.frames()
                if way == "out" and frame.get("method") == method]

    def received(self, method):
        return [frame.get("params") for way, frame in self.frames()
                if way == "in" and frame.get("method") == method]

    def messages(self):
        """The messages that the server showed the user."""
        shown = self.sent("window/showMessage") + self.sent("window/showMessageRequest")
        return [each["message"] for each in shown]

    def processes(self, name=""):
        """Ids of this story's processes, found by their HOME; only of that program, if given."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                program = (entry / "cmdline").read_bytes().split(b"\0")[0].decode()
                ours = b"HOME=" + bytes(self.home) in (entry / "environ").read_bytes().split(b"\0")
            except OSError:  # it has ended
                continue
            if ours and program and program.endswith("/" + name if name else ""):
                found.append(int(entry.name))
        return found

    def servers(self):
        return self.processes("interline")

    def end(self, processes):
        for each in processes:
            try:
                os.kill(each, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def state(self):
        """The server's folder of sessions."""
        return self.home / ".local/state/interline"

    def remove(self):
        self.end(self.processes())
        shutil.rmtree(self.folder, ignore_errors=True)


def newest(*paths):
    there = [path for path in map(pathlib.Path, paths) if path.is_file()]
    return max(there, key=os.path.getmtime) if there else None
