// Hunks as lines: counts, the text before, and how they follow typing.
import assert from "node:assert/strict";
import { test } from "node:test";
import { counts, follow, lines, present, removedLines, touching } from "../../src/hunks.ts";
import type { Hunk } from "../../src/protocol.ts";

type Place = [number, number];
function hunk([line, character]: Place, [endLine, endCharacter]: Place, before: string, after: string): Hunk {
  const range = { start: { line, character }, end: { line: endLine, character: endCharacter } };
  return { hunkId: "1.0", uri: "file:///a", itemId: "i", turnId: "t", author: "session", state: "applied", range, before, after };
}

const text = ["one", "TWO!", "three", ""];
const line = (at: number): string => text[at]!;
const word = hunk([1, 0], [1, 3], "two", "TWO");
const added = hunk([1, 0], [2, 0], "", "TWO!\n");
const removed = hunk([2, 0], [2, 0], "gone\nand\n", "");

test("lines are counted whole, also where a part of a line changed", () => {
  assert.deepEqual(counts(word), { added: 1, removed: 1 });
  assert.deepEqual(counts(hunk([1, 3], [1, 4], "", "!")), { added: 1, removed: 1 });
  assert.deepEqual(counts(added), { added: 1, removed: 0 });
  assert.deepEqual(counts(removed), { added: 0, removed: 2 });
  assert.deepEqual(counts(hunk([0, 2], [1, 1], "x", "e\nT")), { added: 2, removed: 1 });
});

test("the lines from before have what is still there around a change", () => {
  assert.deepEqual(removedLines(word, line), ["two!"]);
  assert.deepEqual(removedLines(added, line), []);
  assert.deepEqual(removedLines(removed, line), ["gone", "and"]);
  assert.deepEqual(removedLines(hunk([0, 2], [1, 1], "x\r\ny", "e\nT"), line), ["onx", "yWO!"]);
});

test("a change that ends where a line begins does not have that line", () => {
  assert.deepEqual([lines(added), lines(removed), lines(word)], [[1, 1], [2, 2], [1, 1]]);
  assert.deepEqual(touching([added, removed], 1, 1), [added]);
  assert.deepEqual(touching([added, removed], 0, 2), [added, removed]);
});

test("changes move with what is typed above them, and stay with what is typed into them", () => {
  const typed = (at: number, character: number, text: string) =>
    ({ range: { start: { line: at, character }, end: { line: at, character } }, text });
  const [moved] = follow([word], [typed(0, 0, "a\nb\n"), typed(3, 0, "x")]);
  assert.deepEqual(moved!.range, { start: { line: 3, character: 1 }, end: { line: 3, character: 4 } });
  assert.deepEqual(follow([word], [typed(1, 1, "x")]), [word]);
  assert.deepEqual(follow([word], [typed(2, 0, "x")]), [word]);
});

test("rejected and superseded changes are not in the text", () => {
  const states = ["applied", "amended", "kept", "rejected", "superseded"] as const;
  assert.deepEqual(states.map((state) => present({ ...word, state })), [true, true, true, false, false]);
});
