// package.json against protocol.md and the source: settings, their scopes, commands.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { prose, visible } from "../../src/messages.ts";
import "./fake.ts";
import { COMMANDS } from "../../src/protocol.ts";

const { OWN } = await import("../../src/settings.ts");
const read = (name: string): string => readFileSync(new URL(`../../${name}`, import.meta.url), "utf8");
const manifest = JSON.parse(read("package.json"));
const properties: Record<string, { scope: string }> = manifest.contributes.configuration.properties;

/** Settings without a meaning here: approvals are cards of the chat view, which needs no transcripts. */
const LEFT_OUT = ["approvalsVia", "chatFolder"];

/** Keys of protocol.md with what a client may do with them. */
function documented(): Map<string, string> {
  const table = read("../../protocol.md").split("## Settings")[1]!;
  const rows = [...table.matchAll(/^\| `([\w.*]+)` \| (.*) \| (.*) \|$/gm)];
  const found = new Map(rows.map(([, key, , rule]) => [key!.replace(/\.\*.*$/, ""), rule!]));
  for (const key of LEFT_OUT) found.delete(key);
  return found;
}

test("every setting of the protocol can be set, the user's own only where no workspace reaches", () => {
  const keys = documented();
  assert.ok(keys.size > 30);
  for (const [key, rule] of keys) {
    const property = properties[`interline.${key}`];
    assert.ok(property, `interline.${key} is missing in package.json`);
    assert.equal(property.scope, rule === "user" ? "machine" : "window", `the scope of interline.${key}`);
  }
});

test("every setting that can be set is one of the protocol or of the extension", () => {
  const keys = documented();
  for (const name of Object.keys(properties)) {
    if (OWN.some((own) => name.startsWith(own))) {
      assert.equal(properties[name]!.scope, "machine", `${name} is the user's own`);
    } else {
      assert.ok(keys.has(name.slice("interline.".length)), `${name} is no setting of the server`);
    }
  }
});

test("commands of the palette are registered", () => {
  const source = read("src/extension.ts");
  for (const { command } of manifest.contributes.commands as { command: string }[]) {
    assert.ok(source.includes(`"${command}":`) || (COMMANDS as readonly string[]).includes(command), command);
  }
});

test("nothing hides in what is shown", () => {
  assert.equal(visible("rm -rf \u202e/\u200b\x1b[2K\r\ttab\nline"), "rm -rf \\u{202e}/\\u{200b}\\u{001b}[2K\\r\ttab\nline");
  assert.equal(visible("\u180e\ufff9\ufffb\u{e0000}\u{e0080}\u{e0fff}"), "\\u{180e}\\u{fff9}\\u{fffb}\\u{e0000}\\u{e0080}\\u{e0fff}");
  assert.equal(visible("a\u2800\u3164\u115f\ufffc\u{13441}\ufe0f"), "a\\u{2800}\\u{3164}\\u{115f}\\u{fffc}\\u{13441}\\u{fe0f}");
  assert.equal(prose("👩\u200d👧 ❤\ufe0f\u202e"), "👩\u200d👧 ❤\ufe0f\\u{202e}");
  assert.equal(visible("plain ü 𝒳 text"), "plain ü 𝒳 text");
});
