"""Kakoune's keys, with the commands of editors/kakoune/interline.kak."""

import re

from .editor import ENTER, ESCAPE, Editor, plain, rows_until, without_margin


class Kakoune(Editor):
    page = "kakoune"
    checks_versions = False
    oldest, newest = "nothing left to undo", "nothing left to redo"

    @staticmethod
    def programs(run, prefix, extra):
        return {"kak": [run, prefix, "kak"], "kak-lsp": [f"{extra}/bin/kak-lsp"]}

    def start(self):
        self.run("kak", self.file)

    def kill(self):
        # kak-lsp is a separate process and survives a crash of Kakoune.
        super().kill()
        self.home.end(self.home.processes("kak-lsp"))

    def lines(self):
        rows = rows_until(self.terminal.lines()[:-1], "~")
        # Boxes are on the right.
        rows = [re.sub(r" {3,}[╭│╰@].*", "", row[:70]).rstrip() for row in rows]
        # Its margin has marks of diagnostics and, in a chat, of lines with a lens.
        return without_margin([re.sub("^>", " ", row) for row in rows], " ")

    def command(self, words):
        self.send(f":{words}{ENTER}")

    def command_of_the_server(self, name):
        self.command(f"interline-{name}")

    def visit(self, path):
        self.command(f"edit {path}")

    def at_the_end(self):
        self.send("geo")
        self.wait(r" insert ")

    def ask(self, words):
        self.command("interline-ask")
        self.wait("Ask Interline:")
        self.send(words + ENTER)

    def asked(self):
        self.wait("Reason:")

    def approve(self):
        self.asked()
        self.command("interline-approve")

    def reject(self):
        self.asked()
        self.command("interline-reject")

    def act(self, title):
        self.command("lsp-code-actions")
        self.wait(title)
        # Completed, because the menu accepts only whole titles.
        self.send(title + "\t" + ENTER)

    def chat(self):
        # The menu accepts only complete titles, and this one ends in a character without a key.
        self.command("interline-chat")

    def cancel(self):
        self.command("interline-cancel")

    def restart(self):
        self.command("lsp-restart")

    def below(self, anchor):
        self.send("gg/" + plain(anchor) + ENTER + "o")
        self.wait(r" insert ")

    def before_word(self, word):
        self.send("gg/" + plain(word) + ENTER + "i")
        self.wait(r" insert ")

    def above_all(self):
        self.send("ggO")
        self.wait(r" insert ")

    def leave(self):
        self.send(ESCAPE)
        self.until(lambda: not self.shows(" insert "), "insert mode ends")

    def undo(self):
        self.send("u")

    def redo(self):
        self.send("U")

    def save(self):
        self.command("w")
