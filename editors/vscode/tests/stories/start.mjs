// Earlier sessions, the first steps, notifications, and what screen readers and keys need.
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { picture, pictures } from "../harness/pictures.mjs";
import { holds, same, story, until } from "../harness/runner.mjs";

const say = (world, words, answer) => world.model.on(words, async function* () {
  yield { say: answer };
});

/** Whether a file of the server's state has these words. */
const written = (world, words) => fs.readdirSync(path.join(world.work, "state"), { recursive: true, withFileTypes: true })
  .some((entry) => entry.isFile() && fs.readFileSync(path.join(entry.parentPath, entry.name)).includes(words));

story("an earlier session is found, opened, renamed and forked; its prompt is edited and sent again", async (world) => {
  say(world, "tell me of apples", "Apples are red.");
  say(world, "tell me of pears", "Pears are green.");
  const window = await world.window(world.project({ "a.txt": "one\n" }));
  await window.open("a.txt");
  await window.ask("tell me of apples");
  await window.said("Apples are red.");
  await window.command("interline.newSession");
  await window.ask("tell me of pears");
  const chat = await window.said("Pears are green.");
  const list = window.page.locator(".quick-input-list .monaco-list-row");
  await window.palette("Interline: History");
  await list.filter({ hasText: "pears" }).waitFor();
  await picture(window, "history");
  await window.page.keyboard.type("apples");
  await until("only one", async () => await list.count() === 1);
  await window.page.keyboard.press("Enter");
  await window.said("Apples are red.");
  same(false, (await chat.innerText("body")).includes("Pears"));
  await window.page.locator(".part.sidebar .title:has-text('tell me of apples')").first().waitFor();
  await chat.hover(".turn");
  await chat.click(".turn button[aria-label^='Edit and send again']");
  await until("the prompt in the field", async () => await chat.inputValue("#text") === "tell me of apples");
  same(0, await chat.locator(".turn").count());
  await chat.fill("#text", "tell me of pears");
  await chat.press("#text", "Enter");
  await window.said("Pears are green.");
});

story("a session is renamed, exported and deleted", async (world) => {
  say(world, "a session to delete", "Soon gone.");
  const window = await world.window(world.project({ "a.txt": "one\n" }));
  await window.open("a.txt");
  await window.ask("a session to delete");
  await window.said("Soon gone.");
  await until("the session's file", () => written(world, "Soon gone."));
  await window.palette("Interline: Rename Session");
  await window.box("Title of the session").fill("Short lived");
  await window.page.keyboard.press("Enter");
  await window.palette("Interline: Export Session");
  await until("the export", () => window.eval("return vscode.window.activeTextEditor?.document.getText().includes('Soon gone.')"));
  await window.palette("Interline: History");
  const row = window.page.locator(".quick-input-list .monaco-list-row", { hasText: "Short lived" });
  await row.waitFor();
  await window.page.keyboard.press("Escape");
  await window.palette("Interline: Delete Session");
  await window.page.locator(".notification-toast a:text-is('Delete')").click();
  const chat = await window.chat();
  await until("an empty view", async () => await chat.locator(".turn").count() === 0);
  await until("no file of it", () => !written(world, "Soon gone."));
});

story("without a server the view says why, and a path set from there starts it", async (world) => {
  say(world, "hello server", "Here I am.");
  world.settings({ "interline.server.path": "/nowhere/interline" });
  const window = await world.window(world.project({ "a.txt": "one\n" }));
  await window.command("interline.chat.focus");
  const chat = await window.said("Interline's server is not running");
  holds("/nowhere/interline", await chat.innerText(".start"));
  await pictures(window, "missing");
  await chat.click("#setPath");
  await window.box("Path of the program").fill(world.interline);
  await window.page.keyboard.press("Enter");
  await chat.locator(".example").first().waitFor();
  await chat.fill("#text", "hello server");
  await chat.press("#text", "Enter");
  await window.said("Here I am.");
  await window.configure("interline.server.path", world.interline);
  world.settings({});
});

story("without a key the view asks for one, and then offers prompts about the open file", async (world) => {
  world.settings({ "interline.server.env": { ANTHROPIC_BASE_URL: world.model.url } });
  say(world, "Explain a.txt", "It says one.");
  let tests = 0;
  world.model.on("Say OK.", async function* () {
    yield ++tests === 1 ? { refuses: true } : { say: "OK" };
  });
  const window = await world.window(world.project({ "a.txt": "one\n" }));
  await window.open("a.txt");
  await window.command("interline.chat.focus");
  const chat = await window.chat();
  await chat.locator("#key").waitFor();
  await pictures(window, "no-key");
  await chat.fill("#key input", "sk-test");
  await chat.click("#key button");
  await chat.locator(".start [role=alert]:has-text('401')").waitFor();
  await pictures(window, "key-test");
  await chat.fill("#key input", "sk-right");
  await chat.click("#key button");
  await chat.locator(".example").first().waitFor();
  await pictures(window, "empty");
  await chat.click(".start button:text-is('Open the walkthrough')");
  await window.page.locator(".gettingStartedContainer:has-text('Start with Interline')").waitFor();
  await picture(window, "walkthrough");
  await window.open("a.txt");
  await chat.click(".example:text-is('Explain a.txt')");
  await window.said("It says one.");
  // Later stories begin without it.
  await window.palette("Interline: Set API Key");
  await window.page.locator(".quick-input-list .monaco-list-row:has-text('anthropic')").first().click();
  await window.page.locator(".quick-input-widget input[type=password]").first().press("Enter");
  await window.page.locator(".notification-toast:has-text('is removed')").first().waitFor();
  world.settings({});
});

story("a window in the background is notified when something asks and when the turn ends", async (world) => {
  world.model.on("call me back", async function* () {
    yield { calls: [["exec", { command: "echo ready" }]] };
    yield { say: "Finished." };
  });
  const window = await world.shared({ "notify.txt": "one\n" });
  await window.command("interline.chat.focus");
  const chat = await window.chat();
  await chat.fill("#text", "call me back");
  await window.page.evaluate(() => {
    document.hasFocus = () => false;
    document.dispatchEvent(new Event("visibilitychange"));
  });
  await until("a window without focus", () => window.eval("return !vscode.window.state.focused"));
  await chat.evaluate(() => document.getElementById("form").requestSubmit());
  await window.page.locator(".notification-toast:has-text('echo ready')").first().waitFor();
  await until("the badge", () => window.page.locator(".activitybar .badge-content").allInnerTexts().then((all) => all.includes("1")));
  await chat.click("#cards:not([aria-disabled]) .card button:text-is('Allow')");
  await window.page.locator(".notification-toast:has-text('the turn has ended')").first().waitFor();
  await window.page.evaluate(() => {
    delete document.hasFocus;
    document.dispatchEvent(new Event("visibilitychange"));
  });
});

story("axe finds nothing serious, and the conversation is walked by keys", async (world) => {
  world.model.on("show everything", async function* () {
    yield { calls: [["write_todos", { todos: [{ text: "Read", status: "in_progress" }] }], ["read", { path: "axe.ts" }]] };
    yield { say: "## Title\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```ts\nconst a = 1;\n```\n\nSee `axe.ts:1`.", calls: [["exec", { command: "echo ask" }]] };
    yield { say: "Over." };
  });
  const window = await world.shared({ "axe.ts": "const a = 1;\n" });
  await window.ask("show everything");
  const chat = await window.chat();
  await chat.locator("#cards:not([aria-disabled]) .card").waitFor();
  const axe = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
  for (const theme of [undefined, "Default Dark Modern", "Default High Contrast"]) {
    await window.configure("workbench.colorTheme", theme);
    // The view gets its colours later than the window.
    await chat.locator(`body.vscode-${theme === undefined ? "light" : theme.includes("High") ? "high-contrast" : "dark"}`).waitFor();
    await chat.evaluate(axe);
    // The frame is transparent: axe does not see the side bar behind it.
    await chat.evaluate(() => (document.body.style.background = "var(--vscode-sideBar-background)"));
    const found = await chat.evaluate(() => globalThis.axe.run("#root", { resultTypes: ["violations"] }));
    const serious = found.violations.filter(({ impact }) => impact === "serious" || impact === "critical");
    same([], serious.map(({ id, nodes }) => `${theme ?? "light"} ${id}: ${nodes.map(({ html, any }) => `${html.slice(0, 120)} ${any[0]?.message ?? ""}`).join(" · ")}`));
  }
  await window.picture("high-contrast");
  await window.configure("workbench.colorTheme", undefined);
  await chat.focus("#log");
  await window.page.keyboard.press("ArrowUp");
  await until("an item in focus", () => chat.evaluate(() => document.activeElement.closest(".item") !== null));
  await window.page.keyboard.press("Escape");
  await until("the field in focus", () => chat.evaluate(() => document.activeElement.id === "text"));
  await chat.focus(".card");
  await window.page.keyboard.press("n");
  await chat.press(".card .reason textarea", "Enter");
  await window.said("Over.");
});
