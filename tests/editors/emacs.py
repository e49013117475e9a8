"""Emacs's keys, with the map of editors/emacs/interline.el. Questions would block it, so commands
answer them."""

import pathlib

from .editor import ENTER, Editor, plain, rows_until, without_margin
from .terminal import alt, control

# A foreign ld.so cannot load what would be compiled while it runs.
EARLY = """(setq native-comp-jit-compilation nil
      native-comp-deferred-compilation nil
      native-comp-enable-subr-trampolines nil)
"""


class Emacs(Editor):
    page = "emacs"
    asks_others = starts_to_ask = keeps_prompts = True
    unattached = "notes.xyz"  # in Fundamental mode
    oldest, newest = "No further undo information", "No undo to undo|No further redo|No undone"

    @staticmethod
    def programs(run, prefix, _extra):
        return {"emacs": [run, prefix, "emacs-nox"]}

    @staticmethod
    def with_toy_server(home, command):
        words = " ".join(f'"{word}"' for word in command)
        Emacs.early(home, f"""{EARLY}
(setq interline-modes '(text-mode sh-mode))
(define-derived-mode toy-mode prog-mode "Toy")
(add-to-list 'auto-mode-alist '("\\\\.toy\\\\'" . toy-mode))
(with-eval-after-load 'eglot (add-to-list 'eglot-server-programs '(toy-mode {words})))
(add-hook 'toy-mode-hook (lambda () (eglot-ensure)))
""")

    @staticmethod
    def early(home, text):
        path = pathlib.Path(home.home, ".emacs.d/early-init.el")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)

    def start(self):
        if not pathlib.Path(self.home.home, ".emacs.d/early-init.el").exists():
            self.early(self.home, EARLY)
        self.run("emacs", self.file)

    def attached(self):
        super().attached()
        if self.file != self.unattached:
            self.wait(r"\[eglot:project")

    def lines(self):
        rows = rows_until(self.terminal.lines()[1:], r"-UU")
        return without_margin(rows, "  ")  # Flymake's

    def command_of_the_server(self, name):
        self.send(alt("x") + f"interline-{name}" + ENTER)

    def chat(self):
        # The code action would quote the word at point.
        self.command_of_the_server("chat")

    def shows_the_transcript(self):
        super().shows_the_transcript()
        # It may be in another window than point.
        bars = [row for row, line in enumerate(self.terminal.lines()) if line.startswith("-UU")]
        if len(bars) > 1 and self.terminal.cursor()[0] < bars[0]:
            self.send(control("x") + "o")
        self.send(control("x") + "1")

    def visit(self, path):
        self.send(control("x") + control("f") + control("a") + control("k") + path + ENTER)

    def at_the_end(self):
        self.send(alt(">"))

    def ask(self, words):
        self.send(control("c") + "ii")
        self.wait("Ask Interline:")
        self.send(words + ENTER)

    def asked(self):
        self.wait(r"C-c i y \(approve\) or C-c i n \(reject\): ")

    def loses_server_while_asking(self, words):
        """The server ends while the prompt is written, and is not started again by itself."""
        self.send(alt(":") + "(setq eglot-autoreconnect nil)" + ENTER)
        self.send(control("c") + "ii")
        self.wait("Ask Interline:")
        self.send(words)
        self.home.end(self.home.servers())
        self.until(lambda: not self.home.servers(), "the server has ended")
        self.send(ENTER)
        self.wait(r"Interline is not running|Interline: .*(died|shutdown|exited)")

    def offered_again(self, words):
        self.send(control("c") + "ii")
        self.wait(f"Ask Interline: {words}")
        self.send(ENTER)

    def reads_all(self, first, last):
        self.wait(r"\(more in \*Interline\*\)")
        shown = self.terminal.text()
        assert first in shown and last in shown, shown
        self.send(control("x") + "1")

    def approve(self):
        self.asked()
        self.send(control("c") + "iy")

    def reject(self):
        self.asked()
        self.send(control("c") + "in")

    def act(self, title):
        self.send(alt("x") + "eglot-code-actions" + ENTER)
        self.wait("LSP actions|Execute code action|Pick an action|Interline: explain")
        self.send(title + "\t" + ENTER)

    def cancel(self):
        self.send(control("c") + "ic")

    def restart(self):
        # eglot starts a server again by itself, if that had lived for three seconds.
        self.until(lambda: self.opened() or not self.shows(r"\[eglot:project"),
                   "Emacs notices that the server has ended")
        if not self.opened():
            self.send(alt("x") + "eglot" + ENTER)

    def below(self, anchor):
        self.send(alt("<") + control("s") + plain(anchor) + ENTER)
        self.send(control("e") + ENTER)

    def before_word(self, word):
        self.send(alt("<") + control("s") + plain(word) + ENTER + alt("b"))

    def above_all(self):
        self.send(alt("<") + control("o"))

    def leave(self):
        pass

    def undo(self):
        self.send(control("_"))

    def redo(self):
        self.send(alt(control("_")))

    def save(self):
        self.send(control("x") + control("s"))
