"""Helix's keys. 25.01 passes no arguments to a server's commands and cannot show questions."""

import json
import re

from .terminal import DOWN
from .editor import ENTER, ESCAPE, Editor, plain


class Helix(Editor):
    page = "helix"
    lone = "cart.txt"  # a language without other servers: 25.01 restarts all or none
    oldest, newest = "Already at oldest change", "Already at newest change"

    @staticmethod
    def programs(run, prefix, _extra):
        return {"hx": [run, prefix, "hx"]}

    def start(self):
        self.run("hx", self.file)

    @property
    def words(self):
        return "helix-trixie" not in str(self.prefix)

    @property
    def asks_by_message(self):
        return self.words

    def normal(self):
        # Escape and the next key in one read would be one key with Alt.
        self.send(ESCAPE)
        self.wait(r"(?m)^ NOR ")

    def lines(self):
        rows = [re.match(r" *(\d+) ?(?:  |$)(.*)", line[0:]) for line in self.terminal.lines()]
        return [row[2] for row in rows if row]

    def command(self, words):
        self.send(f":{words}{ENTER}")

    def command_of_the_server(self, name):
        self.command(f"lsp-workspace-command interline.{name}")

    def visit(self, path):
        self.command(f"open {path}")

    def at_the_end(self):
        self.send("geo")
        self.wait(r"(?m)^ INS ")

    def ask(self, words):
        if self.words:
            self.command(f"lsp-workspace-command interline.ask {json.dumps(words)}")
        else:
            self.act("explain this")

    def act(self, title):
        """A code action by its title."""
        self.send(" a")
        self.wait(title)
        rows = [line for line in self.terminal.lines() if "Interline: " in line]
        at = next(at for at, row in enumerate(rows) if title in row)
        self.send(DOWN * at + ENTER)

    def put_away(self):
        """Closes the question without an answer, if it is a dialog."""
        if self.asks_by_message:
            self.send(ESCAPE)
            self.until(lambda: not self.shows("Reason:"), "the question is closed")

    def reads_what_was_cut_off(self):
        super().reads_what_was_cut_off()
        if self.asks_by_message:
            self.wait("Reopen")
            self.send(ESCAPE)
            self.until(lambda: not self.shows("Reopen"), "the question is closed")

    def asked(self):
        self.wait("Reason:" if self.asks_by_message else "Interline: (?:Edit|Run) ")

    def approve(self):
        self.asked()
        if self.asks_by_message:
            self.send(ENTER)
        else:
            self.command("lsp-workspace-command interline.approve")

    def reject(self):
        self.asked()
        if self.asks_by_message:
            self.send(DOWN + ENTER)
        else:
            self.command("lsp-workspace-command interline.reject")

    def cancel(self):
        self.command("lsp-workspace-command interline.cancel")

    def restart(self):
        self.command("lsp-restart")

    def below(self, anchor):
        """Insert mode in a new line below the line with this text."""
        self.send("gg/" + plain(anchor) + ENTER + "o")
        self.wait(r"(?m)^ INS ")

    def before_word(self, word):
        self.send("gg/" + plain(word) + ENTER + "i")
        self.wait(r"(?m)^ INS ")

    def above_all(self):
        self.send("ggO")
        self.wait(r"(?m)^ INS ")

    leave = normal

    def undo(self):
        self.send("u")

    def redo(self):
        self.send("U")

    def save(self):
        self.command("w")
