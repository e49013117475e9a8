// The page of the status: facts in words, with what needs attention marked.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { State, StatusRow } from "../../src/messages.ts";
import type { Status } from "../../src/protocol.ts";
import { sections } from "../../src/status.ts";

const state: State = {
  model: "anthropic/claude-opus-5", mode: "agent", title: "", tokens: 1200, cost: 0.5, trusted: false,
  context: { used: 250, window: 1000 }, queue: [], tabs: [], agents: false,
};
const status: Status = {
  version: "0.1.0", trust: { "/p": false },
  sessions: [{ sessionId: "s", title: "Fix it", updatedAt: "", turns: 1, tokens: 1200, cost: 0.5, state: "running" }],
  documents: [
    { uri: "file:///p/a.ts", version: 1, dirty: true, file: "unsaved", agentTouched: true, synced: true, state: "open", hash: "" },
    { uri: "file:///p/b.ts", version: 1, dirty: true, file: "conflicting", agentTouched: false, synced: true, state: "open", hash: "" },
    { uri: "file:///p/d.ts", version: 1, dirty: false, file: "outdated", agentTouched: false, synced: true, state: "open", hash: "" },
    { uri: "file:///p/c.ts", version: 1, dirty: false, file: "clean", agentTouched: false, synced: false, state: "outOfSync: lost", hash: "" },
  ],
  mcpServers: [{ name: "time", state: "failed", source: "user", reason: "no program" }, { name: "zone", state: "ready", source: ".mcp.json", sandbox: "full", tools: ["now"] }],
  sandbox: "full",
  modelDetails: [{ name: "a/b", provider: "a", ready: true }, { name: "a/c", provider: "a", ready: false }, { name: "openai/e", provider: "openai", ready: false }],
  ignoredSettings: [{ key: "approvals", source: "client settings", reason: "would allow more" }],
  policy: { mode: { value: "plan", source: "default" }, env: { value: [], source: "default" } },
};
const known = { status, state, program: "/bin/interline", languages: ["rust"], off: [{ feature: "sandbox", reason: "not built yet" }], name: (uri: string) => uri.replace("file:///p/", "") };
const part = (title: string, given = known): StatusRow[] => sections(given).find((each) => each.title === title)!.rows;

test("the overview says program, model, mode, context, cost and trust, and what is not known has no row", () => {
  assert.deepEqual(part("Overview").map(({ label, value }) => `${label}: ${value}`), [
    "Program: Interline 0.1.0", "Model: anthropic/claude-opus-5", "Mode: agent", "Context: 250 of 1,000 tokens (25%)",
    "Session: 1,200 tokens", "Cost: $0.50",
    "Sandbox: complete: commands change only the folders, and see no secrets", "Folder: /p",
  ]);
  assert.equal(part("Overview").at(-1)!.level, "warning");
  const none = sections({ ...known, status: {}, languages: [], off: [] }).filter(({ rows, title }) => rows.length === 0 && title !== "Overview");
  assert.deepEqual(none.map(({ empty }) => Boolean(empty)), Array(8).fill(true));
});

test("files say in words how they differ from the disk, and warn where the agent cannot go on", () => {
  assert.deepEqual(part("Files"), [
    { label: "a.ts", value: "unsaved changes, edited by the agent" },
    { label: "b.ts", value: "changed here and on disk", level: "warning" },
    { label: "d.ts", value: "the file on disk is newer: reload it", level: "warning" },
    { label: "c.ts", value: "as on disk", note: "outOfSync: lost", level: "warning" },
  ]);
});

test("sessions, servers, providers, settings and missing features are rows with their reasons", () => {
  assert.deepEqual(part("Sessions"), [{ label: "Fix it", value: "running · 1 turn · 1,200 tokens · $0.50" }]);
  assert.deepEqual(part("MCP servers"), [
    { label: "time", value: "failed", note: "yours · no program", level: "error" },
    { label: "zone", value: "ready, 1 tool, sandbox: full", note: ".mcp.json", level: "ok" },
  ]);
  assert.deepEqual(part("Models"), [
    { label: "a", value: "ready", note: "2 models", level: "ok" }, { label: "OpenAI", value: "no key", note: "1 model" },
  ]);
  assert.deepEqual(part("Ignored settings"), [{ label: "approvals", value: "would allow more", note: "client settings", level: "warning" }]);
  assert.deepEqual(part("Settings in force").map(({ label, value }) => `${label}=${value}`), ["mode=plan", "env=[]"]);
  assert.deepEqual(part("Not available"), [{ label: "Sandbox", value: "not built yet" }]);
  assert.equal(part("Languages")[0]!.label, "rust");
});
