// The extension stays small enough to be read in one go.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

/** Lines of code at most, and columns of each. */
const LINES = 1_150, COLUMNS = 100;
const ROOT = new URL("../../", import.meta.url);

/** What is shipped and written by hand: by name, all lines and those with code. */
function files(): { name: string; all: string[]; code: string[] }[] {
  const names = ["src", "media"].flatMap((folder) =>
    readdirSync(new URL(folder, ROOT), { recursive: true, encoding: "utf8" }).map((name) => `${folder}/${name}`));
  const ours = names.filter((name) => /\.(ts|css|html)$/.test(name) && name !== "src/protocol.ts");
  return ours.map((name) => {
    const text = readFileSync(new URL(name, ROOT), "utf8");
    const bare = text.replace(/^\s*\/\*[^]*?\*\//gm, "").split("\n").map((line) => line.trim());
    return { name, all: text.split("\n"), code: bare.filter((line) => line && !line.startsWith("//")) };
  });
}

test("the extension's code is counted, and no line hides another", () => {
  const found = files(), count = found.reduce((sum, { code }) => sum + code.length, 0);
  assert.ok(found.length > 10 && count > 500, `${count} lines of ${found.length} files were found`);
  assert.ok(count <= LINES, `${count} lines of code; ${LINES} are allowed`);
  const wide = found.flatMap(({ name, all }) => all.filter((line) => line.length > COLUMNS).map((line) => `${name}: ${line}`));
  assert.deepEqual(wide, []);
});
