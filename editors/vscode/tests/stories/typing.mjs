// A person types by real key events while the agent edits the same unsaved buffer.
import { holds, same, story, until } from "../harness/runner.mjs";

const LINES = 40;
/** Small numbers at random, the same for the same seed. */
let state = Number(process.env.SEED ?? 20);
const next = (below) => (state = (state * 1103515245 + 12345) % 2 ** 31) % below;

const line = (n) => `line ${String(n).padStart(2, "0")} stays`;
const counts = (text) => ({ agent: text.match(/AGENT/g)?.length ?? 0, user: text.match(/[zyx\n]/g)?.length ?? 0 });

/** Types at the end of the line that begins with `start`, 8 to 15 keys a second. */
async function type(window, file, start, keys) {
  const text = await window.text(file);
  const row = text.split("\n").findIndex((each) => each.startsWith(start));
  await window.goto(row + 1);
  await window.page.keyboard.press("End");
  for (const key of keys) {
    await window.page.keyboard.press(key);
    window.keys = (window.keys ?? 0) + 1;
    await window.page.waitForTimeout(66 + next(59));
  }
}

story("typing above, below and between the agent's edits: the buffer is the oracle's, undo mixes no authors", async (world) => {
  const targets = [4, 9, 14, 19, 24, 29, 34, 39, 12, 21, 32, 7];
  const results = [];
  let stop = false, window;
  world.model.on("edit while I type", async function* () {
    yield { calls: [["read", { path: "typed.txt" }]] };
    for (const [at, target] of targets.entries()) {
      // Spread over the typing, at any moment between two keys.
      await until("the keys", () => window.keys > 5 * at + next(4), 60_000);
      const old = line(target);
      const [result] = yield { calls: [["edit", { path: "typed.txt", old_string: old, new_string: `${old} AGENT${target}` }]] };
      results.push({ target, ...result });
    }
    stop = true;
    yield { say: "All edited." };
  });
  const original = Array.from({ length: LINES }, (_, at) => `${line(at + 1)}\n`).join("");
  window = await world.shared({ "typed.txt": original });
  await window.command("interline.ask", { text: "edit while I type" });
  const typed = new Map();
  for (let at = 0; !stop || at < 6; at++) {
    const place = [2, 38, 11, 17, 26, 36, 6, 31][at % 8];
    const keys = Array.from({ length: 7 + next(6) }, () => ["z", "y", "x", "Enter"][next(7) > 5 ? 3 : next(3)]);
    await type(window, "typed.txt", line(place), keys);
    // The end of the line is behind what was typed there before, up to a line end.
    const [head, ...rest] = (typed.get(place) ?? "").split("\n");
    const tail = rest.length > 0 ? `\n${rest.join("\n")}` : "";
    typed.set(place, head + keys.map((key) => (key === "Enter" ? "\n" : key)).join("") + tail);
    if (at > 60) throw new Error(`the agent is not done: ${JSON.stringify(results)}`);
  }
  await window.said("All edited.");
  same([], results.filter((result) => result.error).map(({ target, text }) => `${target}: ${text}`));
  const oracle = Array.from({ length: LINES }, (_, at) => {
    const n = at + 1;
    return `${line(n)}${targets.includes(n) ? ` AGENT${n}` : ""}${typed.get(n) ?? ""}\n`;
  }).join("");
  await until(async () => `the oracle's text\n${oracle}\nnot\n${await window.text("typed.txt")}`, async () => (await window.text("typed.txt")) === oracle);
  await window.picture("typing");
  await walkBack(window, original, targets.length);
});

/** Undo, step by step: each step undoes one author's words alone. */
async function walkBack(window, original, edits) {
  await window.focusEditor();
  let text = await window.text("typed.txt");
  let agents = 0, users = 0;
  while (text !== original) {
    const before = counts(text);
    await window.page.keyboard.press("Control+z");
    const now = await until("an undo", async () => {
      const present = await window.text("typed.txt");
      return present !== text && present;
    });
    const after = counts(now);
    const authors = [before.agent !== after.agent, before.user !== after.user];
    if (authors[0] === authors[1]) throw new Error(`one step undid ${JSON.stringify([before, after])}:\n${text}\n→\n${now}`);
    if (authors[0]) same(before.agent - 1, after.agent, "one edit is one step");
    agents += authors[0];
    users += authors[1];
    text = now;
  }
  same(edits, agents, "steps of the agent");
  console.log(`     undo: ${agents} steps of the agent, ${users} of the user`);
}

story("an edit of text that the user changes is a conflict: nothing is lost, and the model learns of it", async (world) => {
  const seen = [];
  let typed;
  const typing = new Promise((settle) => (typed = settle));
  world.model.on("edit my line", async function* () {
    yield { calls: [["read", { path: "conflict.txt" }]] };
    await typing;
    const [result] = yield { calls: [["edit", { path: "conflict.txt", old_string: "two", new_string: "zwei" }]] };
    seen.push(result);
    yield { say: "I see." };
  });
  const window = await world.shared({ "conflict.txt": "one\ntwo\nthree\n" });
  await window.command("interline.ask", { text: "edit my line" });
  await (await window.chat()).locator(".tool[data-status='completed']:has-text('Read conflict.txt')").waitFor();
  await window.goto(2, 2);
  await window.focusEditor();
  await window.page.keyboard.type("YY");
  await until("the keys", async () => (await window.text("conflict.txt")) === "one\ntYYwo\nthree\n");
  typed();
  await window.said("I see.");
  same("one\ntYYwo\nthree\n", await window.text("conflict.txt"));
  same(true, seen[0].error);
  holds("tYYwo", seen[0].text);
});

story("closed files, CRLF, no final line end, new files: in tabs, not on disk, until a command needs them", async (world) => {
  const results = [];
  world.model.on("edit them all", async function* () {
    const files = ["sub/b.txt", "crlf.txt", "n.txt"];
    yield { calls: files.map((path) => ["read", { path }]) };
    results.push(...(yield { calls: files.map((path) => ["edit", { path, old_string: "two", new_string: "ZWEI\nDREI" }]) }));
    results.push(...(yield { calls: [["write", { path: "new/c.txt", content: "fresh\n" }]] }));
    results.push(...(yield { calls: [["exec", { command: "cat n.txt new/c.txt" }]] }));
    yield { say: "Written." };
  });
  const window = await world.shared({
    "beside.txt": "one\n", "sub/b.txt": "one\ntwo\n", "crlf.txt": "one\r\ntwo\r\nthree\r\n", "n.txt": "one\ntwo",
  });
  await window.command("interline.ask", { text: "edit them all" });
  const chat = await window.said("cat n.txt new/c.txt");
  same("one\nZWEI\nDREI\n", await window.text("sub/b.txt"));
  same("one\r\nZWEI\r\nDREI\r\nthree\r\n", await window.text("crlf.txt"));
  same("one\ntwo\n", window.disk("sub/b.txt"));
  await window.picture("closed-files");
  await chat.click(".card button:text-is('Allow')");
  await window.said("Written.");
  same([], results.filter((result) => result.error).map((result) => result.text));
  holds("ZWEI\nDREI", results.at(-1).text);
  holds("fresh", results.at(-1).text);
  same("one\nZWEI\nDREI", window.disk("n.txt"));
  same("fresh\n", window.disk("new/c.txt"));
});
