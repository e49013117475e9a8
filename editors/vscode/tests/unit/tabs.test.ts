// The sessions of a folder in tabs, and what a terminal printed.
import assert from "node:assert/strict";
import { test } from "node:test";
import "./fake.ts";
import { Tabs } from "../../src/tabs.ts";

const { plain } = await import("../../src/terminal.ts");

test("a session takes the place of the one that it replaces, and closing shows the one beside", () => {
  const tabs = new Tabs();
  for (const id of ["a", "b", "c"]) tabs.put("p", id);
  tabs.put("p", "new", "b");
  tabs.put("p", "a", "c");
  assert.deepEqual(tabs.of("p"), ["a", "new", "c"]);
  assert.equal(tabs.close("p", "new"), "c");
  assert.equal(tabs.close("p", "c"), "a");
  assert.equal(tabs.close("p", "a"), undefined);
  assert.deepEqual([tabs.of("p"), tabs.of("q")], [[], []]);
});

test("of a terminal's output the text is left, without colours, titles and lines that were written over", () => {
  assert.equal(plain("\x1b]0;title\x07\x1b[31mred\x1b[0m\r\n10%\r50%\r100%\r\ndone\r\n"), "red\n100%\ndone");
});
