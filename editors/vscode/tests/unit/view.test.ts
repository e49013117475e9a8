// The pure parts of the chat view: Markdown in blocks, its links, diffs, and the list of items.
import assert from "node:assert/strict";
import { test } from "node:test";
import "./fake.ts";
import type { ToView } from "../../src/messages.ts";
import { facts, model } from "../../src/facts.ts";
import { patched } from "../../src/patch.ts";
import { cut, mend, Source } from "../../src/view/blocks.ts";
import { colour, ofFile } from "../../src/view/code.ts";
import { rows } from "../../src/view/difflines.ts";
import { place, render } from "../../src/view/markdown.ts";
import { Recall } from "../../src/view/recall.ts";
import { Store } from "../../src/view/store.ts";

const { wanted } = await import("../../src/complete.ts");
const { ago } = await import("../../src/history.ts");
const { rows: rowsOf } = await import("../../src/pickers.ts");
const { named } = await import("../../src/prompts.ts");

const ANSWER = `# How it works

The cart **sums** prices.
Then it divides.

- one
- two

  more of two
- three

| a | b |
|---|---|
| 1 | 2 |

\`\`\`ts
const a = 1;

const b = 2;
\`\`\`
After it.

1. first
   \`\`\`sh
   make

   make test
   \`\`\`
2. second
`;

test("an answer that streams in any pieces ends in the same blocks", () => {
  const whole = cut(ANSWER, true).blocks;
  assert.deepEqual(whole.map(({ kind, text }) => `${kind} ${text.split("\n")[0]}`), [
    "text # How it works", "text The cart **sums** prices.", "text - one", "text | a | b |", "code const a = 1;", "text After it.", "text 1. first",
  ]);
  assert.deepEqual([whole[4]!.lang, whole[4]!.text], ["ts", "const a = 1;\n\nconst b = 2;"]);
  for (const size of [1, 2, 3, 7, 50, 1000]) {
    const source = new Source();
    for (let at = 0; at < ANSWER.length; at += size) {
      source.append(ANSWER.slice(at, at + size));
      void source.blocks;
    }
    source.set(ANSWER);
    assert.deepEqual(source.blocks.map(({ kind, text }) => [kind, text.trimEnd()]), whole.map(({ kind, text }) => [kind, text.trimEnd()]), `in pieces of ${size}`);
  }
});

test("blocks that are final stay the same objects, and a paragraph without an end is cut", () => {
  const source = new Source();
  source.append("One.\n\nTwo.\n\nThree words of ");
  const [first] = source.blocks;
  source.append("it");
  assert.equal(source.blocks[0], first);
  assert.deepEqual(source.blocks.map(({ text, open }) => [text.trim(), open === true]), [["One.", false], ["Two.", false], ["Three words of it", true]]);
  const long = new Source(), line = "word ".repeat(20) + "\n";
  for (let at = 0; at < 500; at++) {
    long.append(line);
    void long.blocks;
  }
  assert.ok(long.blocks.every(({ text }) => text.length < 2_500), "pieces are small");
  assert.ok(long.blocks.slice(1).every(({ joined }) => joined), "and continue each other");
  assert.equal(long.blocks.map(({ text }) => text).join(""), line.repeat(500));
});

test("a long list is cut between its items, numbered ones go on, and what is inside an item stays in it", () => {
  const items = Array.from({ length: 200 }, (_, at) => `${at + 1}. item ${at} ${"word ".repeat(10)}\n   - inner\n`).join("");
  const source = new Source();
  for (let at = 0; at < items.length; at += 7) {
    source.append(items.slice(at, at + 7));
    void source.blocks;
  }
  source.set(items);
  const streamed = source.blocks.map(({ text }) => text);
  assert.deepEqual(streamed, cut(items, true).blocks.map(({ text }) => text));
  assert.equal(streamed.join(""), items);
  assert.ok(streamed.length > 5 && streamed.every((text) => text.length < 2_200 && /^\d+\. /.test(text)), "pieces are small, and begin with an item");
  assert.match(render(streamed[1]!), new RegExp(`^<ol start="${/^\d+/.exec(streamed[1]!)![0]}">`));
});

test("a fence names its file beside its language, after a colon, or in a comment above the code", () => {
  const path = (fence: string, first = "const a = 1;"): string | undefined => cut(`\`\`\`${fence}\n${first}\nb();\n\`\`\`\n`, true).blocks[0]!.path;
  assert.deepEqual([path("ts src/a.ts"), path("ts:src/a.ts"), path('ts title="a.ts"'), path("ts", "// src/a.ts")], ["src/a.ts", "src/a.ts", "a.ts", "src/a.ts"]);
  assert.deepEqual([path("ts"), path("ts", "// see src/a.ts for more")], [undefined, undefined]);
});

test("marks that are still open do not flash as characters", () => {
  assert.equal(mend("a **bold"), "a **bold**");
  assert.equal(mend("a **bold*"), "a **bold**");
  assert.equal(mend("a **"), "a ");
  assert.equal(mend("run `npm"), "run `npm`");
  assert.equal(mend("see [the page](https://exa"), "see the page");
  assert.equal(mend("a **b** `c` d"), "a **b** `c` d");
});

test("HTML is text, scripts and commands are no links, pictures load nothing", () => {
  assert.doesNotMatch(render("<img src=x onerror=alert(1)><script>1</script>"), /<(img|script)/);
  for (const url of ["javascript:alert(1)", "command:workbench.action.quit", "vscode://x/y", "data:text/html,x"]) {
    assert.doesNotMatch(render(`[a](${url})`), /<a [^>]*href="(?!#)/, url);
    assert.doesNotMatch(render(`[a](${url})`), /data-path/, url);
  }
  assert.doesNotMatch(render("![a](https://x.org/a.png)"), /<img/);
  assert.match(render("[MDN](https://mdn.dev/a?b=1&c=2)"), /<a href="https:\/\/mdn.dev\/a\?b=1&amp;c=2"/);
  assert.match(render("<https://x.org> and https://y.org"), /href="https:\/\/x.org".*href="https:\/\/y.org"/s);
});

test("places in answers are links to files, words are not", () => {
  assert.match(render("See src/cart.ts:9 and `lib/a.rs:3:5`, `README.md`."),
    /data-path="src\/cart.ts"[^>]*data-line="9".*data-path="lib\/a.rs"[^>]*data-line="3" data-column="5".*data-path="README.md"/s);
  assert.match(render("[the cart](src/my%20cart.ts#L12)"), /data-path="src\/my cart.ts"[^>]*data-line="12"/);
  assert.doesNotMatch(render("e.g. version 1.2:3 at 10:30, http://a.org/b.ts:3 and main.rs"), /data-path/);
  assert.deepEqual(place("a/b.ts#L4-L9"), { path: "a/b.ts", line: 4 });
  assert.equal(place("npm test"), undefined);
});

test("tables, tasks and nested code are rendered", () => {
  const html = render("- [x] one\n- [ ] two\n\n| a |\n|--|\n| **1** |\n\n- x\n  ```ts\n  let a;\n  ```");
  assert.match(html, /class="task".*aria-label="done".*aria-label="not done"/s);
  assert.match(render("| a |\n|--:|\n| 1 |"), /<td class="right">/);
  assert.match(html, /<table>.*<strong>1<\/strong>.*hljs-keyword">let/s);
});

test("code is coloured in known languages, and only escaped in others and in wide lines", () => {
  assert.match(colour("const a = 1;", "ts"), /hljs-keyword/);
  assert.equal(colour("<a>", "klingon"), "&lt;a&gt;");
  assert.equal(colour("<" + "x".repeat(3_000), "ts").includes("<"), false);
  assert.deepEqual([ofFile("src/a.rs"), ofFile("Dockerfile"), ofFile("a.unknown")], ["rust", "dockerfile", undefined]);
});

test("a diff has no headers of its only file, and keeps those of several", () => {
  const one = "--- a/x.ts\n+++ b/x.ts\n@@ -1,2 +1,2 @@\n-a\n+++b\n same";
  assert.deepEqual(rows(one).map(({ kind, text }) => `${kind} ${text}`), ["place line 1", "removed -a", "added +++b", "same  same"]);
  assert.equal(rows(one)[1]!.file, "x.ts");
  assert.deepEqual(rows(`${one}\n--- a/y.py\n+++ b/y.py\n@@ -1 +1 @@\n-a`).filter(({ kind }) => kind === "place").map(({ text }) => text), ["x.ts", "line 1", "y.py", "line 1"]);
});

test("the text after a diff is exact, or is not given", () => {
  const diff = "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n@@ -5,1 +5,2 @@\n five\n+six\n";
  assert.equal(patched("one\ntwo\nthree\nfour\nfive\n", diff), "one\nTWO\nthree\nfour\nfive\nsix\n");
  assert.equal(patched("one\nother\nthree\nfour\nfive\n", diff), undefined);
  assert.equal(patched("", "--- /dev/null\n+++ b/x\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n"), "a\nb");
  assert.equal(patched("a\r\nb\r\n", "@@ -1,2 +1,1 @@\n-a\r\n b\r\n"), "b\r\n");
});

const storeAfter = (...messages: ToView[]): Store => {
  let time = 0;
  const store = new Store(() => (time += 1_000));
  for (const message of messages) store.take(message);
  return store;
};
const kinds = (store: Store): string[] => store.items.map(({ body }) => body.kind);

test("a retry replaces the previous one and half an answer, and goes when the answer comes", () => {
  const delta: ToView = { kind: "note", id: "x", style: "text", text: "Half", more: true };
  const retry: ToView = { kind: "retry", text: "Rate limit.", until: 9 };
  const store = storeAfter({ kind: "turn", id: "t", text: "go", chips: [] }, delta, retry, { ...retry, until: 12 });
  assert.deepEqual(kinds(store), ["turn", "retry"]);
  store.take({ ...delta, id: "y" });
  assert.deepEqual(kinds(store), ["turn", "text"]);
  store.take({ kind: "ended" });
  store.take(retry);
  assert.deepEqual(kinds(store), ["turn", "text", "retry"], "a finished text stays");
});

test("a thought has the time that it took, and none where it was not seen", () => {
  const thought = { kind: "note", id: "x", style: "thought", text: "Hm" } as const;
  const [live] = storeAfter({ ...thought, more: true }, thought).items, [old] = storeAfter(thought).items;
  assert.deepEqual([live!.body.kind === "thought" && live!.body.ms, old!.body.kind === "thought" && old!.body.ms], [1_000, undefined]);
});

test("the output of a running command grows in its row and stays when it is cancelled", () => {
  const tool = { kind: "tool", id: "x", status: "running", title: "Run make", body: "", diff: false } as const;
  const store = storeAfter(tool, { kind: "output", id: "x", text: "one\n" }, { kind: "output", id: "x", text: "two\n" }, { ...tool, status: "cancelled" });
  const { body } = store.items[0]!;
  assert.equal(body.kind === "tool" && body.live, "one\ntwo\n");
});

test("the plan is shown apart from the conversation, and cards only once", () => {
  const card = { id: "c", title: "Run?", about: "", body: "", buttons: [] };
  const store = storeAfter({ kind: "plan", todos: [{ text: "Read", status: "completed" }] }, { kind: "ask", card }, { kind: "ask", card });
  assert.deepEqual([store.plan.length, store.items.length, store.cards.length], [1, 0, 1]);
  store.take({ kind: "clear" });
  assert.deepEqual([store.plan.length, store.cards.length], [0, 1]);
});

test("the arrow keys bring back prompts, and what was being written after them", () => {
  const recall = new Recall(["one", "two"]);
  assert.equal(recall.step(-1, "", 0), "two");
  assert.equal(recall.step(-1, "two", 3), "one");
  assert.equal(recall.step(-1, "one", 3), undefined);
  assert.equal(recall.step(1, "one", 3), "two");
  assert.equal(recall.step(1, "two", 3), "");
  assert.equal(recall.step(-1, "I write", 7), undefined, "the key moves in a text");
  assert.equal(recall.step(-1, "I write", 0), "two");
  assert.equal(recall.step(1, "two", 0), "I write");
  recall.add("three");
  recall.add("three");
  assert.deepEqual(recall.prompts, ["one", "two", "three"]);
});

test("what is typed is completed after an @, and a slash only at the start", () => {
  assert.deepEqual(wanted("look at @src/l", 14), { kind: "@", word: "src/l", start: 8 });
  assert.deepEqual(wanted("/rev", 4), { kind: "/", word: "rev", start: 0 });
  for (const text of ["a@b.org", "and /rev", "plain", ""]) assert.equal(wanted(text, text.length), undefined, text);
});

test("a prompt that begins with a skill's or a server's name is one", () => {
  const commands = [{ label: "review", kind: "skill" }, { label: "time:zones", kind: "mcpPrompt", server: "time", name: "zones" }];
  assert.deepEqual(named("/review the parser", commands), { type: "skill", name: "review", arguments: "the parser" });
  assert.deepEqual(named("/time:zones country=\"New Zealand\" city=x", commands), { type: "mcpPrompt", server: "time", name: "zones", arguments: { country: "New Zealand", city: "x" } });
  assert.equal(named("/etc/hosts is wrong", commands), undefined);
});

test("pickers mark what is current, and models come by provider", () => {
  const found = rowsOf("model", ["a/one", "b/two", "b/three", "replay/@demo"], "b/two").map(({ label, kind }) => `${kind ?? ""}${label}`);
  assert.deepEqual(found, ["-1b", "$(check) two", "three", "-1a", "one"]);
  const keyless = [{ name: "a/one", provider: "a", ready: false }];
  const ready = rowsOf("model", ["a/one", "b/two"], "b/two", keyless).filter(({ kind }) => kind === undefined);
  assert.deepEqual(ready.map(({ label, command }) => command ?? label), ["$(check) two", "interline.setKey"]);
  assert.match(rowsOf("mode", ["agent", "plan"], "plan")[1]!.label, /check/);
});

test("times are said as people say them", () => {
  const now = new Date(2026, 10, 22, 18, 0);
  assert.match(ago(new Date(2026, 10, 22, 11, 29).toISOString(), now), /^today .*29/);
  assert.match(ago(new Date(2026, 10, 21, 23, 59).toISOString(), now), /^yesterday /);
  assert.match(ago(new Date(2026, 9, 1).toISOString(), now), /2026/);
});

test("tokens, cost and trust are said in words, and only where they are known", () => {
  const state = { model: "a/b/c", mode: "agent", title: "", queue: [], tabs: [], agents: false };
  assert.deepEqual(facts({ ...state, context: { used: 41230, window: 200_000 }, tokens: 387870, cost: 0.0188, trusted: false }), [
    "Context: 41,230 of 200,000 tokens (21%)", "Session: 387,870 tokens", "Cost: $0.0188", "Folder: not trusted; every edit asks",
  ]);
  assert.deepEqual([facts(state), model(state)], [[], "b/c"]);
});

test("an answer to what was typed before does not replace the answer to what is typed now", () => {
  const store = storeAfter({ kind: "offers", n: 2, start: 0, offers: [] }, { kind: "offers", n: 1, start: 0, offers: [] });
  assert.equal(store.completed?.n, 2);
});
