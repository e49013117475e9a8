// Where code of an answer goes in a file.
import assert from "node:assert/strict";
import { test } from "node:test";
import { placed } from "../../src/snippet.ts";

const FILE = "import { a } from \"a\";\n\nexport function total(prices) {\n  let sum = 0;\n  for (const price of prices) sum += price;\n  return sum;\n}\n\nexport function last(prices) {\n  return prices.at(-1);\n}\n";

test("a function takes the place of its earlier form, and the rest of the file stays", () => {
  const code = "export function total(prices, discount = 0) {\n  let sum = 0;\n  for (const price of prices) sum += price;\n  return sum * (1 - discount);\n}";
  const wanted = FILE.replace("total(prices)", "total(prices, discount = 0)").replace("return sum;", "return sum * (1 - discount);");
  assert.equal(placed(FILE, code), wanted);
});

test("code that is less deep than its place is moved there", () => {
  assert.equal(placed(FILE, "let sum = 0;\nfor (const price of prices) sum += price * 2;"),
    FILE.replace("sum += price;", "sum += price * 2;"));
});

test("a diff is applied, and an empty file takes the code as it is", () => {
  assert.equal(placed("one\ntwo\n", "@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n"), "one\nTWO\n");
  assert.equal(placed("", "one\n\n"), "one\n");
  assert.equal(placed("one\r\ntwo words\r\n", "one\ntwo words more"), "one\r\ntwo words more\r\n");
});

test("code without a line of the file, or with parts left out, has no place", () => {
  assert.equal(placed(FILE, "const other = 1;"), undefined);
  assert.equal(placed(FILE, "export function total(prices) {\n  // ... as before\n  return sum;\n}"), undefined);
});
