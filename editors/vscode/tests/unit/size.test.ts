// The extension stays small enough to be read in one go.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

/** Lines at most: of code, and of the page and its style sheet; columns of each line. */
const CODE = 1_050, PAGE = 60, COLUMNS = 100;
const ROOT = new URL("../../", import.meta.url);

/** What is shipped and written by hand in a folder: by name, all lines and those with code. */
function files(folder: string): { name: string; all: string[]; code: string[] }[] {
  const names = readdirSync(new URL(folder, ROOT), { recursive: true, encoding: "utf8" }).map((name) => `${folder}/${name}`);
  const ours = names.filter((name) => /\.(ts|css|html|json)$/.test(name) && name !== "src/protocol.ts");
  return ours.map((name) => {
    const text = readFileSync(new URL(name, ROOT), "utf8");
    const bare = text.replace(/^\s*\/\*[^]*?\*\//gm, "").split("\n").map((line) => line.trim());
    return { name, all: text.split("\n"), code: bare.filter((line) => line && !line.startsWith("//")) };
  });
}

const lines = (found: ReturnType<typeof files>): number => found.reduce((sum, { code }) => sum + code.length, 0);

test("the extension's code is counted, and no line hides another", () => {
  const code = files("src"), page = files("media");
  assert.ok(code.length > 10 && lines(code) > 500, `${lines(code)} lines of ${code.length} files were found`);
  assert.ok(lines(code) <= CODE, `${lines(code)} lines of code; ${CODE} are allowed`);
  const styled = page.filter(({ name }) => !name.endsWith(".json"));
  assert.ok(lines(styled) <= PAGE, `${lines(styled)} lines of page and style; ${PAGE} are allowed`);
  const all = [...code, ...page];
  const wide = all.flatMap(({ name, all: rows }) => rows.filter((line) => line.length > COLUMNS).map((line) => `${name}: ${line}`));
  assert.deepEqual(wide, []);
});

test("the folder of the page holds data and no code", () => {
  const kinds = readdirSync(new URL("media", ROOT), { encoding: "utf8" }).filter((name) => !/\.(css|html|json|svg)$/.test(name));
  assert.deepEqual(kinds, []);
  assert.doesNotMatch(readFileSync(new URL("media/view.html", ROOT), "utf8"), /<script>|\son\w+=/);
});
