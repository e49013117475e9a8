"""What the scripted model does. It knows nothing of the crate: every call is computed from the
request and from what the tools answered."""

import difflib
import re

from .crates import first_error

CHECK = ("exec", {"command": "cargo check --offline", "timeout_ms": 600000})
KINDS = "fn|struct|enum|trait|type|const|static"
TOP = re.compile(r"(?:pub|use|mod|fn|struct|enum|trait|impl|const|static|type)\b")


class Seen:
    """A file's lines as `read` showed them, by number."""

    def __init__(self):
        self.lines = {}
        self.unsaved = False

    def take(self, result):
        text, is_error = result
        if is_error:
            raise ValueError("a read failed: " + text)
        self.unsaved = "has unsaved changes" in text
        for line in text.split("\n"):
            found = re.match(r"\s*(\d+)\t(.*)$", line)
            if found:
                self.lines[int(found[1])] = found[2]
        return self

    def edit(self, path, number, new, more=0):
        """The call that replaces line `number`, with as many lines after it as make it unique."""
        while True:
            taken = [self.lines[at] for at in range(number, number + 1 + more)
                     if at in self.lines]
            old = "\n".join(taken)
            whole = "\n".join(self.lines[at] for at in sorted(self.lines))
            if whole.count(old) == 1 or len(taken) <= more:
                break
            more += 1
        text = "\n".join([new, *taken[1:]])
        return "edit", {"path": path, "old_string": old, "new_string": text}


def read(path, around=None):
    if around is None:
        return "read", {"path": path}
    return "read", {"path": path, "offset": max(1, around - 12), "limit": 30}


def context(body, words):
    """Blocks of the editor's context in the last message."""
    content = body["messages"][-1]["content"]
    texts = [block["text"] for block in content if block["type"] == "text"]
    return [found for text in texts for found in re.findall(words, text)]


def solve(body):
    """The turn: look, check, find, repair, mention, check again."""
    opened = context(body, r"([^\s`]+?)`? \(unsaved\)")
    if not opened:
        raise ValueError("the prompt names no unsaved document")
    opened = opened[0]
    results = yield "I look at the document that you are typing in.", [read(opened)]
    if not Seen().take(results[0]).unsaved:
        raise ValueError("the document's text is not marked as unsaved")
    results = yield "I look what the compiler says.", [CHECK]
    others = None
    for _ in range(4):
        output, failed = results[0]
        error = first_error(output)
        if not error:
            return "It compiles." if not failed else f"I do not understand the check: {output}"
        others = yield from repair(opened, error, others)
        results = yield "I check the repair.", [CHECK]
    return "It still does not compile; I stop here."


def repair(opened, error, others):
    """Edits the broken place; the first time also two more files. Returns these."""
    message, path, number, column, _ = error
    named = [name.split("::")[-1] for name in re.findall(r"`([^`]+)`", message)]
    # What is misspelt begins well, most often.
    search = rf"\b(?:{KINDS})\s+{re.escape(named[0][:3])}\w*"
    calls = [read(path, number), ("grep", {"pattern": search, "path": "src"})]
    results = yield f"{path}:{number}:{column} is wrong; what could it be?", calls
    broken = Seen().take(results[0])
    line = broken.lines[number]
    wrong = next((name for name in named if re.search(rf"\b{re.escape(name)}\b", line)), named[0])
    right, where, defined = nearest(wrong, results[1][0])
    seen = {path: broken}
    if others is None:
        others = yield from companions(opened, path, where)
        wanted = [each for each in {opened: 0, **dict.fromkeys(others)} if each != path]
        calls = [read(each, defined if each == where else None) for each in wanted]
        results = yield f"It must be `{right}` ({where}:{defined}).", calls
        for each, result in zip(wanted, results):
            seen[each] = Seen().take(result)
    fixed = re.sub(rf"\b{re.escape(wrong)}\b", right, line)
    plans = {path: (number, lambda _: fixed)}
    comment = f"// `{right}` is used in {path}:{number}."
    for each in seen:
        if each != path:
            at = defined if each == where else top(seen[each])
            plans[each] = (at, lambda old: f"{old[:len(old) - len(old.lstrip())]}{comment}\n{old}")
    yield from edits(seen, plans)
    return others


def nearest(wrong, matches):
    """Of the definitions that grep found the one named most alike: name, file, line."""
    found = {}
    for line in matches.split("\n"):
        place = re.match(rf"(.+?):(\d+):(.*?\b(?:{KINDS})\s+(\w+).*)", line)
        if place and not place[3].lstrip().startswith("//"):
            found.setdefault(place[4], (place[1], int(place[2])))
    near = difflib.get_close_matches(wrong, found, n=1, cutoff=0.6)
    if not near:
        raise ValueError(f"nothing is named like {wrong}")
    return (near[0], *found[near[0]])


def companions(opened, path, where):
    """Files to mention the name in: with the broken one they are three, the open one first."""
    files = [each for each in dict.fromkeys([opened, where]) if each != path]
    if len(files) < 2:
        results = yield "I look for one more file.", [("glob", {"pattern": "src/**/*.rs"})]
        listed = re.findall(r"^src/\S+\.rs$", results[0][0], re.M)
        files += [each for each in listed if each != path and each not in files]
    return files[:2]


def top(seen):
    """The first item's line: a comment may stand before it."""
    return next((at for at in sorted(seen.lines) if TOP.match(seen.lines[at])), min(seen.lines))


def edits(seen, plans):
    """All in one message; what did not work is read again and tried with more lines around."""
    left, more = dict(plans), 0
    for _ in range(4):
        calls = []
        for path, (number, change) in left.items():
            calls.append(seen[path].edit(path, number, change(seen[path].lines[number]), more))
        results = yield f"I change {', '.join(left)}.", calls
        failed = [path for path, (_, is_error) in zip(list(left), results) if is_error]
        if not failed:
            return
        again = yield "I look again where it failed.", [read(path) for path in failed]
        for path, result in zip(failed, again):
            number, change = left[path]
            old = seen[path].lines[number]
            seen[path] = Seen().take(result)
            near = [at for at, line in seen[path].lines.items() if line == old]
            left[path] = (min(near, key=lambda at: abs(at - number)), change)
        left, more = {path: left[path] for path in failed}, more + 1
    raise ValueError(f"the edits of {', '.join(left)} do not succeed")
