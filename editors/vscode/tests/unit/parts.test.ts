// The page of the prompt: what is cached, and what has changed since the last request.
import assert from "node:assert/strict";
import { test } from "node:test";
import { parts, since } from "../../src/page/parts.ts";
import type { PromptPreview, SegmentRow } from "../../src/protocol.ts";

const row = (id: string, slot: "system" | "tail", included = true): SegmentRow => ({
  id, title: id, layer: "tools", source: "built in", slot, trust: "own", included, reason: "always",
  bytes: 40, tokens: id === "tools" ? 40 : 10, hash: id,
});
const rows = [row("provider", "system"), row("tools", "system"), row("mode", "system"), row("soul", "system", false), row("date", "tail")];
const preview = (more: Partial<PromptPreview>): PromptPreview => ({
  segments: rows, system: "", tail: "", tools: [], pending: [], tokens: { count: 70, exact: false },
  context: { window: 1000, system: 40, tools: 10, conversation: 10, prompt: 10 },
  request: { provider: "anthropic", body: "x".repeat(1000), breakpoints: [100, 400, 1000] },
  epoch: { id: "next", reason: "start" }, ...more,
});
const states = (given: PromptPreview): string => parts(given).sent.map(({ cached }) => cached).join(" ");

test("all is new in a session that has sent nothing", () => {
  assert.equal(states(preview({})), "new new new new");
  assert.match(since(preview({})), /sent no request yet/);
  assert.deepEqual(parts(preview({})).absent.map(({ id }) => id), ["soul"]);
});

test("within an epoch the stable part is cached up to the breakpoint before the last", () => {
  const given = preview({ epoch: { id: "epoch_1", reason: "start" } });
  assert.equal(states(given), "cached cached cached new");
  assert.equal(parts(given).same, 400);
  assert.match(since(given), /Nothing has changed/);
});

test("a new epoch is cached up to the segment that changed", () => {
  const given = preview({ epoch: { id: "next", reason: "the mode changed" }, changed: { segmentId: "tools", byte: 250 } });
  assert.equal(states(given), "cached changed new new");
  assert.equal(parts(given).same, 100);
  assert.match(since(given), /from “tools” on \(byte 250\)/);
});
