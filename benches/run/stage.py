"""The large folder that several groups of rows use."""

import functools
import hashlib
import json
import os
import random
import shutil
import tempfile

from harness import MODEL

FILES = 100_000
NESTED = 40
SKILLS = 200
MEMORIES = 2_000
SEED = 7
DEPTH = 20
WORDS = ("cart price round test build deploy parse number buffer layout index query cache "
         "lane frame rope hash order folder release window panel theme font").split()


class Stage:
    """The folder with everything that is gathered, made once and kept for the next run."""

    def __init__(self, place):
        self.place = os.path.realpath(place)
        self.root = f"{self.place}/work"
        self.chain = [self.root]
        for level in range(1, DEPTH):
            self.chain.append(f"{self.chain[-1]}/level{level}")
        self.config = f"{self.place}/config/interline"
        self.state = f"{self.place}/state/interline"
        self.read = []  # files and folders that every session reads or lists
        self.walk = []  # instruction files from the root down
        self.project = {}  # what is remembered of each root
        self.chance = random.Random(SEED)
        fresh = not os.path.exists(f"{self.place}/made")
        if fresh:
            shutil.rmtree(self.place, ignore_errors=True)
        self.fresh = fresh
        self.tree()
        self.skills()
        self.memories()
        self.settings()
        if fresh:
            self.write(f"{self.place}/made", "")

    def write(self, path, text):
        if not self.fresh:
            return
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)

    def sentence(self, words):
        return " ".join(self.chance.choice(WORDS) for _ in range(words))

    def tree(self):
        for level, folder in enumerate(self.chain):
            self.write(f"{folder}/AGENTS.md", f"Rules of level {level}: {self.sentence(40)}.\n")
            self.walk.append(f"{folder}/AGENTS.md")
        for number in range(NESTED - DEPTH):
            text = f"Rules aside {number}: {self.sentence(40)}.\n"
            self.write(f"{self.root}/aside{number}/AGENTS.md", text)
        for number in range(FILES if self.fresh else 0):
            folder = f"{self.root}/aside{number % 20}/part{number // 20 % 50}"
            self.write(f"{folder}/file{number}.rs", f"fn f{number}() {{}}\n")
        self.write(f"{self.root}/.git/HEAD", "ref: refs/heads/main\n")
        self.write(f"{self.root}/.git/refs/heads/main", "0123456789abcdef" * 2 + "01234567\n")
        self.read += [f"{self.root}/.git/HEAD", f"{self.root}/.git/refs/heads/main"]

    def skills(self):
        self.read.append(f"{self.config}/skills")
        for number in range(SKILLS):
            path = f"{self.config}/skills/skill-{number}/SKILL.md"
            self.write(path, f"---\nname: skill-{number}\ndescription: {self.sentence(12)}.\n---\n"
                             + f"{self.sentence(10)}.\n" * 30)
            self.read.append(path)

    def memories(self):
        places = {f"{self.config}/memory": self.read}
        for root in (self.root, self.chain[-1]):
            digest = hashlib.sha256(root.encode()).hexdigest()[:8]
            name = f"{os.path.basename(root)}-{digest}"
            places[f"{self.state}/memory/{name}"] = self.project.setdefault(root, [])
        for place, known in places.items():
            known.append(f"{place}/topics")
            for kind in ("fact", "habit", "constraint", "preference", "skill"):
                count = MEMORIES // 10
                lines = [f"- (2026-11-{1 + n % 28:02}) {self.sentence(12)} {n}\n"
                         for n in range(count)]
                self.write(f"{place}/topics/{kind}.md", f"# {kind}\n\n" + "".join(lines))
                known.append(f"{place}/topics/{kind}.md")

    def settings(self):
        self.write(f"{self.config}/AGENTS.md", "Be brief.\n")
        self.write(f"{self.config}/config.toml", f'model = "{MODEL}"\n')
        self.write(f"{self.state}/trust.json",
                   json.dumps({"version": 1, "folders": [self.root], "files": {}}))
        self.read += [f"{self.config}/AGENTS.md", f"{self.config}/config.toml",
                      f"{self.state}/trust.json"]
        git = f"{self.place}/bin/git"
        self.write(git, f"#!/bin/sh\necho ran >> {self.place}/git-ran\n")
        os.chmod(git, 0o755)
        for folder in ("home", "run", "tmp"):
            os.makedirs(f"{self.place}/{folder}", exist_ok=True)

    def listing(self):
        """The name of a file with all that a session in the deepest folder reads."""
        name = f"{self.place}/listing"
        with open(name, "w", encoding="utf-8") as out:
            out.write("\n".join(self.read + self.walk + self.project[self.root]) + "\n")
        return name

    def environment(self):
        place = self.place
        return {"PATH": f"{place}/bin:{os.environ['PATH']}", "LANG": "C.UTF-8",
                "HOME": f"{place}/home", "XDG_CONFIG_HOME": f"{place}/config",
                "XDG_STATE_HOME": f"{place}/state", "XDG_DATA_HOME": f"{place}/state",
                "XDG_CACHE_HOME": f"{place}/tmp", "XDG_RUNTIME_DIR": f"{place}/run",
                "TMPDIR": f"{place}/tmp", "ANTHROPIC_API_KEY": "bench",
                "INTERLINE_LOG": "interline::agent::request::compose=debug"}


@functools.cache
def large():
    """The folder of this machine; the first run makes it."""
    return Stage(os.path.join(tempfile.gettempdir(), f"interline-bench-prompt-{SEED}"))
