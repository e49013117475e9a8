// Words of others in the editor's messages, in traces, and the program's path.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { PLACE, version } from "../../src/program.ts";
import "./fake.ts";

const say = await import("../../src/say.ts");
const { untraced } = await import("../../src/server.ts");
// @ts-expect-error the fake has no types
const { editor } = await import("./fake-vscode.mjs");

const LINK = "[open](command:workbench.action.quit)", SAFE = "[open] (command:workbench.action.quit)";

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
    await assert.rejects(version(path, {}), { setting: "interline.server.path", message: /is relative. Use an absolute path/ });
  }
  await assert.rejects(version("/nowhere/interline", {}), /is not on VS Code/);
  assert.notEqual(PLACE, process.cwd());
  assert.match(readFileSync(new URL("../../src/server.ts", import.meta.url), "utf8"), /options = \{ cwd: PLACE,/);
});
