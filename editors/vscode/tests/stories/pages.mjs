// The prompt's preview, settings and their scopes, keys, code actions, trouble with the program.
import fs from "node:fs";
import path from "node:path";
import { picture, pictures } from "../harness/pictures.mjs";
import { holds, same, story, until } from "../harness/runner.mjs";

story("the next prompt is a page: the unsaved AGENTS.md, sizes and sources, what is cached, and what has changed since", async (world) => {
  world.model.on("say hello", async function* () {
    yield { say: "Hello." };
  });
  const window = await world.shared({ "AGENTS.md": "Use tabs.\n" });
  await window.page.keyboard.press("Control+End");
  await window.page.keyboard.type("Only tabs.");
  await window.palette("Interline: Show Next Prompt");
  const page = await window.frame("main#prompt"), segment = (id) => page.locator(`.segment[data-id="${id}"]`);
  holds("has sent no request yet", await page.innerText("[aria-label='Since the last request']"));
  await segment("instructions").locator("summary").click();
  holds("Only tabs.", await segment("instructions").innerText());
  holds("AGENTS.md", await segment("instructions").innerText());
  same(0, await page.locator(".absent li").count());
  await page.click("#absent");
  holds("Persona", await page.innerText(".absent"));
  await page.click("#absent");
  await page.evaluate(() => scrollTo(0, 0));
  await picture(window, "prompt");
  await window.ask("say hello");
  await window.said("Hello.");
  await until("a cached segment", async () => await segment("editing").locator("[aria-label^='Sent before']").count() === 1);
  holds("the stable part is as it was sent", await page.innerText("[aria-label='Since the last request']"));
  await window.picture("prompt-cached");
});

story("a workspace's settings narrow and never grant; the user's own count", async (world) => {
  const settings = { "interline.mode": "plan", "interline.approvals": "auto", "interline.limits.steps": 99 };
  world.settings({ "interline.limits.steps": 7 });
  const window = await world.window(world.project({ "a.txt": "one\n", ".vscode/settings.json": JSON.stringify(settings) }));
  await window.open("a.txt");
  await window.palette("Interline: Show Status");
  const page = await window.frame("main#status"), section = (title) => page.innerText(`section[aria-label="${title}"]`);
  same(["approvals", "limits.steps"], (await page.locator("section[aria-label='Ignored settings'] dt").allInnerTexts()).sort());
  await until("the limit in force", async () => /limits\.steps\s+7\b/.test(await section("Settings in force")));
  holds("not trusted", await section("Overview"));
  holds("a.txt", await section("Files"));
  await picture(window, "status");
  await window.eval("await vscode.workspace.getConfiguration('interline').update('approvals', 'ask', vscode.ConfigurationTarget.Workspace)");
  await window.eval("await vscode.workspace.getConfiguration('interline').update('limits.steps', undefined, vscode.ConfigurationTarget.Workspace)");
  await until("no ignored setting", async () => {
    await page.click("button[aria-label='Refresh']");
    return (await section("Ignored settings")).includes("No setting is ignored.");
  });
  world.settings({});
});

story("a report for a bug report opens as a new document, without the session's title and texts", async (world) => {
  world.model.on("quite a secret title", async function* () {
    yield { say: "Answered." };
  });
  const window = await world.shared({ "private.txt": "unshared text\n" });
  await window.ask("quite a secret title");
  await window.said("Answered.");
  await window.palette("Interline: Save Report");
  const text = await until("the report", () => window.eval(
    "const { document } = vscode.window.activeTextEditor; return document.isUntitled && document.languageId === 'json' && document.getText()"));
  const { version, client, settings, status, log } = JSON.parse(text);
  same([true, true, true, true], [version, settings, status, log].map(Boolean));
  same("interline", client.tier);
  for (const secret of ["quite a secret title", "unshared text", "Answered."]) same(false, text.includes(secret), secret);
  await window.page.locator(".notification-toast:has-text('Read it before you share it') a:text-is('Save As…')").waitFor();
});

story("a key goes into the secret store, reaches the server, and is in no file of the workspace", async (world) => {
  world.settings({ "interline.server.env": { ANTHROPIC_BASE_URL: world.model.url } });
  world.model.on("with my key", async function* () {
    yield { say: "The key fits." };
  });
  const window = await world.window(world.project({ "a.txt": "one\n" }));
  await window.open("a.txt");
  await window.ask("with my key");
  const toast = window.page.locator(".notification-toast:has-text('Set API Key')").first();
  await toast.waitFor();
  // The button is the way; the view lists the others.
  same(false, (await toast.innerText()).includes("ANTHROPIC_API_KEY"));
  const chat = await window.chat();
  await until("the prompt in the view's field", async () => await chat.inputValue("#text") === "with my key");
  await window.picture("no-key");
  await window.page.locator(".notification-toast a:text-is('Set API Key')").first().click();
  await window.page.locator(".quick-input-list .monaco-list-row:has-text('anthropic')").first().click();
  const box = window.page.locator(".quick-input-widget input[type=password]").first();
  await box.fill("sk-secret-77");
  await window.page.keyboard.press("Enter");
  await window.page.locator(".notification-toast:has-text('is stored')").first().waitFor();
  await until("the field in focus", () => chat.evaluate(() => document.activeElement?.id === "text" && document.hasFocus()));
  await window.page.keyboard.press("Enter");
  await window.said("The key fits.");
  same("sk-secret-77", world.model.requests.at(-1).headers["x-api-key"]);
  // A new window's server is handed the key at its start.
  const again = await window.reload();
  await again.open("a.txt");
  await again.ask("with my key");
  await until("the second answer", () => world.model.requests.filter(({ headers }) => headers["x-api-key"] === "sk-secret-77").length === 2);
  same([], files(world.work).filter((file) => holdsWords(file, "sk-secret-77")));
  world.settings({});
});

story("a prompt whose key is refused comes back with its selection, one Enter away", async (world) => {
  let asked = 0;
  world.model.on("refused once", async function* () {
    asked += 1;
    yield asked === 1 ? { refuses: true } : { say: "Accepted." };
  });
  const window = await world.shared({ "refused.txt": "one\ntwo\n" });
  await window.goto(1);
  await window.page.keyboard.press("Shift+End");
  await window.ask("refused once");
  const chat = await window.chat();
  await until("the prompt in the view's field", async () => await chat.inputValue("#text") === "refused once");
  await window.page.locator(".notification-toast:has-text('Set API Key')").first().waitFor();
  await chat.locator(".failure button:text-is('Set API Key')").waitFor();
  await pictures(window, "error");
  await chat.press("#text", "Enter");
  await window.said("Accepted.");
  same(2, await chat.locator(".prompt .chip:has-text('refused.txt')").count(), "prompts with the selection");
});

/** Whether a file has the words; one that is gone meanwhile has none. */
function holdsWords(file, words) {
  try {
    return fs.readFileSync(file).includes(words);
  } catch (error) {
    if (error.code !== "ENOENT") throw error;
    return false;
  }
}

function files(folder) {
  return fs.readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
}

story("what other servers report is known to the agent, and the light bulb offers to fix it", async (world) => {
  let asked;
  world.model.on("gadget is not defined", async function* (request) {
    ({ asked } = request);
    yield { say: "I fix the gadget." };
  });
  const window = await world.shared({ "report.txt": "one\ngadget\n" }, { trusted: false });
  await window.eval(`const found = new vscode.Diagnostic(new vscode.Range(1, 0, 1, 6), "gadget is not defined", 0);
    globalThis.reports = vscode.languages.createDiagnosticCollection("tests");
    globalThis.reports.set(vscode.window.activeTextEditor.document.uri, [found])`);
  await window.goto(2, 3);
  const title = await until("a code action", () => window.eval(`const document = vscode.window.activeTextEditor.document;
    const all = await vscode.commands.executeCommand("vscode.executeCodeActionProvider", document.uri, new vscode.Range(1, 2, 1, 2));
    globalThis.fix = all.find((action) => action.title === "Interline: fix this");
    return globalThis.fix?.title`));
  same("Interline: fix this", title);
  await window.eval("const { command, arguments: given } = globalThis.fix.command; return vscode.commands.executeCommand(command, ...given)");
  await window.said("I fix the gadget.");
  holds("line 2", asked);
  await window.palette("Interline: Fix Problem Here");
  const chat = await window.chat();
  await until("the second answer", async () => (await chat.innerText("body")).split("I fix the gadget.").length === 3);
});

story("a missing program is reported with what to do, and a correct path fixes it", async (world) => {
  world.model.on("now it works", async function* () {
    yield { say: "It does." };
  });
  world.settings({ "interline.server.path": "/nowhere/interline" });
  const window = await world.window(world.project({ "a.txt": "one\n" }));
  await window.page.locator(".notification-toast:has-text('(/nowhere/interline) is not on')").first().waitFor();
  await window.picture("not-found");
  await window.configure("interline.server.path", world.interline);
  await window.open("a.txt");
  await window.ask("now it works");
  await window.said("It does.");
  await window.configure("interline.server.path", world.interline);
  world.settings({});
});
