"""What the stories need of every editor. Each editor's own keys are in a file of its name."""

import random
import re
import time

from .terminal import ENTER, ESCAPE, Terminal


class Editor:
    """An editor in its terminal, opened on a file of the home's project."""

    page = None  # below editors/, the page whose steps set it up
    words = True  # a command can take the user's words
    lone = "cart.sh"  # a file that only Interline is attached to
    checks_versions = True  # an edit for an older version is not applied
    asks_others = False  # the agent can ask the editor's other language servers
    renames = False  # also for renames
    asks_by_message = False  # approvals are answered in a message
    starts_to_ask = False  # a prompt starts the server if none runs
    keeps_prompts = False  # a prompt that no server accepted is offered again
    unattached = None  # a file that no server is attached to; None: any file is attached

    def __init__(self, home, prefix, file):
        self.home, self.prefix, self.file = home, prefix, file
        self.before = len(home.frames())
        self.terminal = None
        self.start()
        first = home.read(file).split("\n")[0]
        self.until(lambda: first in self.lines(), "the editor shows the file")
        self.attached()

    # What each editor does in its own way.

    @staticmethod
    def programs(run, prefix, extra):
        raise NotImplementedError

    def start(self):
        raise NotImplementedError

    def run(self, *command):
        home = self.home
        self.terminal = Terminal(command, home.project, home.environment())

    @staticmethod
    def with_toy_server(home, command):
        """Sets the editor up to start this language server for files that end in `.toy`."""
        raise NotImplementedError

    # What all do alike.

    def until(self, holds, what, patience=30):
        return self.terminal.until(holds, what, patience)

    def frames(self):
        """What this editor and its server have shown so far."""
        return self.home.frames()[self.before:]

    def opened(self):
        return any(way == "in" and frame.get("method") == "textDocument/didOpen"
                   and frame["params"]["textDocument"]["uri"].endswith("/" + self.file)
                   for way, frame in self.frames())

    def attached(self):
        if self.file == self.unattached:
            return
        self.until(self.opened, f"the server knows that {self.file} is open")

    def back(self):
        """Starts a server that has ended again, and waits until it knows the file."""
        self.restart()
        self.attached()

    def lose_server(self):
        """Its server is killed."""
        self.before = len(self.home.frames())
        self.home.end(self.home.servers())

    def send(self, keys):
        self.terminal.send(keys)

    def type(self, text, pace=12):
        self.terminal.type(text, pace)

    def type_like_a_person(self, text):
        """8 to 15 keys a second, the same each time, with a short halt now and then."""
        paces = random.Random(text)
        for key in text:
            self.type(key, paces.uniform(8, 15))
            if paces.random() < 0.12:
                self.rest(0.25)

    @staticmethod
    def rest(seconds):
        """The user pauses: time that is part of the story, not a wait for something."""
        time.sleep(seconds)

    def shows(self, *words):
        return self.terminal.shows(*words)

    def wait(self, *words):
        self.terminal.wait(*words)

    def has(self, *lines):
        """Waits until the buffer, as shown, has these lines, one after the other."""
        wanted = [line.rstrip() for line in lines]

        def there():
            shown = self.lines()
            size = len(wanted)
            return any(shown[at:at + size] == wanted for at in range(len(shown)))
        self.until(there, f"the buffer has {wanted}")

    def saved(self):
        """Saves with the editor's own command and gives the file's text."""
        before = len(self.home.received("textDocument/didSave"))
        self.save()
        self.until(lambda: len(self.home.received("textDocument/didSave")) > before,
                   "the server knows of the save")
        return self.home.read(self.file)

    def step_back(self):
        """One undo; false at the oldest state."""
        return self.changed_by(self.undo, self.oldest)

    def step_forth(self):
        return self.changed_by(self.redo, self.newest)

    def changed_by(self, act, words):
        # A line end at the buffer's end shows in the cursor only.
        before = self.lines(), self.terminal.cursor()
        act()
        self.until(lambda: (self.lines(), self.terminal.cursor()) != before or self.shows(words),
                   "an undo, or the message that there is nothing to undo")
        return not self.shows(words)

    def put_away(self):
        """Closes a question without an answer, if it is in the way."""

    def settle(self):
        """Dismisses whatever is between the user and the buffer."""

    def closing(self, words):
        """Waits until the screen shows these words of the turn's last message."""
        self.wait(re.escape(words))
        self.settle()

    def told(self, words):
        """Waits until the server has shown the user these words."""
        self.until(lambda: any(words in each for each in self.home.messages()),
                   f"a message says {words}")

    def reads_all(self, first, last):
        """Reads a long message from these first words to the last, where the editor shows it."""

    def reads_what_was_cut_off(self):
        """Sees the notice about the interrupted turn, and continues without it."""
        self.told("was interrupted")

    def chat(self):
        self.act("Interline: ask in chat")

    def shows_the_transcript(self):
        """If the editor cannot be made to show it, the user opens the named file."""
        named = lambda: re.search(r"open (/\S+\.md)", "\n".join(self.home.messages()))
        there = r"(?m)^ *(\d+ +)?## You"
        self.until(lambda: self.shows(there) or named(), "the transcript, or its name")
        if not self.shows(there):
            self.settle()
            self.visit(named()[1])
        self.wait(there)

    def kill(self):
        self.terminal.kill()

    def close(self):
        self.terminal.close()


def rows_until(lines, end):
    """The lines before the first that matches `end`."""
    found = next((at for at, line in enumerate(lines) if re.match(end, line)), len(lines))
    return lines[:found]


def without_margin(rows, margin):
    """The buffer's lines, without their common margin and without what is below them."""
    while rows and not rows[-1]:
        rows = rows[:-1]
    if all(row.startswith(margin) or not row for row in rows):
        rows = [row[len(margin):] for row in rows]
    return rows


def plain(words):
    """A search pattern that every editor reads as just these words."""
    assert re.fullmatch(r"[a-z0-9 ]+", words), words
    return words


__all__ = ["ENTER", "ESCAPE", "Editor", "plain", "rows_until", "without_margin"]
