// `interline/edit/apply` against an editor whose keys come in between.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import type { ApplyEdit } from "../../src/protocol.ts";
import "./fake.ts";

const { Edits } = await import("../../src/edit.ts");
// @ts-expect-error the fake has no types
const { editor, Range } = await import("./fake-vscode.mjs");

const hash = (text: string): string => createHash("sha256").update(text).digest("hex");
let count = 0;

function opened(text: string) {
  const edits = new Edits();
  const document = editor.open(`file:///${++count}`, text);
  Object.assign(editor, { pressed: [], refuses: false, applied: 0 });
  const request = (line: number, from: number, to: number, newText: string): ApplyEdit => ({
    sessionId: "s", turnId: "t", itemId: "i", label: "", uri: `file:///${count}`, version: 1, hash: hash(text), undoBreak: true,
    edits: [{ range: { start: { line, character: from }, end: { line, character: to } }, newText }],
  });
  return { edits, document, request };
}

const key = (line: number, character: number, newText: string) => ({ range: new Range(line, character, line, character), newText });

test("an edit for the current text is applied as it is", async () => {
  const { edits, document, request } = opened("one\ntwo\n");
  const answer = await edits.apply(request(1, 0, 3, "zwei"));
  assert.deepEqual(answer, { status: "applied", version: 2, hash: hash("one\nzwei\n") });
  assert.equal(document.text, "one\nzwei\n");
});

test("an edit for an older version is mapped over what was typed since", async () => {
  const { edits, document, request } = opened("one\ntwo\n");
  document.change(key(0, 3, "x\ny"));
  document.change(key(2, 0, "-"));
  const answer = await edits.apply(request(1, 0, 3, "zwei"));
  assert.equal(answer.status, "rebased");
  assert.equal(document.text, "onex\ny\n-zwei\n");
  assert.deepEqual(answer.edits, [{ range: { start: { line: 2, character: 1 }, end: { line: 2, character: 4 } }, newText: "zwei" }]);
});

test("an edit for exactly one text is refused once there is a newer one, and changes nothing", async () => {
  const { edits, document, request } = opened("one\ntwo\n");
  const exact = { ...request(1, 0, 3, "zwei"), exact: true };
  document.change(key(0, 0, "x"));
  assert.equal((await edits.apply(exact)).status, "refused");
  assert.equal(document.text, "xone\ntwo\n");
});

test("a key that is on its way makes the editor refuse, and the edit is placed again after it", async () => {
  const { edits, document, request } = opened("one\ntwo\n");
  editor.pressed = [key(0, 0, "a\n"), key(0, 0, "b"), key(0, 0, "c")];
  const answer = await edits.apply(request(1, 0, 3, "zwei"));
  assert.equal(answer.status, "rebased");
  assert.equal(document.text, "cba\none\nzwei\n");
  assert.equal(editor.applied, 1);
});

test("typing in the same text is a conflict, also in the last moment, and changes nothing", async () => {
  const { edits, document, request } = opened("one\ntwo\n");
  editor.pressed = [key(1, 1, "Y")];
  const answer = await edits.apply(request(1, 0, 3, "zwei"));
  assert.equal(answer.status, "conflict");
  assert.equal(document.text, "one\ntYwo\n");
  assert.deepEqual([answer.version, answer.hash], [2, hash("one\ntYwo\n")]);
});

test("a digit typed beside the edited one is a conflict", async () => {
  const { edits, document, request } = opened("qty = 5\n");
  document.change(key(0, 7, "5"));
  assert.equal((await edits.apply(request(0, 6, 7, "6"))).status, "conflict");
  assert.equal(document.text, "qty = 55\n");
});

test("another text, a version that is not known, or a range outside is a conflict", async () => {
  const { edits, document, request } = opened("one\n");
  assert.equal((await edits.apply({ ...request(0, 0, 1, "x"), hash: hash("other") })).status, "conflict");
  assert.equal((await edits.apply({ ...request(0, 0, 1, "x"), version: 7 })).status, "conflict");
  assert.equal((await edits.apply(request(9, 0, 1, "x"))).status, "conflict");
  assert.equal(document.text, "one\n");
});

test("an editor that does not apply, and a document that is gone, are reported as refused", async () => {
  const { edits, request } = opened("one\n");
  editor.refuses = true;
  assert.equal((await edits.apply(request(0, 0, 1, "x"))).status, "refused");
  const gone = await edits.apply({ ...request(0, 0, 1, "x"), uri: "file:///gone" });
  assert.deepEqual([gone.status, gone.hash], ["refused", ""]);
});
