// Figures, printed and judged by who reads them: a flood of deltas while a person types, and the
// time that `activate` takes.
import fs from "node:fs";
import path from "node:path";
import { same, story, until } from "../harness/runner.mjs";

const DELTAS = 20_000;

const observe = () => {
  globalThis.longTasks = [];
  new PerformanceObserver((list) => globalThis.longTasks.push(...list.getEntries().map((entry) => Math.round(entry.duration))))
    .observe({ type: "longtask" });
};

story("20,000 deltas stream through the view while keys go in, and all of them are there", async (world) => {
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
  await window.ask("flood me");
  const chat = await window.said("It begins.");
  for (const place of [chat, window.page]) {
    await place.evaluate(observe);
    // Proves that a task that blocks would be seen.
    await place.evaluate(() => setTimeout(() => {
      for (const end = performance.now() + 80; performance.now() < end;);
    }));
    await until("a seen task", () => place.evaluate(() => globalThis.longTasks.length > 0));
    await until("quiet", () => place.evaluate(() => {
      globalThis.longTasks.length = 0;
      return true;
    }));
  }
  await window.focusEditor();
  begin();
  const began = Date.now();
  const whole = async () => (await chat.locator("#log .text").last().textContent()).includes(`word${DELTAS - 2} `);
  let keys = 0, slowest = 0, done = false;
  const watch = until("the last delta", whole, 60_000).then(() => (done = true));
  while (!done || keys < 20) {
    const pressed = performance.now();
    await window.page.keyboard.press("x");
    slowest = Math.max(slowest, performance.now() - pressed);
    keys += 1;
    await window.page.waitForTimeout(80);
  }
  await watch;
  const took = Date.now() - began;
  const [view, workbench] = [await chat.evaluate(() => globalThis.longTasks), await window.page.evaluate(() => globalThis.longTasks)];
  console.log(`     ${DELTAS} deltas in ${took} ms; tasks over 50 ms: in the view ${JSON.stringify(view)}, in the workbench ${JSON.stringify(workbench)}; ${keys} keys, the slowest took ${slowest.toFixed(0)} ms`);
  await until("all keys", async () => (await window.text("flood.txt")) === "x".repeat(keys));
  const shown = (await chat.locator("#log .text").last().textContent()).replaceAll("\n", "");
  const wanted = Array.from({ length: DELTAS }, (_, at) => (at % 12 === 11 ? `w${at}` : `word${at} `)).join("");
  same(true, shown === `It begins.${wanted}`, "the text of the view");
  await window.picture("flood");
});

story("activate returns at once", async (world) => {
  const folder = world.project({ "a.txt": "one\n" });
  const figures = [];
  let window = await world.window(folder);
  for (let at = 0; at < 3; at++) {
    if (at > 0) window = await window.reload();
    const log = await until("the line of the log", () => {
      const found = fs.readdirSync(path.join(world.work, "data/logs"), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.name === "Interline.log").map((entry) => fs.readFileSync(path.join(entry.parentPath, entry.name), "utf8"));
      const times = found.flatMap((text) => [...text.matchAll(/activated in ([\d.]+) ms, loaded in ([\d.]+) ms/g)]);
      return times.length > figures.length + (world.activations ?? 0) && times;
    });
    world.activations ??= log.length - 1;
    figures.push(log.map(([, activated, loaded]) => [Number(activated), Number(loaded)]));
  }
  const all = figures.at(-1);
  const median = (at) => all.map((row) => row[at]).sort((a, b) => a - b)[Math.floor(all.length / 2)];
  console.log(`     activate: median ${median(0)} ms of ${all.length} windows, loading ${median(1)} ms; the slowest ${Math.max(...all.map(([own]) => own))} ms`);
});
