"""Neovim's keys, without the plugin. It runs under a foreign ld.so and starts itself for its
screen, which does not work there; so the screen is attached to it by hand."""

import re
import subprocess

from .editor import ENTER, ESCAPE, Editor, plain, rows_until


class Neovim(Editor):
    page = "nvim/bare"
    asks_others = renames = starts_to_ask = True
    asks_by_message = True
    oldest, newest = "Already at oldest change", "Already at newest change"

    @staticmethod
    def programs(run, prefix, _extra):
        return {"nvim": [run, prefix, "nvim"]}

    @staticmethod
    def with_toy_server(home, command):
        words = ", ".join(f"'{word}'" for word in command)
        (home.home / ".config/nvim/plugin/toy.lua").write_text(f"""
vim.filetype.add({{ extension = {{ toy = 'toy' }} }})
vim.api.nvim_create_autocmd('FileType', {{ pattern = 'toy', callback = function(event)
  vim.lsp.start({{ name = 'toy', cmd = {{ {words} }}, root_dir = vim.fn.getcwd() }}, {{ bufnr = event.buf }})
end }})
""")

    def start(self):
        home = self.home
        socket = home.folder / f"nvim-{self.before}"
        self.editor = subprocess.Popen(
            ["nvim", "--headless", "--listen", str(socket), self.file], cwd=home.project,
            executable=str(home.bin / "nvim"), env=home.environment(), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.run("sh", "-c", "until [ -S $0 ]; do sleep 0.02; done; "
                 "exec nvim --server $0 --remote-ui", str(socket))

    def kill(self):
        self.editor.kill()
        self.editor.wait()
        super().kill()

    def close(self):
        self.kill()
        super().close()

    def lines(self):
        return rows_until(self.terminal.lines()[:-2], "~")

    def settle(self):
        if self.shows("Press ENTER"):
            self.send(ENTER)
            self.until(lambda: not self.shows("Press ENTER"), "the messages are dismissed")

    def command(self, words):
        self.settle()
        self.send(f":{words}{ENTER}")

    def command_of_the_server(self, name):
        self.command(f"Interline {name}")

    def visit(self, path):
        self.command(f"edit {path}")

    def at_the_end(self):
        self.send("Go")
        self.wait("-- INSERT --")

    def ask(self, words):
        self.command(f"Interline ask {words}")

    def put_away(self):
        self.send("q")
        self.until(lambda: not self.shows("1: Allow"), "the question is closed")
        self.settle()

    def reads_what_was_cut_off(self):
        super().reads_what_was_cut_off()
        self.wait("1: Reopen")
        self.send("q")
        self.until(lambda: self.shows("Press ENTER") or not self.shows("1: Reopen"),
                   "the question is closed")
        self.settle()

    def asked(self):
        self.wait("1: Allow")

    def approve(self):
        self.asked()
        self.send("1" + ENTER)

    def reject(self):
        self.asked()
        self.send("2" + ENTER)

    def act(self, title):
        self.command("lua vim.lsp.buf.code_action()")
        self.wait(r"\d: .*" + title)
        number = re.search(r"(\d): .*" + title, self.terminal.text())[1]
        self.send(number + ENTER)

    def cancel(self):
        self.command("Interline cancel")

    def restart(self):
        self.command("Interline start")

    def below(self, anchor):
        self.send("gg/" + plain(anchor) + ENTER + "o")
        self.wait("-- INSERT --")

    def before_word(self, word):
        self.send("gg/" + plain(word) + ENTER + "i")
        self.wait("-- INSERT --")

    def above_all(self):
        self.send("ggO")
        self.wait("-- INSERT --")

    def leave(self):
        self.send(ESCAPE)
        self.until(lambda: not self.shows("-- INSERT --"), "insert mode ends")

    def undo(self):
        self.send("u")

    def redo(self):
        self.send("\x12")

    def save(self):
        self.command("w")
