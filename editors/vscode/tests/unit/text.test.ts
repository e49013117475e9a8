// Rules for the text of the extension that no compiler checks.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

const COLUMNS = 100;
const ROOT = new URL("../../", import.meta.url);

test("no line of the extension is too wide to read", () => {
  const names = ["src", "media"].flatMap((folder) =>
    readdirSync(new URL(folder, ROOT), { recursive: true, encoding: "utf8" }).map((name) => `${folder}/${name}`));
  const written = names.filter((name) => /\.(tsx?|css|html|json)$/.test(name) && name !== "src/protocol.ts");
  assert.ok(written.length > 10, `${written.length} files were found`);
  const wide = written.flatMap((name) => readFileSync(new URL(name, ROOT), "utf8").split("\n")
    .filter((line) => line.length > COLUMNS).map((line) => `${name}: ${line}`));
  assert.deepEqual(wide, []);
});

test("the folder of the page holds data and no code", () => {
  const kinds = readdirSync(new URL("media", ROOT), { encoding: "utf8" }).filter((name) => !/\.(css|html|json|svg)$/.test(name));
  assert.deepEqual(kinds, []);
  assert.doesNotMatch(readFileSync(new URL("media/view.html", ROOT), "utf8"), /<script>|\son\w+=/);
});
