"""Where the operands of an operator begin and end, found in the tokens of Rust's source. This is
no parser: what it gets wrong does not compile, or is seen by a run without a mutation."""

import re
from bisect import bisect_left

TOKEN = re.compile(
    r"""
    (?P<space>\s+|//[^\n]*)
  | (?P<comment>/\*)
  | (?P<raw>\b(?:b|c)?r(?P<hashes>\#*)"(?:.|\n)*?"(?P=hashes))
  | (?P<string>\b[bc]?"(?:\\(?:.|\n)|[^"\\])*"|"(?:\\(?:.|\n)|[^"\\])*")
  | (?P<char>b?'(?:\\(?:u\{[^}]*\}|x[0-9a-fA-F]{2}|.)|[^'\\\n])')
  | (?P<lifetime>'\w+)
  | (?P<number>\d(?:[\w]|\.(?=\d))*)
  | (?P<word>(?:r\#)?[A-Za-z_]\w*)
  | (?P<mark><<=|>>=|\.\.=|\.\.\.|::|->|=>|==|!=|<=|>=|&&|\|\||\+=|-=|\*=|/=|%=|\^=|&=|\|=|<<|>>|\.\.|.)
    """,
    re.VERBOSE,
)
OPENERS = {"(": ")", "[": "]", "{": "}"}
CLOSERS = {")", "]", "}"}
# After these an operand begins; `self`, `true` and their like are operands.
WORDS = {
    "as", "async", "break", "const", "continue", "dyn", "else", "enum", "fn", "for", "if", "impl",
    "in", "let", "loop", "match", "mod", "move", "mut", "pub", "ref", "return", "static", "struct",
    "trait", "type", "unsafe", "use", "where", "while",
}
LEVELS = [
    ("=", "+=", "-=", "*=", "/=", "%=", "^=", "&=", "|=", "<<=", ">>="),
    ("..", "..="),
    ("||",),
    ("&&",),
    ("==", "!=", "<", ">", "<=", ">="),
    ("|",),
    ("^",),
    ("&",),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
]
LEVEL = {mark: level for level, marks in enumerate(LEVELS) for mark in marks}
ENDS = {",", ";", "=>", "->"}


class Unclear(Exception):
    """The expression cannot be distinguished."""


class Source:
    """A file's tokens: (kind, text, start, end), and the partner of each bracket."""

    def __init__(self, text):
        self.tokens = []
        at = 0
        while at < len(text):
            found = TOKEN.match(text, at)
            kind, end = found.lastgroup, found.end()
            if kind == "hashes":
                kind = "raw"
            if kind == "comment":
                end = comment_end(text, at)
            elif kind != "space":
                self.tokens.append((kind, text[at:end], at, end))
            at = end
        self.starts = [start for _, _, start, _ in self.tokens]
        self.pairs = {}
        self.turbofish()
        self.brackets()
        self.closures = set()
        self.parameters()

    def parameters(self):
        """The bars around a closure's parameters: the first is where an operand would begin."""
        for index in range(len(self.tokens)):
            begins = self.text(index) == "|" and not self.ends_operand(index - 1)
            if index in self.closures or not begins:
                continue
            end = index + 1
            while end < len(self.tokens) and self.text(end) != "|":
                end = max(end, self.pairs.get(end, end)) + 1
            self.closures |= {index, end}

    def turbofish(self):
        """`::<…>` holds types: its marks are no operators."""
        index = 0
        while index + 1 < len(self.tokens):
            if self.text(index) == "::" and self.text(index + 1) == "<":
                depth, end = 0, index + 1
                while end < len(self.tokens):
                    mark = self.text(end)
                    depth += {"<": 1, ">": -1, ">>": -2}.get(mark, 0)
                    if depth <= 0:
                        break
                    end += 1
                self.pair(index, min(end, len(self.tokens) - 1))
                index = end
            index += 1

    def brackets(self):
        stack = []
        for index in range(len(self.tokens)):
            if self.kind(index) != "mark":
                continue
            mark = self.text(index)
            if mark in OPENERS:
                stack.append(index)
            elif mark in CLOSERS and stack:
                self.pair(stack.pop(), index)

    def pair(self, one, other):
        self.pairs[one] = other
        self.pairs[other] = one

    def text(self, index):
        return self.tokens[index][1]

    def kind(self, index):
        return self.tokens[index][0]

    def ends_operand(self, index):
        """Whether an operand can end with this token, so that what follows is an infix."""
        if index < 0:
            return False
        kind, text = self.tokens[index][:2]
        if kind == "word":
            return text not in WORDS
        return kind != "mark" or text in CLOSERS or text == "?" or self.is_turbofish_end(index)

    def is_turbofish_end(self, index):
        return index in self.pairs and self.text(self.pairs[index]) == "::"

    def at(self, offset):
        """The token that begins there."""
        index = bisect_left(self.starts, offset)
        if index == len(self.starts) or self.starts[index] != offset:
            raise Unclear
        return index

    def infix(self, offset):
        """The bounds of `left OP right`."""
        operator = self.at(offset)
        level = LEVEL.get(self.text(operator))
        if level is None or not self.ends_operand(operator - 1):
            raise Unclear
        return self.left(operator, level), self.right(operator, level)

    def prefix(self, offset):
        """The bounds of `OP operand`."""
        operator = self.at(offset)
        if self.ends_operand(operator - 1) and self.text(operator - 1) != "}":
            raise Unclear
        return offset, self.right(operator, len(LEVELS))

    def left(self, operator, level):
        """Where the operand before the operator begins."""
        first = operator
        index = operator - 1
        while index >= 0:
            kind, text = self.tokens[index][:2]
            if kind == "word" and text in WORDS and text != "as":
                break
            if self.ends_operand(index) and self.starts_here(first, operator):
                break
            if text in CLOSERS or self.is_turbofish_end(index):
                if index not in self.pairs:
                    raise Unclear
                first = index = self.pairs[index]
                index -= 1
                continue
            if kind == "mark" and text in OPENERS or text in ENDS:
                break
            infix = kind == "mark" and text in LEVEL and self.ends_operand(index - 1)
            if text in LEVELS[0]:
                break
            if infix and LEVEL[text] < level:
                break
            if index in self.closures or text == "||" and not infix:
                break
            if text == ":" or text == "#":
                break
            first = index
            index -= 1
        if first == operator:
            raise Unclear
        return self.tokens[first][2]

    def starts_here(self, first, operator):
        """Whether the token cannot follow an operand, so that it begins one."""
        if first == operator:
            return False
        kind, text = self.tokens[first][:2]
        if kind == "word":
            return text != "as" and (first == 0 or self.text(first - 1) not in (".", "::", "as"))
        if text in ("(", "[", "{", ".", "::", "?"):
            return False
        return kind != "mark"

    def right(self, operator, level):
        """Where the operand after the operator ends."""
        index = operator + 1
        last = None
        while index < len(self.tokens):
            kind, text = self.tokens[index][:2]
            if kind == "word" and text in WORDS and text not in ("as", "mut"):
                if last is None or not self.ends_operand(last):
                    raise Unclear
                break
            if kind == "mark":
                if text in CLOSERS or text in ENDS:
                    break
                infix = text in LEVEL and last is not None and self.ends_operand(last)
                if infix and (LEVEL[text] <= level or level == len(LEVELS)):
                    break
                if text in ("|", "||") and not infix:
                    raise Unclear
                if text == "{":
                    if last is None or not self.ends_operand(last):
                        raise Unclear
                    break
                if index in self.pairs and self.pairs[index] > index:
                    last = self.pairs[index]
                    index = last + 1
                    continue
            if kind == "word" and text == "as" and level == len(LEVELS):
                break
            last = index
            index += 1
        if last is None or not self.ends_operand(last):
            raise Unclear
        return self.tokens[last][3]


def comment_end(text, at):
    """The end of a block comment; they nest."""
    depth = 0
    for mark in re.compile(r"/\*|\*/").finditer(text, at):
        depth += 1 if mark.group() == "/*" else -1
        if depth == 0:
            return mark.end()
    return len(text)
