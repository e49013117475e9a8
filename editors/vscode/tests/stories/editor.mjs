// What is asked for in the editor: a change of the selection, by key, menu and light bulb; code of answers; commit messages.
import { execFileSync } from "node:child_process";
import { picture } from "../harness/pictures.mjs";
import { holds, same, story, until } from "../harness/runner.mjs";

const PRICES = "export const prices = [1, 2];\nexport const sum = prices[0] + prices[1];\nexport const last = 2;\n";

story("a selection is edited by a key, with the chat out of sight; the change is kept or undone like any other", async (world) => {
  let asked, release;
  const held = new Promise((settle) => (release = settle));
  world.model.on("add them all", async function* (request) {
    ({ asked } = request);
    await held;
    yield { calls: [["edit", { path: "prices.ts", old_string: "prices[0] + prices[1]", new_string: "prices.reduce((a, b) => a + b, 0)" }]] };
    yield { say: "Added." };
  });
  const window = await world.shared({ "prices.ts": PRICES });
  await window.command("workbench.view.explorer");
  await window.eval("const e = vscode.window.activeTextEditor; e.selection = new vscode.Selection(1, 0, 1, 10)");
  await window.focusEditor();
  await window.page.keyboard.press("Control+i");
  await window.box("What should change here?").fill("add them all");
  await window.picture("inline-edit-box");
  await window.page.keyboard.press("Enter");
  const lens = window.page.locator(".codelens-decoration a");
  await lens.filter({ hasText: "Editing: add them all" }).waitFor();
  await picture(window, "inline-edit");
  release();
  await lens.filter({ hasText: "Undo" }).waitFor();
  await until("the end of the edit", async () => await lens.filter({ hasText: "Editing" }).count() === 0);
  same(PRICES.replace("prices[0] + prices[1]", "prices.reduce((a, b) => a + b, 0)"), await window.text("prices.ts"));
  holds("export const sum = prices[0] + prices[1];", asked);
  same(true, await window.page.locator(".explorer-folders-view").first().isVisible());
  await lens.filter({ hasText: "Undo" }).click();
  await until("the undo", async () => await window.text("prices.ts") === PRICES);
});

story("the menu and the light bulb of the editor offer edits, explanations, and what a comment says", async (world) => {
  const asked = [];
  world.model.on("double the last price", async function* (request) {
    asked.push(request.asked);
    yield { say: "As the comment says." };
  });
  const window = await world.shared({ "menu.ts": `// double the last price\n${PRICES}` });
  await window.goto(1, 6);
  const titles = () => window.eval(`const { document } = vscode.window.activeTextEditor;
    const all = await vscode.commands.executeCommand("vscode.executeCodeActionProvider", document.uri, new vscode.Range(0, 3, 0, 9));
    return all.map(({ title }) => title)`);
  for (const title of ["edit this…", "explain this", "do this comment"]) {
    await until(async () => `“${title}” in ${await titles()}`, async () => (await titles()).includes(`Interline: ${title}`));
  }
  await window.page.locator(".view-line").first().click({ button: "right", position: { x: 60, y: 8 } });
  const menu = window.page.locator(".monaco-menu .action-item");
  await menu.filter({ hasText: "Interline" }).first().hover();
  await menu.filter({ hasText: /^Edit Selection…/ }).waitFor();
  await window.picture("editor-menu");
  await menu.filter({ hasText: /^Do This Comment/ }).click();
  await window.said("As the comment says.");
  holds("double the last price", asked[0]);
});

story("code of an answer is applied to the file that it names, after its differences were shown", async (world) => {
  const made = PRICES.replace("prices[0] + prices[1]", "total(prices)");
  world.model.on("use total", async function* () {
    yield { say: "So:\n\n```ts apply.ts\nexport const sum = total(prices);\nexport const last = 2;\n```\n\n```ts\nconst nowhere = 1;\n```\n" };
  });
  const window = await world.shared({ "other.ts": "one\n", "apply.ts": PRICES });
  await window.ask("use total");
  const chat = await window.chat();
  await chat.click(".code button[aria-label='Apply to apply.ts']");
  await window.page.locator(".tab:has-text('apply.ts (apply?)')").waitFor();
  const { keyboard } = window.page;
  await until("the two sides", async () => `${await window.eval("return vscode.window.visibleTextEditors.map(({ document }) => document.getText())")}` === `${[PRICES, made]}`);
  await picture(window, "apply");
  await window.page.locator(".editor-actions .action-label[aria-label^='Apply the Code']").first().click();
  await until("the code", async () => await window.text("apply.ts") === made);
  same(PRICES, window.disk("apply.ts"));
  await window.page.locator(".tab:has-text('apply.ts (apply?)')").waitFor({ state: "detached" });
  await until("the file in front", async () => await window.eval("const it = vscode.window.activeTextEditor?.document.uri; return it?.scheme === 'file' && it.path.endsWith('apply.ts')"));
  await window.focusEditor();
  await keyboard.press("Control+z");
  await until("one undo", async () => await window.text("apply.ts") === PRICES);
  await chat.click(".code button[aria-label='Apply to the active file']");
  await window.page.locator(".notification-toast:has-text('it is not clear where in apply.ts')").waitFor();
  same(PRICES, await window.text("apply.ts"));
});

story("a commit message for what is staged is written into the field of the source control view; Git changes go with a prompt", async (world) => {
  let asked;
  world.model.on("Write the message of a commit", async function* (request) {
    ({ asked } = request);
    yield { say: "```\nsum: add all prices\n```" };
  });
  world.model.on("review my changes", async function* (request) {
    ({ asked } = request);
    yield { say: "Reviewed." };
  });
  world.settings({ "git.enabled": true });
  const folder = world.project({ "sum.ts": PRICES });
  const git = (...given) => execFileSync("git", ["-C", folder, "-c", "user.name=Ada", "-c", "user.email=ada@example.org", ...given], { env: world.env });
  git("init", "-q");
  git("add", ".");
  git("commit", "-qm", "prices: first two");
  const window = await world.window(folder);
  await window.open("sum.ts");
  await window.eval(`const edit = new vscode.WorkspaceEdit(), { document } = vscode.window.activeTextEditor;
    edit.insert(document.uri, new vscode.Position(0, 0), "// All prices.\\n"); await vscode.workspace.applyEdit(edit); await document.save()`);
  git("add", ".");
  await window.command("workbench.view.scm");
  await window.page.locator(".scm-view .action-label[aria-label^='Write a Commit Message'], .pane-header .action-label[aria-label^='Write a Commit Message']").first().click();
  await until("the message", async () => (await window.page.locator(".scm-editor .view-line").allInnerTexts()).join().replaceAll("\u00a0", " ") === "sum: add all prices");
  await window.picture("commit-message");
  holds("+// All prices.", asked);
  holds("prices: first two", asked);
  await window.command("interline.chat.focus");
  const chat = await window.chat();
  same(0, await chat.locator(".turn").count(), "prompts in the chat view");
  await chat.click("#text");
  await window.page.keyboard.type("review my changes @diff");
  await chat.locator("#offers [aria-selected='true']:has-text('diff')").click();
  await chat.click("#send");
  await window.said("Reviewed.");
  holds("+// All prices.", asked);
  world.settings({});
});
