// Review by hunk: marks, lenses and keys, the differences since a turn began, a reload.
import { holds, same, story, until } from "../harness/runner.mjs";

const BEFORE = "line one\nline two\nline three\nline four\nline five\nline six\nline seven\n";
const CHANGED = "line one\nline TWO\nline three\nline FOUR\nline five\nline SIX\nline seven\n";

/** A turn that changes three lines of a file. */
function shout(world, words, path) {
  const edit = (old, text) => ["edit", { path, old_string: old, new_string: text }];
  world.model.on(words, async function* () {
    yield { calls: [["read", { path }]] };
    yield { calls: [edit("two", "TWO"), edit("four", "FOUR"), edit("six", "SIX")] };
    yield { say: `Shouted in ${path}.` };
  });
}

async function shouted(world, path) {
  shout(world, `shout in ${path}`, path);
  const window = await world.shared({ [path]: BEFORE });
  await window.ask(`shout in ${path}`);
  await window.said(`Shouted in ${path}.`);
  await left(window, 3);
  await window.open(path);
  return window;
}

const chord = async (window, key) => {
  await window.page.keyboard.press("Control+k");
  await window.page.keyboard.press(`Alt+${key}`);
};
const cursor = (window) => window.eval("return vscode.window.activeTextEditor.selection.active.line + 1");
/** Waits for the cursor; where the extension put it, the editor has it after the next call. */
const at = async (window, line) => {
  await until(`the cursor in line ${line}`, async () => await cursor(window) === line);
  await window.eval("await vscode.commands.getCommands()");
};
const holdsText = (window, name, text) => until(async () => `${JSON.stringify(text)}; it is ${JSON.stringify(await window.text(name))}`, async () => await window.text(name) === text);

/** Waits until the status bar says how many changes there are to review. */
const left = (window, count) => until(`${count} changes in the status bar`, async () => {
  const items = await window.page.locator(".statusbar-item:visible").allInnerTexts();
  const [found] = items.map((text) => /(\d+) changes? to review/.exec(text)?.[1]).filter(Boolean);
  return Number(found ?? 0) === count;
});
const lenses = (window) => window.page.locator(".codelens-decoration a").allInnerTexts();
/** Waits for so many lenses with their texts; while the editor makes room for them they are there, but hidden. */
const lensed = (window, count) => until(async () => `${count} lenses: ${await lenses(window)}`, async () => {
  const texts = await lenses(window);
  return texts.length === count && texts.every(Boolean);
});

/** The texts with a sign that the editor shows beside its lines. */
const beside = (window, sign) => window.page.evaluate((sign) =>
  [...document.querySelectorAll(".editor-instance .view-lines span")]
    .map((span) => getComputedStyle(span, "::after").content)
    .filter((content) => content.startsWith(`"${sign}`))
    .map((content) => content.slice(1, -1).replaceAll("\u00a0", " ")), sign);
const shownOld = (window) => beside(window, "−");

story("review by keys alone: keep one, undo one, amend one, undo, redo, revert the turn", async (world) => {
  const window = await shouted(world, "keys.txt"), { keyboard } = window.page;
  await until("the old texts", async () => (await shownOld(window)).length === 3);
  same(["− line two", "− line four", "− line six"], (await shownOld(window)).sort((a, b) => BEFORE.indexOf(a.slice(2)) - BEFORE.indexOf(b.slice(2))));
  await window.goto(1);
  await chord(window, "n");
  await at(window, 2);
  await chord(window, "k");
  await left(window, 2);
  await chord(window, "n");
  await at(window, 4);
  await chord(window, "u");
  const undone = CHANGED.replace("FOUR", "four");
  await holdsText(window, "keys.txt", undone);
  await left(window, 1);
  // Over the end of the file, back to the only change.
  await chord(window, "n");
  await at(window, 6);
  // From another line, so that the place shows that the key has worked.
  await window.goto(7);
  await chord(window, "p");
  await at(window, 6);
  await keyboard.press("ArrowRight");
  await keyboard.type("!");
  const amended = undone.replace("SIX", "S!IX");
  await holdsText(window, "keys.txt", amended);
  await chord(window, "u");
  await until("the reason why nothing was undone", async () => {
    const shown = await window.page.locator(".notification-list-item-message").allInnerTexts();
    return shown.some((text) => text.includes("1 change could not be decided: the text has changed since."));
  });
  same(amended, await window.text("keys.txt"), "what was typed stays");
  await keyboard.press("Control+z");
  await holdsText(window, "keys.txt", undone);
  await keyboard.press("Control+y");
  await holdsText(window, "keys.txt", amended);
  await keyboard.press("Control+z");
  await holdsText(window, "keys.txt", undone);
  await window.palette("Interline: Revert Last Turn");
  await holdsText(window, "keys.txt", BEFORE);
  await left(window, 0);
  await lensed(window, 0);
  const chat = await window.said("Reverted keys.txt");
  await chat.click(".item button:text-is('Restore') >> nth=-1");
  await holdsText(window, "keys.txt", undone);
});

story("lenses keep and undo a change, what was undone is restored from the chat, and commands reach all", async (world) => {
  const window = await shouted(world, "lenses.txt");
  await lensed(window, 6);
  same(["Keep", "Undo", "Keep", "Undo", "Keep", "Undo"], await lenses(window));
  await window.page.locator(".codelens-decoration a:text-is('Undo')").nth(1).click();
  await holdsText(window, "lenses.txt", CHANGED.replace("FOUR", "four"));
  await lensed(window, 4);
  const chat = await window.said("Undid 1 change.");
  await chat.click(".item button:text-is('Restore') >> nth=-1");
  await holdsText(window, "lenses.txt", CHANGED);
  await lensed(window, 6);
  await window.page.locator(".codelens-decoration a:text-is('Keep')").nth(0).click();
  await lensed(window, 4);
  await window.configure("interline.codeActions", false);
  await lensed(window, 0);
  await window.configure("interline.codeActions", undefined);
  await lensed(window, 4);
  await window.focusEditor();
  await chord(window, "z");
  await holdsText(window, "lenses.txt", BEFORE.replace("two", "TWO"));
  await left(window, 0);
  await window.page.keyboard.press("F1");
  await window.page.locator(".quick-input-widget input").first().fill(">Interline: ");
  const rows = window.page.locator(".quick-input-list .monaco-list-row");
  await until("the palette", async () => (await rows.allInnerTexts()).some((row) => row.includes("Interline: ")));
  await window.page.locator(".quick-input-widget input").first().fill(">Interline: Keep");
  await until("no command without a change", async () => !(await rows.allInnerTexts()).some((row) => row.includes("Interline: Keep")));
  await window.page.keyboard.press("Escape");
});

story("marks follow what is typed above them, also before the hunks are listed again", async (world) => {
  const window = await shouted(world, "follow.txt");
  await lensed(window, 6);
  await window.goto(1);
  await window.focusEditor();
  await window.page.keyboard.type("a\nb\n");
  await holdsText(window, "follow.txt", `a\nb\n${CHANGED}`);
  await window.goto(1);
  await chord(window, "n");
  await at(window, 4);
  await chord(window, "u");
  await holdsText(window, "follow.txt", `a\nb\n${CHANGED.replace("TWO", "two")}`);
  await window.palette("Interline: Keep All Changes in File");
  await left(window, 0);
});

story("proposed changes wait in the editor: one is kept and one rejected by keys, and the file and the model learn just that", async (world) => {
  const path = "proposed.txt", seen = [], before = (value) => `vscode.workspace.getConfiguration("interline").update("edits.review", ${value}, vscode.ConfigurationTarget.Workspace)`;
  world.model.on("propose to shout", async function* () {
    yield { calls: [["read", { path }]] };
    seen.push(...yield { calls: [["write", { path, content: BEFORE.replace("two", "TWO").replace("six", "SIX") }]] });
    yield { say: "It was reviewed." };
  });
  const window = await world.shared({ [path]: BEFORE });
  await window.eval(`await ${before('"before"')}`);
  await window.ask("propose to shout");
  await left(window, 2);
  await window.open(path);
  await lensed(window, 4);
  same(["Keep", "Reject", "Keep", "Reject"], await lenses(window));
  await until("the new texts", async () => `${(await beside(window, "+")).sort()}` === "+ line SIX,+ line TWO");
  await window.picture("review-proposed");
  await window.goto(1);
  await chord(window, "n");
  await at(window, 2);
  await chord(window, "k");
  await left(window, 1);
  same(BEFORE, await window.text(path), "nothing is applied before all is decided");
  await chord(window, "n");
  await at(window, 6);
  await chord(window, "u");
  const chat = await window.said("It was reviewed.");
  same([BEFORE.replace("two", "TWO"), 0], [await window.text(path), await chat.locator(".card").count()]);
  holds("kept: proposed.txt:2.", seen[0].text);
  holds("so they were not changed: proposed.txt:6.", seen[0].text);
  await window.eval(`await ${before("undefined")}`);
});

story("a row of the chat opens the differences since the start of the turn, with net counts", async (world) => {
  const path = "cart.ts", before = "const a = 1;\nconst b = 2;\nconst c = 3;\nconst d = 4;\n";
  world.model.on("change the cart", async function* () {
    const edit = (old, text) => ["edit", { path, old_string: old, new_string: text }];
    yield { calls: [["read", { path }]] };
    yield { calls: [edit("a = 1", "a = 10")] };
    yield { calls: [edit("a = 10", "a = 100"), edit("d = 4", "d = 40")] };
    yield { say: "Changed the cart." };
  });
  const window = await world.shared({ [path]: before });
  await window.ask("change the cart");
  await window.said("Changed the cart.");
  const chat = await window.said("Changed cart.ts (+2 −2)");
  await left(window, 2);
  // What was kept is still a change of the turn; what the user types is not.
  await window.goto(1);
  await window.focusEditor();
  await chord(window, "k");
  await left(window, 1);
  await window.goto(2);
  await window.page.keyboard.type("let mine;\n");
  await chat.click("button:text('Changed cart.ts')");
  const sides = () => window.eval(`return vscode.window.visibleTextEditors.map(({ document }) => [document.uri.scheme, document.getText()])`);
  const after = before.replace("a = 1", "a = 100").replace("d = 4", "d = 40");
  const mine = (text) => text.replace("const b", "let mine;\nconst b");
  await until(async () => `the two sides; there is ${JSON.stringify(await sides())}`, async () => {
    const shown = Object.fromEntries(await sides());
    return shown["interline-start"] === mine(before) && shown.file === mine(after);
  });
  await window.picture("review-diff");
  await window.command("workbench.action.closeActiveEditor");
  await window.open(path);
  await window.palette("Interline: Undo All Changes");
  await holdsText(window, path, mine(after).replace("d = 40", "d = 4"));
});

story("a review continues after the window is loaded again", async (world) => {
  shout(world, "shout before the reload", "again.txt");
  const first = await world.window(world.project({ "again.txt": BEFORE }));
  await first.command("interline.trust");
  await first.open("again.txt");
  await first.ask("shout before the reload");
  await first.said("Shouted in again.txt.");
  await left(first, 3);
  await first.open("again.txt");
  await first.goto(2);
  await chord(first, "k");
  await left(first, 2);
  await first.command("workbench.action.files.save");
  await until("the file on disk", () => first.disk("again.txt") === CHANGED);
  const window = await first.reload();
  await left(window, 2);
  await window.open("again.txt");
  await lensed(window, 4);
  await window.goto(1);
  await chord(window, "n");
  await at(window, 4);
  await chord(window, "u");
  await holdsText(window, "again.txt", CHANGED.replace("FOUR", "four"));
  await window.page.locator(".statusbar-item:has-text('1 change to review')").click();
  await window.page.locator(".quick-input-list .monaco-list-row:has-text('Keep All')").click();
  await left(window, 0);
});

story("rows that are shown again after a reload have net counts", async (world) => {
  const path = "net.txt", edit = (old, text) => ["edit", { path, old_string: old, new_string: text }];
  world.model.on("change a line twice", async function* () {
    yield { calls: [["read", { path }]] };
    yield { calls: [edit("line two", "line 2")] };
    yield { calls: [edit("line 2", "line II")] };
    yield { say: "Twice." };
  });
  const first = await world.window(world.project({ [path]: BEFORE }));
  await first.command("interline.trust");
  await first.open(path);
  await first.ask("change a line twice");
  await first.said("Changed net.txt (+1 −1)");
  await first.command("workbench.action.files.save");
  await until("the file on disk", () => first.disk(path).includes("line II"));
  const window = await first.reload();
  const chat = await window.said("Changed net.txt (+1 −1)");
  same(1, (await chat.innerText("body")).split("Changed net.txt").length - 1);
});

story("default keys clash with no others; the key of an inline edit is a second one of the suggestions' alone", async (world) => {
  const window = await world.shared({ "free.txt": "one\n" });
  await window.command("workbench.action.openDefaultKeybindingsFile");
  const keys = await until("the list of keys", () => window.eval(`
    const list = vscode.window.activeTextEditor?.document;
    return list?.getText().includes("interline.nextChange") ? list.getText() : undefined`));
  const rows = [...keys.matchAll(/"key": "(.*?)",[^{}]*?"command": "(.*?)"(?:,\s*"when": "(.*?)")?/g)].map(([, key, command, when = ""]) => ({ key, command, when }));
  const ours = rows.filter(({ command }) => command.startsWith("interline."));
  same(8, ours.length);
  const clash = (key) => rows.filter((row) => !row.command.startsWith("interline.") && row.key === key);
  same([], ours.filter(({ key }) => key !== "ctrl+i").flatMap(({ key }) => clash(key)));
  const inText = clash("ctrl+i").filter(({ command, when }) => /textInputFocus|editorTextFocus|editorFocus|^$/.test(when) && !/chat/i.test(command));
  for (const { command } of inText) same(true, rows.some((row) => row.command === command && row.key !== "ctrl+i"), `another key for ${command}`);
  holds("ctrl+k alt+n", ours.map(({ key }) => key).join(", "));
  await window.command("workbench.action.closeActiveEditor");
});

story("pictures of a review, light and dark", async (world) => {
  const path = "src/cart.ts";
  const before = `/** What one customer is about to buy. */\nexport class Cart {\n  private prices: number[] = [];\n\n  add(price: number) {\n    this.prices.push(price);\n  }\n\n  /** The sum to pay, after the discount in percent. */\n  total(discount = 0): number {\n    let sum = 0;\n    for (const price of this.prices) sum = sum + price;\n    return sum - sum * discount / 10;\n  }\n}\n`;
  world.model.on("Fix total", async function* () {
    const edit = (old, text) => ["edit", { path, old_string: old, new_string: text }];
    yield { calls: [["read", { path }]] };
    yield { calls: [
      edit("  add(price: number) {\n", "  add(price: number): void {\n    if (price < 0) throw new RangeError(\"a price is negative\");\n"),
      edit("    let sum = 0;\n    for (const price of this.prices) sum = sum + price;\n", "    const sum = this.prices.reduce((all, price) => all + price, 0);\n"),
      edit("discount / 10;", "discount / 100;"),
    ] };
    yield { say: "Percent are hundredths now, and negative prices are refused." };
  });
  const window = await world.window(world.project({ [path]: before }));
  await window.command("interline.trust");
  await window.open(path);
  await window.ask("Fix total, and refuse negative prices");
  await window.said("negative prices are refused.");
  await window.open(path);
  await until("the lenses", async () => (await lenses(window)).filter(Boolean).length > 3);
  await window.goto(8);
  await window.configure("editor.minimap.enabled", false);
  await window.command("notifications.clearAll");
  for (const [name, theme] of [["dark", "Default Dark Modern"], ["light", "Default Light Modern"]]) {
    await window.configure("workbench.colorTheme", theme);
    await until("the theme", () => window.eval(`return vscode.window.activeColorTheme.kind === vscode.ColorThemeKind.${name === "dark" ? "Dark" : "Light"}`));
    await window.page.mouse.move(640, 700);
    await until("the old texts", async () => (await shownOld(window)).length > 0);
    await window.picture(`review-${name}`);
  }
  await window.goto(13, 12);
  await window.focusEditor();
  await window.command("editor.action.showHover");
  const hover = window.page.locator(".monaco-hover:visible");
  const hovers = async () => (await hover.allInnerTexts()).join("\n").replaceAll("\u00a0", " ");
  await until(async () => `the hover; there is ${await hovers()}`, async () => (await hovers()).includes("-    return sum - sum * discount / 10;"));
  await window.picture("review-hover");
  await window.configure("workbench.colorTheme", undefined);
  await window.configure("editor.minimap.enabled", undefined);
});
