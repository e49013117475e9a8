"""A program in its own terminal: keys go in as a keyboard sends them, the screen comes out
as text. Waits poll a condition and end with what the screen showed."""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import threading
import time

import pyte

# pyte 0.8.2 prints what it does not know: private sequences of newer terminals (keyboard
# protocols, curly underlines) and device control strings are taken out before it sees them.
UNKNOWN = re.compile(rb"\x1bP.*?\x1b\\|\x1b\[[<=>?]+[0-9;]*[umqc]|\x1b\[[0-9;]*:[0-9;:]*m|"
                     rb"\x1b\[[0-9;]*t|\x1b\[[?0-9;]*(?:\$p|n|c)|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)", re.S)
# An incomplete sequence of these.
PARTIAL = re.compile(rb"\x1b(?:[P\]](?:(?!\x1b\\)[^\x07])*|\[[<=>?0-9;:$]*)?$", re.S)
PATIENCE = 30

ENTER, ESCAPE, TAB, BACKSPACE = "\r", "\x1b", "\t", "\x7f"
DOWN, UP, RIGHT, LEFT = "\x1b[B", "\x1b[A", "\x1b[C", "\x1b[D"


def control(letter):
    return chr(ord(letter.upper()) & 31)


def alt(key):
    return ESCAPE + key


class Waited(AssertionError):
    """The awaited condition did not occur."""


class Terminal:
    def __init__(self, command, folder, environment, rows=40, columns=130):
        self.rows, self.columns = rows, columns
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.lock = threading.Lock()
        self.held = b""
        self.ended = threading.Event()
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

        def own_terminal():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(
            command, cwd=folder, env={**environment, "TERM": "xterm-256color"}, stdin=slave,
            stdout=slave, stderr=slave, preexec_fn=own_terminal, close_fds=True)
        os.close(slave)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        while True:
            try:
                data = os.read(self.master, 65536)
            except OSError:
                data = b""
            if not data:
                self.ended.set()
                return
            # A program that queries the terminal's type or cursor position waits for the answer.
            if b"\x1b[c" in data or b"\x1b[0c" in data:
                self.send("\x1b[?62c")
            if b"\x1b[>c" in data or b"\x1b[>0c" in data:
                self.send("\x1b[>0;0;0c")
            if b"\x1b[6n" in data:
                self.send(f"\x1b[{self.screen.cursor.y + 1};{self.screen.cursor.x + 1}R")
            with self.lock:
                data = self.held + data
                found = PARTIAL.search(data)
                cut = found.start() if found and len(data) - found.start() < 4096 else len(data)
                self.held = data[cut:]
                self.stream.feed(UNKNOWN.sub(b"", data[:cut]))

    def send(self, keys):
        """Keys at once."""
        data = keys.encode() if isinstance(keys, str) else keys
        while data:
            data = data[os.write(self.master, data):]

    def type(self, text, pace=12):
        """One key after the other, `pace` a second."""
        began = time.monotonic()
        for number, key in enumerate(text):
            self.send(ENTER if key == "\n" else key)
            left = began + (number + 1) / pace - time.monotonic()
            if left > 0:
                time.sleep(left)

    def lines(self):
        with self.lock:
            return [line.rstrip() for line in self.screen.display]

    def text(self):
        return "\n".join(self.lines()).rstrip()

    def cursor(self):
        return self.screen.cursor.y, self.screen.cursor.x

    def shows(self, *words):
        shown = self.text()
        return all(re.search(each, shown) for each in words)

    def wait(self, *words, patience=PATIENCE):
        """Until the screen shows all of these patterns."""
        self.until(lambda: self.shows(*words), "the screen shows " + " and ".join(words), patience)

    def until(self, holds, what, patience=PATIENCE):
        deadline = time.monotonic() + patience
        while True:
            value = holds()
            if value:
                return value
            if time.monotonic() > deadline:
                raise Waited(f"waited {patience} s in vain: {what}\n{self.text()}")
            time.sleep(0.03)

    def running(self):
        return self.process.poll() is None

    def kill(self):
        """As a crash does: nothing is saved, and no one is notified."""
        if self.running():
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def close(self):
        self.kill()
        self.ended.wait(5)
        try:
            os.close(self.master)
        except OSError:
            pass
