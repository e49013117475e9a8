// Words of others in the editor's messages, in traces, and the program's path.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { PLACE, version } from "../../src/program.ts";
import "./fake.ts";

const say = await import("../../src/say.ts");
const { harmless, untraced } = await import("../../src/guard.ts");
// @ts-expect-error the fake has no types
const { editor } = await import("./fake-vscode.mjs");

const LINK = "[open](command:workbench.action.quit)", SAFE = "[open] (command:workbench.action.quit)";
const wire = (message: object): unknown => harmless(message as never);

test("no words in a message of the editor become a link that runs a command", async () => {
  await say.info(LINK);
  await say.warn(`a ${LINK} b`);
  await say.fail(`${LINK}\u202e`);
  assert.deepEqual(editor.said.splice(0), [`Interline: ${SAFE}`, `Interline: a ${SAFE} b`, `Interline: ${SAFE}\\u{202e}`]);
});

test("nothing is shown in a message past the place that makes it harmless", () => {
  const folder = new URL("../../src/", import.meta.url);
  const direct = readdirSync(folder).filter((name) => name.endsWith(".ts") && name !== "say.ts")
    .filter((name) => /show(Information|Warning|Error)Message/.test(readFileSync(new URL(name, folder), "utf8")));
  assert.deepEqual(direct, []);
});

test("what the server has shown by the library is harmless, and all else passes as it is", () => {
  for (const method of ["window/showMessage", "window/showMessageRequest"]) {
    const params = { type: 3, message: LINK, actions: [{ title: "Yes" }] };
    assert.deepEqual(wire({ jsonrpc: "2.0", method, params }), { jsonrpc: "2.0", method, params: { ...params, message: SAFE } });
  }
  const progress = (words: string): object => ({ method: "$/progress", params: { token: 1, value: { kind: "begin", title: words, message: words } } });
  assert.deepEqual(wire(progress(LINK)), progress(SAFE));
  assert.deepEqual(wire({ id: 1, error: { code: -1, message: LINK, data: 7 } }), { id: 1, error: { code: -1, message: SAFE, data: 7 } });
  for (const message of [
    { method: "interline/turn/event", params: { message: LINK } }, { id: 1, result: { message: LINK } }, { method: "exit" },
    { method: "window/showMessage", params: { message: 7 } }, { method: "$/progress", params: { value: 7 } },
  ]) assert.deepEqual(wire(message), message);
});

test("the wire, where keys pass, is traced at no level of the output", () => {
  const lines: string[] = [];
  const output = { logLevel: 1, onDidChangeLogLevel: () => assert.fail("its level is followed"), trace: (line: string) => lines.push(line), info: (line: string) => lines.push(line) };
  const quiet = untraced(output as never);
  quiet.onDidChangeLogLevel(() => undefined).dispose();
  quiet.trace("secret");
  quiet.info("kept");
  assert.deepEqual([quiet.logLevel, lines], [0, ["kept"]]);
});

test("a program is a name or an absolute path, and is looked up outside of the workspace", async () => {
  for (const path of ["./interline", "bin/interline", "../interline"]) {
    await assert.rejects(version(path, {}), { setting: "interline.server.path", message: /is relative. Give an absolute path/ });
  }
  await assert.rejects(version("/nowhere/interline", {}), /was not found/);
  assert.notEqual(PLACE, process.cwd());
  assert.match(readFileSync(new URL("../../src/server.ts", import.meta.url), "utf8"), /options = \{ cwd: PLACE,/);
});
