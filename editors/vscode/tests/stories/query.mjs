// What other extensions' language servers know goes to the server as data. One stands in for them:
// the toy server that the tests of all editors share.
import fs from "node:fs";
import * as harness from "../harness/tapped.mjs";
import { known, knows, tapped } from "../harness/tapped.mjs";
import { holds, same, story, until } from "../harness/runner.mjs";

const place = (line, from, to) => ({ start: { line, character: from }, end: { line, character: to } });
const uri = (window, name) => `file://${window.root}/${name}`;

/** What the extension answers about the first file. */
const ask = (window, asked) => harness.ask(window, { uri: uri(window, "a.toy"), ...asked });
const ready = (window) => knows(window, "toy");

story("definitions, references, hover, symbols and problems come from the unsaved text", async (world) => {
  const window = await tapped(world, { "a.toy": "nothing\n", "b.toy": "𝒳 use total\n" });
  await window.command("editor.action.selectAll");
  await window.page.keyboard.type("def total\n  def tax\n");
  await window.page.keyboard.type("use total\nuse nothing");
  await until("the text", async () => (await window.text("a.toy")).endsWith("use nothing"));
  await ready(window);
  const version = await window.eval("return vscode.window.activeTextEditor.document.version");
  const a = uri(window, "a.toy"), total = { uri: a, range: place(0, 4, 9) };
  const position = { line: 0, character: 5 };
  same({ status: "ok", version, items: [total] }, await ask(window, { kind: "definition", minVersion: version, position }));
  const rows = await ask(window, { kind: "references", position });
  same([["a.toy", 0], ["a.toy", 2], ["b.toy", 0]], rows.items.map((it) => [it.uri.split("/").at(-1), it.range.start.line]));
  same(place(0, 7, 12), rows.items[2].range, "in UTF-16, of a closed file");
  same([{ contents: "**def** total" }], (await ask(window, { kind: "hover", position })).items);
  const outline = (await ask(window, { kind: "documentSymbols" })).items;
  same([["total", 12, undefined], ["tax", 12, "total"]], outline.map(({ name, kind, container }) => [name, kind, container]));
  const symbols = (await ask(window, { kind: "workspaceSymbols", query: "tot" })).items;
  same([{ name: "total", kind: 12, uri: a, range: place(0, 4, 9) }], symbols);
  const problems = await until("the problem", async () => {
    const { items } = await ask(window, { kind: "diagnostics", uri: undefined });
    return items.length > 0 && items;
  });
  same([a, version, "cannot find nothing"], [problems[0].uri, problems[0].version, problems[0].diagnostics[0].message]);
});

story("a rename and code actions are data: versions for open files, none for closed ones, nothing is applied", async (world) => {
  const window = await tapped(world, { "a.toy": "def total\n", "b.toy": "use total\n" });
  await ready(window);
  await window.page.keyboard.type("use total\n");
  await until("the key strokes", async () => (await window.text("a.toy")) === "use total\ndef total\n");
  const version = await window.eval("return vscode.window.activeTextEditor.document.version");
  const answer = await ask(window, { kind: "rename", position: { line: 1, character: 4 }, newName: "sum" });
  same({
    documentChanges: [
      { textDocument: { uri: uri(window, "a.toy"), version }, edits: [{ range: place(0, 4, 9), newText: "sum" }, { range: place(1, 4, 9), newText: "sum" }] },
      { textDocument: { uri: uri(window, "b.toy"), version: null }, edits: [{ range: place(0, 4, 9), newText: "sum" }] },
    ],
  }, answer.edit);
  const actions = (await ask(window, { kind: "codeActions", range: place(1, 0, 3) })).items;
  same([["Use it", true, "use "], ["Use it later", undefined, "use "]], actions.map(({ title, preferred, edit }) => [title, preferred, edit.documentChanges[0].edits[0].newText]));
  const refused = await ask(window, { kind: "rename", position: { line: 1, character: 4 }, newName: "two words" });
  same(["error", true], [refused.status, refused.message.includes("two words is not a name")]);
  const fromClosed = await ask(window, { kind: "rename", uri: uri(window, "b.toy"), position: { line: 0, character: 4 }, newName: "sum" });
  same(["ok", 2], [fromClosed.status, fromClosed.edit?.documentChanges.length], fromClosed.message);
  same(["use total\ndef total\n", "use total\n"], [await window.text("a.toy"), window.disk("b.toy")]);
});

story("a server that starts is waited for, and the list of languages follows servers that come and go", async (world) => {
  const window = await tapped(world, { "a.toy": "def total\n", "c.txt": "def total\n", starting: "" });
  const question = { kind: "definition", position: { line: 0, character: 5 } };
  same("starting", (await ask(window, question)).status);
  same(false, (await known(window)).includes("toy"));
  fs.rmSync(`${window.root}/starting`);
  await ready(window);
  same(1, (await ask(window, question)).items.length);
  same("unsupported", (await ask(window, { ...question, uri: uri(window, "c.txt") })).status);
  await window.command("tests.toy.stop");
  await until("no answer", async () => (await ask(window, question)).items.length === 0);
  same(false, (await known(window)).includes("toy"));
  await window.command("tests.toy.start");
  await until("the answer", async () => (await ask(window, question)).items.length === 1);
  await ready(window);
});

story("problems that are reported after an edit reach the model in the same turn", async (world) => {
  const window = await tapped(world, { "a.toy": "def total\nuse tax\n" });
  await window.command("interline.trust");
  await until("the first problem", async () => (await ask(window, { kind: "diagnostics" })).items[0]?.diagnostics.length === 1);
  let seen;
  world.model.on("use what is not there", async function* () {
    yield { calls: [["read", { path: "a.toy" }]] };
    yield { calls: [["edit", { path: "a.toy", old_string: "use tax", new_string: "use nothing" }]] };
    seen = JSON.stringify(world.model.requests.at(-1).body.messages.at(-1));
    yield { say: "Used." };
  });
  await window.ask("use what is not there");
  await window.said("Used.");
  holds("The editor reports new problems after these changes", seen);
  holds("a.toy:2: error: cannot find nothing", seen);
  holds("Problems that these changes fixed", seen);
});
