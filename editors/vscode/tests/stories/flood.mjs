// Figures, printed and judged by who reads them: a flood of deltas while a person types, and the
// time that `activate` takes.
import fs from "node:fs";
import path from "node:path";
import { pictures } from "../harness/pictures.mjs";
import { same, story, until } from "../harness/runner.mjs";

const DELTAS = 20_000, MESSAGES = 2_000;

/** Gives the view a long conversation, as the extension does with an earlier session. */
const fill = (chat) => chat.evaluate((count) => {
  const messages = Array.from({ length: count }, (_, at) => [
    { kind: "turn", id: `t${at}`, text: `Prompt ${at}.`, chips: [] },
    { kind: "tool", id: `c${at}`, status: "completed", title: `Read src/file${at}.ts`, body: "text", diff: false },
    { kind: "note", style: "text", id: `n${at}`, text: `## Answer ${at}\n\nIt is **${at}**.\n\n\`\`\`ts\nconst a = ${at};\n\`\`\`\n` },
    { kind: "note", style: "note", text: `Note ${at}.` },
  ][at % 4]);
  window.postMessage(messages, window.origin);
}, MESSAGES);

/** Notes tasks over 50 ms: those of the frame itself, and those of others that share its thread. */
const observe = () => {
  globalThis.longTasks = [];
  new PerformanceObserver((list) => {
    for (const { name, duration } of list.getEntries()) globalThis.longTasks.push([name, Math.round(duration)]);
  }).observe({ type: "longtask" });
};

/** Proves that a task that blocks would be seen. */
async function proven(place) {
  await place.evaluate(observe);
  await place.evaluate(() => setTimeout(() => {
    for (const end = performance.now() + 80; performance.now() < end;);
  }));
  await until("a seen task", () => place.evaluate(() => globalThis.longTasks.some(([name]) => name === "self")));
}

/** The longest task of the window's main thread in ms of the processor, as wall time counts what other programs take. */
function longestTask({ traceEvents }) {
  const names = traceEvents.filter(({ name, args }) => name === "thread_name" && args.name === "CrRendererMain");
  const main = new Set(names.map(({ pid, tid }) => `${pid} ${tid}`));
  const tasks = traceEvents.filter(({ name, pid, tid, tdur }) => name.endsWith("RunTask") && tdur && main.has(`${pid} ${tid}`));
  return (Math.max(0, ...tasks.map(({ tdur }) => tdur)) / 1000).toFixed(1);
}

story("of 2,000 messages only those near are drawn, and each is there where it is scrolled to", async (world) => {
  const window = await world.shared({ "long.txt": "one\n" });
  await window.command("interline.chat.focus");
  const chat = await window.chat(), log = (code) => chat.evaluate(`{ const log = document.getElementById("log"); ${code} }`);
  await fill(chat);
  await window.said("Note 1999.");
  const drawn = await chat.locator("#list .item").count();
  same(true, drawn > 20 && drawn < 200, `${drawn} items are drawn`);
  await pictures(window, "long");
  await log("log.scrollTop = 0");
  await chat.locator(".turn:has-text('Prompt 0.')").waitFor();
  await chat.locator("#end").waitFor();
  await until("few items", async () => await chat.locator("#list .item").count() < 200);
  await chat.click(".tool .toggle >> nth=0");
  await chat.locator(".tool pre").waitFor();
  await chat.focus("#text");
  for (let at = 0; at < 6; at++) await log("log.scrollTop += 3000; log.dispatchEvent(new Event('scroll'))");
  await until("another place", async () => await chat.locator(".turn:has-text('Prompt 0.')").count() === 0);
  await log("log.scrollTop = 0");
  await chat.locator(".tool pre").waitFor();
  await chat.click("#end");
  await chat.locator(".note:has-text('Note 1999.')").waitFor();
});

story("20,000 deltas stream through a view with 2,000 messages while keys go in, and all of them are there", async (world) => {
  let begin;
  const ready = new Promise((settle) => (begin = settle));
  world.model.on("flood me", async function* () {
    async function* deltas() {
      yield "It begins.\n";
      await ready;
      for (let at = 0; at < DELTAS; at++) yield at % 12 === 11 ? `w${at}\n` : `word${at} `;
    }
    yield { deltas: deltas() };
  });
  const window = await world.shared({ "flood.txt": "" }, { trusted: false });
  await window.command("interline.chat.focus");
  const chat = await window.chat();
  await fill(chat);
  await window.said("Note 1999.");
  await window.ask("flood me");
  await window.said("It begins.");
  await proven(chat);
  await proven(window.page);
  for (const place of [chat, window.page]) await place.evaluate(() => void (globalThis.longTasks.length = 0));
  await window.focusEditor();
  await world.browser.startTracing(window.page, { categories: ["toplevel", "disabled-by-default-devtools.timeline"] });
  begin();
  const began = Date.now();
  const whole = async () => (await chat.locator("#log .text").last().textContent()).includes(`word${DELTAS - 2} `);
  let keys = 0, slowest = 0, done = false;
  const watch = until("the last delta", whole, 180_000).finally(() => (done = true));
  // It is waited for below.
  watch.catch(() => undefined);
  while (!done || keys < 20) {
    const pressed = performance.now();
    await window.page.keyboard.press("x");
    slowest = Math.max(slowest, performance.now() - pressed);
    keys += 1;
    await window.page.waitForTimeout(80);
  }
  await watch;
  const took = Date.now() - began;
  const longest = longestTask(JSON.parse(await world.browser.stopTracing()));
  const [view, workbench] = await Promise.all([chat, window.page].map((place) => place.evaluate(
    () => globalThis.longTasks.flatMap(([name, duration]) => name === "self" ? [duration] : []))));
  console.log(`     ${DELTAS} deltas in ${took} ms; tasks over 50 ms of the view: ${JSON.stringify(view)}, of the workbench: ${JSON.stringify(workbench)}; the longest by the processor's time: ${longest} ms; ${keys} keys, the slowest took ${slowest.toFixed(0)} ms`);
  await until("all keys", async () => (await window.text("flood.txt")) === "x".repeat(keys));
  const shown = (await chat.locator("#log .text").last().textContent()).replaceAll("\n", "");
  const wanted = Array.from({ length: DELTAS }, (_, at) => (at % 12 === 11 ? `w${at}` : `word${at} `)).join("");
  // Markdown drops the blank after the last word.
  same(true, shown === `It begins.${wanted.trimEnd()}`, "the text of the view");
  await until("the end in view", () => chat.evaluate(() => {
    const log = document.getElementById("log");
    return log.scrollHeight - log.clientHeight - log.scrollTop < 40 && log.scrollHeight > log.clientHeight;
  }));
  await window.picture("flood");
});

story("activate returns at once", async (world) => {
  const folder = world.project({ "a.txt": "one\n" });
  const figures = [];
  let window = await world.window(folder);
  for (let at = 0; at < 3; at++) {
    if (at > 0) window = await window.reload();
    const lines = await until("the line of the log", () => {
      const logs = fs.readdirSync(path.join(world.work, "data/logs"), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.name === "Interline.log").map((entry) => fs.readFileSync(path.join(entry.parentPath, entry.name), "utf8"));
      const found = logs.flatMap((text) => [...text.matchAll(/activated in ([\d.]+) ms/g)].map(([, time]) => Number(time)));
      return found.length > figures.length && found;
    });
    figures.splice(0, figures.length, ...lines);
  }
  figures.sort((a, b) => a - b);
  console.log(`     activate: median ${figures[Math.floor(figures.length / 2)]} ms of ${figures.length} windows, the slowest ${figures.at(-1)} ms`);
});
