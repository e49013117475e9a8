// Answers about what other extensions' servers know: their edits fit the text, and they are in time.
import assert from "node:assert/strict";
import { mock, test } from "node:test";
import type { Languages } from "../../src/languages.ts";
import "./fake.ts";

const { Queries, asData } = await import("../../src/query.ts");
// @ts-expect-error the fake has no types
const { commands, editor, languages, Range, WorkspaceEdit } = await import("./fake-vscode.mjs");

const known = { add: () => undefined, any: () => true, has: () => true, state: async () => "ok" } as unknown as Languages;
const queries = new Queries(known, (found) => found, []);
const rename = { kind: "rename", uri: "file:///a", position: { line: 0, character: 0 }, newName: "b" } as const;

/** What a provider gives: a rename of the first letter of the document. */
function renamed(uri: object) {
  const edit = new WorkspaceEdit(), edits = [{ range: new Range(0, 0, 0, 1), newText: "b" }];
  edit.set(uri, edits);
  edit.entries = () => [[uri, edits]];
  return edit;
}

test("an edit that was computed while keys came is asked for again", async () => {
  const document = editor.open("file:///a", "a\n");
  let asked = 0;
  commands.executeCommand = async () => {
    asked += 1;
    if (asked === 1) document.change({ range: new Range(0, 1, 0, 1), newText: "x" });
    return renamed(document.uri);
  };
  const { status, version, edit } = await queries.answer(rename);
  assert.deepEqual([asked, status, version], [2, "ok", 2]);
  const changes = (edit as ReturnType<typeof asData>).documentChanges as { textDocument: object }[];
  assert.deepEqual(changes.map((change) => change.textDocument), [{ uri: "file:///a", version: 2 }]);
});

test("a provider that never answers is not waited for longer than the server waits", async () => {
  commands.executeCommand = () => new Promise(() => undefined);
  mock.timers.enable({ apis: ["setTimeout", "Date"] });
  const answer = queries.answer(rename);
  mock.timers.tick(9_000);
  assert.equal((await answer).message, "the language server did not answer in time");
  mock.timers.reset();
});

test("after a change, problems are answered when they have come and nothing more comes", async () => {
  const uri = { toString: () => "file:///p", scheme: "file" };
  const document = editor.open("file:///p", "a\n");
  document.languageId = "toy";
  let answered = false;
  mock.timers.enable({ apis: ["setTimeout", "Date"], now: 100_000 });
  const tick = async (ms: number): Promise<void> => {
    for (let at = 0; at < ms; at += 100) {
      mock.timers.tick(100);
      await new Promise(setImmediate);
    }
  };
  document.change({ range: new Range(0, 1, 0, 1), newText: "x" });
  const answer = queries.answer({ kind: "diagnostics", uri: "file:///p" }).then(() => (answered = true));
  await tick(900);
  languages.report(uri);
  await tick(900);
  assert.equal(answered, false, "more may come");
  await tick(400);
  assert.equal(answered, true);
  await answer;
  mock.timers.reset();
});

test("a version that the editor does not have is waited for, and an error in the end", async () => {
  mock.timers.enable({ apis: ["setTimeout", "Date"] });
  const answer = queries.answer({ ...rename, minVersion: 99 });
  mock.timers.tick(9_000);
  assert.equal((await answer).status, "error");
  mock.timers.reset();
});

test("file operations of a rename stay in their place, and files that are not open have no version", () => {
  const uri = (text: string) => ({ toString: () => text });
  const [a, b] = [uri("file:///closed"), uri("file:///new")], text = [{ range: new Range(0, 0, 0, 1), newText: "b" }];
  const edit = { entries: () => [[a, text]], _allEntries: () => [{ uri: a }, { from: a, to: b, options: {} }] };
  const { documentChanges } = asData(edit as never);
  const [first, second] = documentChanges as { textDocument?: object; kind?: string; oldUri?: string; newUri?: string }[];
  assert.deepEqual(first!.textDocument, { uri: "file:///closed", version: null });
  assert.deepEqual([second!.kind, second!.oldUri, second!.newUri], ["rename", "file:///closed", "file:///new"]);
});
