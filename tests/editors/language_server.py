"""The agent asks the editor's own language servers: the toy server stands in for them."""

import sys

from .home import TOP
from .model import Step, call

TOY = [sys.executable, str(TOP / "tests/editors/toy_server.py")]
# Columns after the first character differ between the encodings of the servers.
LIB = "𝒳 def total\ndef tax\n"
USE = "𝒳 use total\nuse tax\n"


def open_both(story, script):
    """Interline's own file and one of the toy language, in one editor."""
    story.begin(script, trusted=True)
    story.kind.with_toy_server(story.home, TOY)
    story.home.write("lib.toy", LIB)
    story.home.write("use.toy", USE)
    editor = story.open()
    editor.visit("use.toy")
    editor.has("𝒳 use total", "use tax")
    languages = lambda: story.home.received("interline/languages/didChange")
    story.until(lambda: languages() and languages()[-1]["languages"] == ["toy"],
                "the server knows the language")
    return editor


def lookup(what, symbol, line):
    return call("lookup", what=what, path="use.toy", line=line, symbol=symbol)


def the_agent_asks_the_editors_language_server(story):
    def script(_asked):
        yield Step("I look.", [lookup("definition", "total", 1), lookup("references", "tax", 2),
                               lookup("hover", "tax", 2), lookup("definition", "nothing", 1)])
        return "I found it."

    editor = open_both(story, script)
    editor.ask("where is it")
    editor.told("I found it.")
    definition, references, hover, missing = story.model.results
    assert "lib.toy:1:𝒳 def total" in definition.text, definition
    assert all(each in references.text for each in ("lib.toy:2:def tax", "use.toy:2:use tax"))
    assert "**def** tax" in hover.text, hover
    assert missing.failed, missing
    editor.settle()
    editor.has("𝒳 use total", "use tax")


def a_rename_of_the_language_server_is_the_agents_edit(story):
    def script(_asked):
        yield Step("I rename it.", [call("rename_symbol", path="use.toy", line=1, symbol="total",
                                         new_name="whole")])
        return "I am done."

    editor = open_both(story, script)
    editor.ask("rename total")
    editor.told("I am done.")
    done = story.model.results[0].text
    assert all(each in done for each in ("lib.toy", "use.toy", "use whole", "def whole")), done
    editor.settle()
    editor.has("𝒳 use whole", "use tax")
    editor.visit("lib.toy")
    editor.has("𝒳 def whole", "def tax")
    assert (story.home.read("lib.toy"), story.home.read("use.toy")) == (LIB, USE)
