// The change log and the mapping of edits, against a model that works on offsets.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ChangeLog, map, rebase, type Edit, type Position, type Range } from "../../src/changes.ts";

const seed = Number(process.env["SEED"] ?? 20);

/** Small numbers at random, the same for the same seed. */
function random(start: number): (below: number) => number {
  let state = start >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

function position(text: string, offset: number): Position {
  const lines = text.slice(0, offset).split(/\r\n|\n/);
  return { line: lines.length - 1, character: lines.at(-1)!.length };
}

function offset(text: string, { line, character }: Position): number {
  let at = 0;
  for (let row = 0; row < line; row++) at = text.indexOf("\n", at) + 1;
  return at + character;
}

function range(text: string, from: number, to: number): Range {
  return { start: position(text, from), end: position(text, to) };
}

function isWord(character: string | undefined): boolean {
  return /^[\p{Alphabetic}\p{N}_]/u.test(character ?? "");
}

function replaced(text: string, from: number, to: number, by: string): string {
  return text.slice(0, from) + by + text.slice(to);
}

const INSERTS = ["", "x", "yy\n", "\n", "abc\ndef", "q\n\n", "𝒳é"];

test("a range is mapped as its offsets are, or is a conflict exactly where both touch", () => {
  const next = random(seed);
  let kept = 0, conflicts = 0;
  for (let round = 0; round < 5000; round++) {
    const text = "ab\ncde\n\nfghij\nk".slice(0, 5 + next(12));
    const start = next(text.length + 1), end = Math.min(text.length, start + next(6));
    const from = next(text.length + 1), to = Math.min(text.length, from + next(5));
    const by = INSERTS[next(INSERTS.length)]!;
    const log = new ChangeLog();
    log.opened("u", 1, () => "h");
    log.changed("u", 2, [{ range: range(text, from, to), text: by }], () => "h");
    const [change] = log.since("u", 1, "h")!;
    const after = replaced(text, from, to, by);
    const got = map(range(text, start, end), change!);
    const grown = by.length - (to - from);
    const ahead = from === to ? from <= start : to <= start;
    if (ahead || from >= end) {
      kept += 1;
      const wanted = ahead ? [start + grown, end + grown] : [start, end];
      assert.deepEqual(got && [offset(after, got.start), offset(after, got.end)], wanted);
      assert.equal(after.slice(wanted[0], wanted[1]), text.slice(start, end));
    } else {
      conflicts += 1;
      assert.equal(got, undefined);
    }
  }
  assert.ok(kept > 1000 && conflicts > 300, `${kept} mapped, ${conflicts} conflicts`);
});

/** Disjoint ranges of a text as edits, ascending. */
function plan(text: string, next: (below: number) => number): { from: number; to: number; edit: Edit }[] {
  const planned = [];
  let at = 0;
  for (let each = 0; each < 3; each++) {
    const from = at + next(8), to = from + next(3);
    if (to > text.length) break;
    planned.push({ from, to, edit: { range: range(text, from, to), newText: `<${each}>` } });
    at = to + 1;
  }
  return planned;
}

test("edits that are mapped through a history of typing give what the typing gives around them", () => {
  const next = random(seed + 1);
  let mapped = 0;
  for (let round = 0; round < 3000; round++) {
    let text = "alpha beta\ngamma\r\ndelta epsilon\nzeta\n".slice(next(4));
    const planned = plan(text, next);
    // The model: the edits' places as offsets, moved by each keystroke; -1 once they were touched.
    const places = planned.map(({ from, to }) => ({ from, to, old: text.slice(from, to) }));
    const log = new ChangeLog();
    log.opened("u", 1, () => "h");
    let touched = false;
    for (let version = 2; version < 2 + next(8); version++) {
      const lines = text.replace(/\r\n/g, "\n\n");
      const from = next(lines.length + 1), to = Math.min(text.length, from + next(2));
      if (/\r\n/.test(text.slice(from - 1, from + 1)) || /\r\n/.test(text.slice(to - 1, to + 1))) continue;
      const by = INSERTS[next(INSERTS.length)]!;
      log.changed("u", version, [{ range: range(text, from, to), text: by }], () => "h");
      for (const place of places) {
        const ahead = from === to ? from <= place.from : to <= place.from;
        // A removal counts as one of a word's characters unless it ends with a line.
        const front = isWord([...by].at(-1)) || (from < to && position(text, to).character > 0);
        const back = isWord([...by][0]) || from < to;
        const first = to === place.from && isWord(place.old[0]) && front;
        const last = from === place.to && isWord(place.old.at(-1)) && back;
        if (first || last) touched = true;
        const grown = by.length - (to - from);
        if (ahead) Object.assign(place, { from: place.from + grown, to: place.to + grown });
        else if (from < place.to) touched = true;
      }
      text = replaced(text, from, to, by);
    }
    const old = ({ start, end }: Range): string => text.slice(offset(text, start), offset(text, end));
    const edits = rebase(planned.map(({ edit }) => edit), log.since("u", 1, "h")!, old);
    assert.equal(edits === undefined, touched);
    if (!edits) continue;
    mapped += 1;
    let got = text, wanted = text;
    for (let at = places.length - 1; at >= 0; at--) {
      const { range: there, newText } = edits[at]!;
      got = replaced(got, offset(text, there.start), offset(text, there.end), newText);
      wanted = replaced(wanted, places[at]!.from, places[at]!.to, newText);
    }
    assert.equal(got, wanted);
  }
  assert.ok(mapped > 500, `${mapped} mapped`);
});

/** Whether an edit of `text` that replaces from..to conflicts with a change of from..to. */
function conflicts(text: string, edit: [number, number, string], change: [number, number, string]): boolean {
  const log = new ChangeLog();
  log.opened("u", 1, () => "h");
  log.changed("u", 2, [{ range: range(text, change[0], change[1]), text: change[2] }], () => "h");
  const after = replaced(text, ...change);
  const old = ({ start, end }: Range): string => after.slice(offset(after, start), offset(after, end));
  return !rebase([{ range: range(text, edit[0], edit[1]), newText: edit[2] }], log.since("u", 1, "h")!, old);
}

test("typing that continues the edited word is a conflict, other typing beside the edit is not", () => {
  const line = "qty = 5;";
  assert.ok(conflicts(line, [6, 7, "6"], [6, 6, "5"]), "65 from 5 and 6");
  assert.ok(conflicts(line, [6, 7, "6"], [7, 7, "5"]));
  assert.ok(!conflicts(line, [6, 7, "6"], [6, 6, "-"]));
  assert.ok(!conflicts(line, [6, 7, "6"], [7, 7, ".5"]));
  assert.ok(conflicts(line, [6, 7, ""], [7, 7, "x"]), "the old text is a word");
  assert.ok(conflicts(line, [5, 6, "é"], [6, 6, "ß"]), "the new text is a word");
  assert.ok(conflicts("val5", [3, 4, "6"], [0, 3, ""]));
  assert.ok(!conflicts("a\n5\n", [2, 3, "6"], [0, 2, ""]), "a line before it");
  assert.ok(conflicts("parse()", [5, 5, "_line"], [5, 5, "x"]));
  assert.ok(!conflicts("parse()", [5, 5, "_line"], [5, 5, "x "]));
  assert.ok(!conflicts("foo\nbar", [3, 3, "\nnew"], [3, 3, "x"]));
});

test("an insertion that the user made too is a conflict, wherever its text begins", () => {
  const text = "a\n c\n";
  assert.ok(conflicts(text, [2, 2, " b\n"], [2, 2, " b\n"]));
  assert.ok(conflicts(text, [3, 3, "b\n "], [2, 2, " b\n"]));
  assert.ok(conflicts(text, [2, 2, " b\n"], [3, 3, "b\n "]));
  assert.ok(!conflicts(text, [5, 5, " b\n"], [2, 2, " b\n"]));
  assert.ok(!conflicts(text, [2, 2, " b\n"], [2, 2, " d\n"]));
  assert.ok(!conflicts(text, [2, 2, "\n"], [2, 2, "\n"]));
  assert.ok(conflicts(text, [2, 2, "line\n"], [2, 2, "line\nnext\n"]));
  assert.ok(conflicts(text, [2, 5, "line\nnext\n"], [2, 2, "line\n"]), "beside a replacement");
  assert.ok(conflicts(text, [2, 5, "line\nnext\n"], [5, 5, "next\n"]));
  assert.ok(!conflicts(text, [2, 5, "line\nnext\n"], [5, 5, "mine\n"]));
  assert.ok(conflicts(text, [2, 2, "line\nnext\n"], [2, 2, "next\n"]));
  assert.ok(!conflicts(text, [2, 2, "line\nnext\n"], [2, 2, "- "]));
});

test("what is typed exactly at an insertion stands before it, at a replacement's end behind it", () => {
  const log = new ChangeLog();
  log.opened("u", 1, () => "h");
  const at = (character: number): Range => ({ start: { line: 0, character }, end: { line: 0, character } });
  log.changed("u", 2, [{ range: at(5), text: "(key)" }], () => "h");
  const edits = [
    { range: { start: { line: 0, character: 0 }, end: { line: 0, character: 5 } }, newText: "a" },
    { range: at(5), newText: "b" },
  ];
  const [first, second] = rebase(edits, log.since("u", 1, "h")!, () => "")!;
  assert.equal(first!.range.end.character, 5);
  assert.equal(second!.range.start.character, 10);
});

test("the changes of a version come together, and only those after it", () => {
  const log = new ChangeLog();
  log.opened("u", 4, () => "h");
  const top: Range = { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } };
  log.changed("u", 5, [{ range: top, text: "b" }, { range: top, text: "a" }], () => "h");
  log.changed("u", 6, [{ range: top, text: "c" }], () => "h");
  assert.equal(log.since("u", 4, "h")!.length, 3);
  assert.equal(log.since("u", 5, "h")!.length, 1);
  assert.deepEqual(log.since("u", 6, "h"), []);
  assert.equal(log.since("u", 7, "h"), undefined, "a version that is still to come");
  assert.equal(log.since("u", 3, "h"), undefined, "a version before the document was opened");
  assert.equal(log.since("other", 4, "h"), undefined);
});

test("a long history forgets its oldest versions, and says so", () => {
  const log = new ChangeLog();
  log.opened("u", 1, () => "h");
  const top: Range = { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } };
  for (let version = 2; version < 3000; version++) log.changed("u", version, [{ range: top, text: "x" }], () => "h");
  assert.equal(log.since("u", 1, "h"), undefined);
  assert.equal(log.since("u", 2990, "h")!.length, 9);
});

test("a version that was used before the document was closed counts only with its hash", () => {
  const log = new ChangeLog();
  const top: Range = { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } };
  log.opened("u", 1, () => "first");
  log.changed("u", 2, [{ range: top, text: "x" }], () => "second");
  log.closing("u");
  assert.equal(log.since("u", 2, "second"), undefined);
  log.opened("u", 1, () => "again");
  log.changed("u", 2, [{ range: top, text: "y" }], () => "other");
  log.changed("u", 3, [{ range: top, text: "z" }], () => "third");
  assert.equal(log.since("u", 1, "first"), undefined);
  assert.equal(log.since("u", 2, "second"), undefined);
  assert.equal(log.since("u", 2, "other")!.length, 1);
  assert.equal(log.since("u", 3, "whatever")!.length, 0);
});
