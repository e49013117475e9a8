// The extension stays small enough to be read in one go.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

/** Lines of code at most, and columns of each. */
const LINES = 1_150, COLUMNS = 100;
const ROOT = new URL("../../", import.meta.url);

/** What is shipped and written by hand, without comments and blank lines. */
function code(): [string, string[]][] {
  const names = ["src", "media"].flatMap((folder) =>
    readdirSync(new URL(folder, ROOT), { recursive: true, encoding: "utf8" }).map((name) => `${folder}/${name}`));
  const ours = names.filter((name) => /\.(ts|css|html)$/.test(name) && name !== "src/protocol.ts");
  return ours.map((name) => {
    const text = readFileSync(new URL(name, ROOT), "utf8").replace(/^\s*\/\*[^]*?\*\//gm, "");
    return [name, text.split("\n").filter((line) => line.trim() && !line.trim().startsWith("//"))];
  });
}

test("the extension's code is counted, and no line hides another", () => {
  const files = code(), count = files.reduce((sum, [, lines]) => sum + lines.length, 0);
  assert.ok(files.length > 10 && count > 500, `${count} lines of ${files.length} files were found`);
  assert.ok(count <= LINES, `${count} lines of code; ${LINES} are allowed`);
  const wide = files.flatMap(([name, lines]) => lines.filter((line) => line.length > COLUMNS).map((line) => `${name}: ${line}`));
  assert.deepEqual(wide, []);
});
