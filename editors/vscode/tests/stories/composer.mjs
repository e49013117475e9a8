// The field for prompts: context, commands, earlier prompts, pictures, the queue, pickers.
import fs from "node:fs";
import path from "node:path";
import { pictures } from "../harness/pictures.mjs";
import { holds, same, story, until } from "../harness/runner.mjs";

const content = ({ body }) => body.messages.at(-1).content;
const texts = (request) => content(request).map((block) => block.text ?? "").join("\n");

story("a file and the selection go with a prompt, chosen by keys from the list behind @", async (world) => {
  let asked;
  world.model.on("what are these", async function* (request) {
    asked = texts(request);
    yield { say: "Two files." };
  });
  const window = await world.shared({ "lib/alpha.ts": "export const alpha = 1;\n", "beta.ts": "one\ntwo\nthree\n" });
  await window.open("beta.ts");
  await window.eval("const e = vscode.window.activeTextEditor; e.selection = new vscode.Selection(1, 0, 1, 3)");
  await window.command("interline.chat.focus");
  const chat = await window.chat();
  await chat.click("#text");
  await window.page.keyboard.type("what are these @sel");
  await chat.locator("#offers [aria-selected='true']:has-text('beta.ts:2')").waitFor();
  await pictures(window, "context");
  await chat.focus("#text");
  await window.page.keyboard.press("Tab");
  await window.page.keyboard.type("@alph");
  await chat.locator("#offers [aria-selected='true']:has-text('lib/alpha.ts')").waitFor();
  await window.page.keyboard.press("Enter");
  await until("both chips", async () => `${await chat.locator("#form .chip:not(.ghost) .label").allInnerTexts()}` === "beta.ts:2,lib/alpha.ts");
  await window.page.keyboard.press("Enter");
  await window.said("Two files.");
  holds("two", asked);
  holds("export const alpha = 1;", asked);
  same(["beta.ts:2", "lib/alpha.ts"], await chat.locator(".prompt .chip").allInnerTexts());
});

story("problems of the editor go with a prompt", async (world) => {
  let asked;
  world.model.on("fix what it reports", async function* (request) {
    asked = texts(request);
    yield { say: "Seen." };
  });
  const window = await world.shared({ "wrong.txt": "one\n" });
  await window.eval(`globalThis.wrong = vscode.languages.createDiagnosticCollection("wrong");
    globalThis.wrong.set(vscode.window.activeTextEditor.document.uri, [new vscode.Diagnostic(new vscode.Range(0, 0, 0, 3), "one is not two", 0)])`);
  await window.command("interline.chat.focus");
  const chat = await window.chat();
  await chat.click("#text");
  await window.page.keyboard.type("fix what it reports @prob");
  await chat.locator("#offers [aria-selected='true']:has-text('problems')").click();
  await chat.click("#send");
  await window.said("Seen.");
  holds("wrong.txt:1:1: error: one is not two", asked);
  await window.eval("globalThis.wrong.dispose()");
});

story("what a terminal printed goes with a prompt", async (world) => {
  let asked;
  world.model.on("what did it print", async function* (request) {
    asked = texts(request);
    yield { say: "Seven." };
  });
  const window = await world.shared({ "terminal.txt": "one\n" });
  await window.eval("globalThis.shell = vscode.window.createTerminal('tests'); globalThis.shell.show()");
  await until("the shell's integration", () => window.eval("return Boolean(globalThis.shell.shellIntegration)"));
  const command = "until [ -e printed ]; do sleep 0.05; done; echo $((3 + 4)) sheep";
  await window.eval(`globalThis.ran = (async () => { for await (const _ of globalThis.shell.shellIntegration.executeCommand(${JSON.stringify(command)}).read()); })()`);
  await window.command("interline.chat.focus");
  const chat = await window.chat();
  const offer = chat.locator("#offers [aria-selected='true']:has-text('sheep')");
  await until("the command in the list", async () => {
    await chat.fill("#text", "what did it print @term");
    return offer.waitFor({ timeout: 1_000 }).then(() => true, () => false);
  });
  await offer.click();
  fs.writeFileSync(path.join(window.folder, "printed"), "");
  await window.eval("await globalThis.ran");
  await chat.click("#send");
  await window.said("Seven.");
  holds(`$ ${command}\n7 sheep`, asked);
  await window.eval("globalThis.shell.dispose()");
});

story("a skill is run by its name, and commands of the view are in the same list", async (world) => {
  let asked;
  world.model.on("the parser please", async function* (request) {
    asked = texts(request);
    yield { say: "Reviewed." };
  });
  const folder = path.join(world.home, ".agents/skills/review");
  fs.mkdirSync(folder, { recursive: true });
  fs.writeFileSync(path.join(folder, "SKILL.md"), "---\nname: review\ndescription: Reviews code.\n---\nLook for CAREFULLY-MARKED bugs.\n");
  const window = await world.shared({ "skill.txt": "one\n" });
  await window.command("interline.chat.focus");
  const chat = await window.chat();
  await chat.click("#text");
  await window.page.keyboard.type("/re");
  await until("both kinds", async () => (await chat.innerText("#offers")).includes("/review") && (await chat.innerText("#offers")).includes("/revert"));
  await window.page.keyboard.press("Tab");
  same("/review ", await chat.inputValue("#text"));
  await window.page.keyboard.type("the parser please");
  await window.page.keyboard.press("Enter");
  await window.said("Reviewed.");
  holds("CAREFULLY-MARKED", asked);
});

story("a picture is pasted, shown as a chip, and reaches the model", async (world) => {
  let asked;
  world.model.on("what is in the picture", async function* (request) {
    asked = content(request);
    yield { say: "A dot." };
  });
  const window = await world.shared({ "picture.txt": "one\n" });
  await window.command("interline.chat.focus");
  const chat = await window.chat();
  await chat.click("#text");
  const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  await chat.evaluate((data) => {
    const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0)), clipboardData = new DataTransfer();
    clipboardData.items.add(new File([bytes], "dot.png", { type: "image/png" }));
    document.getElementById("text").dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
  }, png);
  await chat.locator("#form .chip img").waitFor();
  await window.page.keyboard.type("what is in the picture");
  await window.page.keyboard.press("Enter");
  await window.said("A dot.");
  same(png, asked.find(({ type }) => type === "image")?.source.data);
});

story("dropped files, pictures of the button and symbols are attached", async (world) => {
  let asked;
  world.model.on("look at them", async function* (request) {
    asked = content(request);
    yield { say: "All there." };
  });
  const window = await world.shared({ "field.txt": "one\n", "dropped.txt": "what was DROPPED\n", "symbols.txt": "first\nSYMBOL here\n" });
  await window.eval(`globalThis.symbols = vscode.languages.registerWorkspaceSymbolProvider({ provideWorkspaceSymbols: () => [new vscode.SymbolInformation(
    "tellTale", 11, "", new vscode.Location(vscode.Uri.joinPath(vscode.workspace.workspaceFolders[0].uri, "symbols.txt"), new vscode.Range(1, 0, 1, 11)))] })`);
  await window.command("interline.chat.focus");
  const chat = await window.chat(), chip = (name) => chat.locator(`#form .chip:not(.ghost):has-text("${name}")`).waitFor();
  await chat.evaluate((uri) => {
    const dataTransfer = new DataTransfer();
    dataTransfer.setData("text/uri-list", uri);
    document.getElementById("form").dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
  }, `file://${window.folder}/dropped.txt`);
  await chip("dropped.txt");
  const buffer = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");
  await chat.setInputFiles("#form input[type=file]", { name: "dot.png", mimeType: "image/png", buffer });
  await chip("dot.png");
  await chat.click("#text");
  await window.page.keyboard.type("look at them @tellT");
  await chat.locator("#offers [role=option]:has-text('tellTale')").click();
  await chip("tellTale");
  await window.page.keyboard.press("Enter");
  await window.said("All there.");
  const text = asked.map((block) => block.text ?? "").join("\n");
  holds("what was DROPPED", text);
  holds("SYMBOL here", text);
  same(buffer.toString("base64"), asked.find(({ type }) => type === "image")?.source.data);
  await window.eval("globalThis.symbols.dispose()");
});

story("a conversation is compacted by a command of the field", async (world) => {
  world.model.on("tell me much", async function* () {
    yield { say: `A long answer. ${"More words follow here. ".repeat(400)}` };
  });
  world.model.on("Write a summary of the conversation so far", async function* () {
    yield { say: "## Goal\nThe user wanted many words." };
  });
  const window = await world.shared({ "compact.txt": "one\n" });
  for (let at = 0; at < 3; at++) {
    await window.ask(`tell me much, ${at}`);
    const chat = await window.chat();
    await until("the end of the turn", async () => await chat.locator(".turn").count() === at + 1 && await chat.locator("#stop:visible").count() === 0);
  }
  const chat = await window.chat();
  await chat.fill("#text", "");
  await chat.click("#text");
  await window.page.keyboard.type("/comp");
  await chat.locator("#offers [aria-selected='true']:has-text('/compact')").click();
  await window.said("Compacted the conversation:");
});

story("queued prompts are shown; one is removed, one edited, one steers the running turn", async (world) => {
  let release, steered;
  const held = new Promise((settle) => (release = settle));
  world.model.on("work slowly", async function* () {
    await held;
    yield { calls: [["read", { path: "queue.txt" }]] };
    yield { say: "Worked." };
  });
  world.model.on("steer this way", async function* (request) {
    steered = texts(request);
    yield { say: "Steered." };
  });
  const window = await world.shared({ "queue.txt": "one\n" });
  await window.command("interline.chat.focus");
  const chat = await window.chat();
  const send = async (text) => {
    await chat.fill("#text", text);
    await chat.press("#text", "Enter");
  };
  await send("work slowly");
  await chat.locator("#stop:visible").waitFor();
  for (const text of ["remove me", "edit me", "steer this way"]) await send(text);
  const row = (text) => chat.locator("#queue li", { hasText: text });
  await row("steer this way").waitFor();
  await pictures(window, "queue");
  await row("remove me").locator("button[aria-label='Remove']").click();
  await row("edit me").locator("button[aria-label='Edit']").click();
  await until("the text in the field", async () => await chat.inputValue("#text") === "edit me");
  await row("steer this way").locator("button[aria-label^='Send now']").click();
  await until("an empty queue", async () => await chat.locator("#queue").count() === 0);
  release();
  await window.said("Steered.");
  holds("steer this way", steered);
  same(1, await chat.locator(".prompt:has-text('steer this way')").count(), "shown once");
  await chat.fill("#text", "");
  await chat.press("#text", "ArrowUp");
  same("steer this way", await chat.inputValue("#text"), "an earlier prompt");
});

story("the mode and the model are shown, chosen from a list that marks them, and used", async (world) => {
  let model;
  world.model.on("which model", async function* ({ body }) {
    ({ model } = body);
    yield { say: "This one." };
  });
  const window = await world.shared({ "model.txt": "one\n" });
  await window.command("interline.chat.focus");
  const chat = await window.chat();
  await chat.click("#mode");
  const list = window.page.locator(".quick-input-list .monaco-list-row");
  await list.filter({ hasText: "plan" }).waitFor();
  same(1, await list.filter({ hasText: "agent" }).locator(".codicon-check").count());
  await list.filter({ hasText: "plan" }).click();
  await until("the mode", async () => await chat.innerText("#mode") === "plan");
  await chat.click("#model");
  await list.filter({ hasText: "Add an API key…" }).waitFor();
  same(0, await list.filter({ hasText: /^gpt|gemini-/ }).count(), "models without a key");
  await list.filter({ hasText: "claude-haiku-5-5" }).click();
  await until("the model", async () => await chat.innerText("#model") === "claude-haiku-5-5");
  await chat.fill("#text", "which model");
  await chat.press("#text", "Enter");
  await window.said("This one.");
  same("claude-haiku-5-5", model);
  await until("the context in use", async () => /Context: [\d,]+ of [\d,]+ tokens/.test(await chat.getAttribute("#use", "title") ?? ""));
});

story("an agent is chosen from its list; a turn that stops at the step limit continues by a button; a login of an MCP server says what is wrong", async (world) => {
  let system;
  world.model.on("many steps", async function* ({ body }) {
    system = JSON.stringify(body.system);
    for (;;) yield { calls: [["read", { path: "steps.txt" }]] };
  });
  world.model.on("Continue.", async function* () {
    yield { say: "Continued." };
  });
  const reviewer = { description: "Reviews", prompt: "You are the CAREFUL reviewer." };
  world.settings({ "interline.limits.steps": 2, "interline.agents": { reviewer }, "interline.mcpServers": { sheep: { url: "http://127.0.0.1:9/mcp" } } });
  const window = await world.window(world.project({ "steps.txt": "one\n" }));
  await window.open("steps.txt");
  await window.command("interline.chat.focus");
  const view = await window.chat();
  await view.click("#agent");
  await window.page.locator(".quick-input-list .monaco-list-row:has-text('reviewer')").click();
  await until("the agent", async () => await view.innerText("#agent") === "reviewer");
  await window.ask("many steps");
  const chat = await window.said("The turn stopped at its limit of 2 model requests.");
  holds("You are the CAREFUL reviewer.", system);
  await pictures(window, "step-limit");
  await chat.click(".item button:text-is('Continue')");
  await window.said("Continued.");
  await window.palette("Interline: Log In to an MCP Server");
  await window.page.locator(".quick-input-list .monaco-list-row:has-text('sheep')").click();
  await window.page.locator(".notification-toast:has-text('sheep')").first().waitFor();
  world.settings({});
});

story("the transcript of a sub-agent opens from its row", async (world) => {
  world.model.on("ask someone else", async function* () {
    const [result] = yield { calls: [["delegate", { task: "count the SHEEP in it" }]] };
    yield { say: result.error ? `It failed: ${result.text}` : "They counted." };
  });
  world.model.on("count the SHEEP in it", async function* () {
    yield { say: "I counted seven sheep." };
  });
  const window = await world.shared({ "sheep.txt": "one\n" });
  await window.ask("ask someone else");
  const chat = await window.said("They counted.");
  await chat.click(".tool .toggle");
  await chat.click(".tool button:text-is('Open transcript')");
  await until("the transcript", () => window.eval("return vscode.window.activeTextEditor?.document.getText().includes('I counted seven sheep.')"));
});
