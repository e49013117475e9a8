// What is asked for: commands, edits in folders that are not trusted, questions.
import fs from "node:fs";
import path from "node:path";
import { pictures } from "../harness/pictures.mjs";
import { holds, same, story, until } from "../harness/runner.mjs";

story("a command runs only when it is allowed, and unsaved text is saved first", async (world) => {
  const seen = [];
  world.model.on("run it", async function* () {
    const [first] = yield { calls: [["exec", { command: "cat run.txt" }]] };
    seen.push(first);
    const [second] = yield { calls: [["exec", { command: "cat run.txt" }]] };
    seen.push(second);
    yield { say: "Ran." };
  });
  const window = await world.shared({ "run.txt": "one\n" });
  await window.page.keyboard.press("End");
  await window.page.keyboard.type(" typed");
  await window.ask("run it");
  const chat = await window.said("Saves first");
  holds("cat run.txt", await chat.innerText(".card pre"));
  await pictures(window, "approval-command");
  same("one\n", window.disk("run.txt"), "before an answer");
  await window.reject();
  await until("the second card", async () => seen.length === 1 && await chat.locator(".card").count() === 1);
  same([true, "one\n"], [seen[0].error, window.disk("run.txt")], "after a rejection");
  await chat.locator("#cards:not([aria-disabled]) .card").waitFor();
  // What has only just come takes no consent: a person who was too quick says it again.
  await until("the command is allowed", async () => {
    await window.palette("Interline: Approve");
    return await window.said("Ran.", 3_000).then(() => true, () => false);
  });
  same([false, "one typed\n"], [seen[1].error, window.disk("run.txt")]);
  holds("one typed", seen[1].text);
  same(false, await window.dirty("run.txt"));
  same(0, await chat.locator(".card").count());
});

story("a folder that is not trusted asks before an edit, and shows its diff", async (world) => {
  const seen = [];
  world.model.on("untrusted edit", async function* () {
    yield { calls: [["read", { path: "guard.txt" }]] };
    for (const word of ["ONE", "uno"]) {
      const [result] = yield { calls: [["edit", { path: "guard.txt", old_string: "one", new_string: word }]] };
      seen.push(result.error);
    }
    yield { say: "Over." };
  });
  const window = await world.shared({ "guard.txt": "one\n" }, { trusted: false });
  await window.ask("untrusted edit");
  const chat = await window.said("+ONE");
  holds("-one", await chat.innerText(".card pre"));
  await pictures(window, "approval-edit");
  await window.reject();
  await window.said("+uno");
  same("one\n", await window.text("guard.txt"));
  await chat.click(".card button:text-is('Allow')");
  await window.said("Over.");
  same([[true, false], "uno\n"], [seen, await window.text("guard.txt")]);
});

story("a card never takes the keys: typing continues in the editor, and answers nothing", async (world) => {
  world.model.on("ask while I type", async function* () {
    yield { calls: [["exec", { command: "echo hello" }]] };
    yield { say: "After it." };
  });
  const window = await world.shared({ "keys.txt": "" }, { trusted: false });
  await window.command("workbench.view.explorer");
  await window.focusEditor();
  await window.eval("vscode.commands.executeCommand('interline.ask', { text: 'ask while I type' })");
  for (let at = 0; at < 40; at++) await window.page.keyboard.press(at % 8 === 7 ? "Enter" : "x", { delay: 30 });
  const chat = await window.said("echo hello");
  await window.page.keyboard.type("\n\n");
  same(1, await chat.locator(".card").count());
  await until("the keys", async () => (await window.text("keys.txt")) === "xxxxxxx\n".repeat(5) + "\n\n");
  await window.palette("Interline: Reject");
  await window.said("After it.");
});

story("a question is answered by an option or in own words", async (world) => {
  const seen = [];
  world.model.on("ask me", async function* () {
    for (const options of [["tabs", "spaces"], undefined]) {
      const [result] = yield { calls: [["ask_user", { question: "Tabs or spaces?", ...(options ? { options } : {}) }]] };
      seen.push(result.text);
    }
    yield { say: "Thanks." };
  });
  const window = await world.shared({ "question.txt": "one\n" }, { trusted: false });
  await window.ask("ask me");
  const chat = await window.said("Tabs or spaces?");
  await chat.click(".card button:text-is('spaces')");
  await until("the second question", async () => seen.length === 1 && await chat.locator(".card button").count() === 2);
  await chat.fill(".card textarea", "neither");
  await pictures(window, "question");
  await chat.click(".card button:text-is('Answer')");
  await window.said("Thanks.");
  holds("spaces", seen[0]);
  holds("neither", seen[1]);
});

story("a card that slides under the pointer takes no click until it has lain still", async (world) => {
  const seen = [];
  world.model.on("one after the other", async function* () {
    for (const name of ["one", "two"]) {
      const [result] = yield { calls: [["exec", { command: `echo ${name}` }]] };
      seen.push([name, result.error]);
    }
    yield { say: "Both." };
  });
  const window = await world.shared({ "clicks.txt": "one\n" }, { trusted: false });
  await window.ask("one after the other");
  const chat = await window.said("echo one");
  // The second click of a double click, at the moment in which the next card is there.
  await chat.evaluate(() => new MutationObserver((_, observer) => {
    const card = [...document.querySelectorAll(".card")].find((each) => each.textContent.includes("echo two"));
    if (!card) return;
    observer.disconnect();
    globalThis.early = card.parentElement.getAttribute("aria-disabled");
    [...card.querySelectorAll("button")].find((each) => each.textContent === "Allow").click();
  }).observe(document.getElementById("cards"), { childList: true }));
  await chat.click(".card button:text-is('Allow')");
  await until("the second card at rest", () => chat.locator("#cards:not([aria-disabled]) .card", { hasText: "echo two" }).count());
  same(["true", [["one", false]]], [await chat.evaluate(() => globalThis.early), seen]);
  await window.reject();
  await window.said("Both.");
  same([["one", false], ["two", true]], seen);
});

story("what is asked behind a hidden view is not allowed before it is shown", async (world) => {
  const seen = [];
  let hide;
  const hidden = new Promise((settle) => (hide = settle));
  world.model.on("ask behind it", async function* () {
    await hidden;
    const [result] = yield { calls: [["exec", { command: "echo '[unread](command:workbench.action.quit)'" }]] };
    seen.push(result.error);
    yield { say: "After all." };
  });
  const window = await world.shared({ "hidden.txt": "one\n" }, { trusted: false });
  await window.command("interline.chat.focus");
  const chat = await window.chat();
  await chat.fill("#text", "ask behind it");
  await chat.press("#text", "Enter");
  await window.said("ask behind it");
  await window.command("workbench.view.explorer");
  await window.page.locator(".explorer-folders-view").first().waitFor();
  hide();
  const toast = window.page.locator(".notification-toast:has-text('[unread]')").first();
  await toast.waitFor();
  same(0, await toast.locator(".notification-list-item-message a").count(), "links in the message");
  await window.picture("hidden-approval");
  await window.command("interline.approve");
  await window.said("[unread]");
  same([], seen);
  await until("an answer once it is shown", async () => {
    await window.command("interline.approve");
    return seen.length > 0;
  });
  await window.said("After all.");
  same([false], seen);
});

story("a rejection's words reach the model, and a key allows what the card shows", async (world) => {
  const seen = [];
  world.model.on("reject with words", async function* () {
    for (const name of ["one", "two"]) {
      const [result] = yield { calls: [["exec", { command: `echo ${name}` }]] };
      seen.push(result);
    }
    yield { say: "Understood." };
  });
  const window = await world.shared({ "words.txt": "one\n" });
  await window.ask("reject with words");
  const chat = await window.said("echo one");
  same(1, (await chat.innerText("body")).split("echo one").length - 1, "the command, once");
  await window.reject("Use printf instead.");
  await chat.locator("#cards:not([aria-disabled]) .card", { hasText: "echo two" }).waitFor();
  await chat.focus(".card");
  await window.page.keyboard.press("y");
  await window.said("Understood.");
  holds("Use printf instead.", seen[0].text);
  same([true, false], seen.map(({ error }) => error));
});

story("an edit's differences open in the editor, and trusting the folder allows it and the next", async (world) => {
  world.model.on("two edits", async function* () {
    yield { calls: [["read", { path: "trust.txt" }]] };
    yield { calls: [["edit", { path: "trust.txt", old_string: "one", new_string: "uno" }]] };
    yield { say: "First." };
  });
  world.model.on("one more edit", async function* () {
    yield { calls: [["edit", { path: "trust.txt", old_string: "two", new_string: "due" }]] };
    yield { say: "Second." };
  });
  const window = await world.shared({ "trust.txt": "one\ntwo\n" }, { trusted: false });
  await window.ask("two edits");
  const chat = await window.said("This folder is not trusted yet.");
  await chat.click(".card button:text-is('Open diff')");
  await window.page.locator(".tab:has-text('trust.txt (proposed)')").waitFor();
  const proposed = () => window.eval("return vscode.workspace.textDocuments.find((d) => d.uri.scheme === 'interline-proposed')?.getText()");
  await until("the proposed text", async () => await proposed() === "uno\ntwo\n");
  await window.picture("approval-diff");
  await chat.click("#cards:not([aria-disabled]) .card button:text-is('Trust this folder')");
  await window.said("First.");
  await window.ask("one more edit");
  await window.said("Second.");
  same("uno\ndue\n", await window.text("trust.txt"));
});

story("a rule that lasts is listed, and removed when it is chosen", async (world) => {
  const window = await world.shared({ "rules.txt": "one\n" });
  const file = path.join(world.work, "state/interline/rules.json");
  const rule = { id: 1, commands: ["cargo test"], folder: "/w", since: "2026-11-21T10:00:00Z" };
  fs.writeFileSync(file, JSON.stringify({ next: 2, rules: [rule] }), { mode: 0o600 });
  await window.palette("Interline: Show Rules");
  const row = window.page.locator(".quick-input-list .monaco-list-row:has-text('cargo test …')");
  holds("/w", await row.innerText());
  await row.click();
  await until("its removal", () => JSON.parse(fs.readFileSync(file, "utf8")).rules.length === 0);
  const notice = window.page.locator(".notification-list-item-message");
  await notice.filter({ hasText: "removed the rule cargo test …" }).waitFor();
  await window.palette("Interline: Show Rules");
  await notice.filter({ hasText: "no rules are stored" }).waitFor();
});
