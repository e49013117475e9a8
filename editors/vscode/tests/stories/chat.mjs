// The chat view: Markdown that streams, links, code, tools, the plan, retries, the place in it.
import { pictures } from "../harness/pictures.mjs";
import { holds, same, story, until } from "../harness/runner.mjs";

const ANSWER = `## How the cart computes a total

It divides by **100**, see \`src/cart.ts:2\` and src/cart.ts:1, or [MDN](https://developer.mozilla.org/).

| discount | total |
|---------:|:------|
| 10 | 90 |
| 20 | 80 |

- [x] read the code
- [ ] change it

\`\`\`ts
export const total = (prices: number[], discount = 0): number => {
  const full = prices.reduce((a, b) => a + b, 0);
  return full - full * discount / 100;
};
\`\`\`

<img src="https://example.org/x.png" onerror="alert(1)"> [run](command:workbench.action.quit)
`;
const CART = "export const total = 1;\nexport const other = 2;\n";

story("an answer is rendered as Markdown while it streams; places in it open files, code is copied and inserted", async (world) => {
  let release;
  const held = new Promise((settle) => (release = settle));
  world.model.on("explain the cart", async function* () {
    async function* slowly() {
      for (let at = 0; at < ANSWER.length; at += 5) {
        if (at > 520 && at <= 525) await held;
        yield ANSWER.slice(at, at + 5);
      }
    }
    yield { deltas: slowly() };
  });
  const window = await world.shared({ "src/cart.ts": CART });
  await window.ask("explain the cart");
  const chat = await window.chat();
  await chat.locator(".code .hljs-keyword").first().waitFor();
  same(["How the cart computes a total", "90"], [await chat.innerText(".md h4"), await chat.innerText(".md td >> nth=1")]);
  await pictures(window, "streaming");
  release();
  await window.said("<img src=");
  same([0, 0], [await chat.locator(".text img").count(), await chat.locator(".text a[href^='command']").count()]);
  same("right", await chat.locator(".md td >> nth=0").evaluate((cell) => getComputedStyle(cell).textAlign));
  same(1, await chat.locator(".md li.task .codicon[aria-label='done']").count());
  await pictures(window, "answer");
  await chat.click("a.file[data-line='2']");
  await until("the cursor on line 2", () => window.eval("return vscode.window.activeTextEditor?.selection.active.line === 1"));
});

story("code of an answer is copied, and inserted at the cursor as one undo step", async (world) => {
  world.model.on("give me code", async function* () {
    yield { say: "Here:\n\n```ts\nconst given = 1;\n```\n" };
  });
  const window = await world.shared({ "insert.ts": "const a = 0;\n" });
  await window.page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await window.ask("give me code");
  const chat = await window.chat();
  await window.goto(2);
  await chat.click(".code button[aria-label='Insert at cursor']");
  await until("the code", async () => await window.text("insert.ts") === "const a = 0;\nconst given = 1;");
  await chat.click(".code button[aria-label='Copy']");
  await until("the clipboard", () => window.eval("return (async () => await vscode.env.clipboard.readText() === 'const given = 1;')()"));
  await window.focusEditor();
  await window.page.keyboard.press("Control+z");
  await until("the undo", async () => await window.text("insert.ts") === "const a = 0;\n");
});

story("a command shows its last lines while it runs, keeps them when it is stopped, and says how long it took", async (world) => {
  world.model.on("count slowly", async function* () {
    yield { calls: [["exec", { command: "for i in 1 2 3 4 5 6 7; do echo line $i; done; until [ -e go ]; do sleep 0.05; done" }]] };
    yield { calls: [["exec", { command: "echo more; sleep 1000" }]] };
    yield { say: "Never." };
  });
  const window = await world.shared({ "count.txt": "one\n" });
  await window.ask("count slowly");
  const chat = await window.chat();
  const allow = "#cards:not([aria-disabled]) .card button:text-is('Allow')";
  await chat.click(allow);
  const live = chat.locator(".tool pre.live");
  await until("the last lines", async () => await live.innerText() === "line 3\nline 4\nline 5\nline 6\nline 7");
  // The row shows by itself that something runs.
  same(0, await chat.locator(".working").count());
  await pictures(window, "command");
  await window.eval("await vscode.workspace.fs.writeFile(vscode.Uri.joinPath(vscode.workspace.workspaceFolders[0].uri, 'go'), new Uint8Array())");
  await until("how long it took", async () => /\d s$/.test(await chat.innerText(".tool[data-status='completed'] .time")));
  await chat.click(allow);
  await until("output", async () => await live.innerText() === "more");
  await chat.click("#stop");
  await chat.click(".tool[data-status='cancelled'] .toggle");
  holds("more", await chat.innerText(".tool[data-status='cancelled'] pre"));
});

story("the plan stays in sight until it is done, and a tool's path opens its file", async (world) => {
  const todos = (...states) => ["Read the code", "Change it", "Run the tests"].map((text, at) => ({ text, status: states[at] }));
  let finish;
  const held = new Promise((settle) => (finish = settle));
  world.model.on("make a plan", async function* () {
    yield { calls: [["write_todos", { todos: todos("in_progress", "pending", "pending") }], ["read", { path: "plan.ts" }]] };
    yield { calls: [["write_todos", { todos: todos("completed", "in_progress", "pending") }]] };
    await held;
    yield { calls: [["write_todos", { todos: todos("completed", "completed", "completed") }]] };
    yield { say: "All done." };
  });
  const window = await world.shared({ "other.ts": "1\n", "plan.ts": CART });
  await window.ask("make a plan");
  const chat = await window.chat();
  await until("the second step", async () => await chat.locator("#plan .in_progress").innerText().catch(() => "") === "Change it");
  same(["Read the code"], await chat.locator("#plan .completed").allInnerTexts());
  same(1, await chat.locator(".working").count());
  await pictures(window, "plan");
  await chat.click(".tool a.file[data-path='plan.ts']");
  await until("the file", () => window.eval("return vscode.window.activeTextEditor?.document.uri.path.endsWith('plan.ts')"));
  finish();
  await window.said("All done.");
  same(0, await chat.locator("#plan").count());
  await until("the end of the work", async () => await chat.locator(".working").count() === 0);
});

story("the view stays where it is read, and goes to the end for a prompt and by its button", async (world) => {
  world.model.on("long answer", async function* () {
    yield { say: Array.from({ length: 80 }, (_, at) => `Paragraph ${at}.`).join("\n\n") };
  });
  let release;
  const held = new Promise((settle) => (release = settle));
  world.model.on("then ask", async function* () {
    await held;
    yield { calls: [["exec", { command: "echo hello" }]] };
    yield { say: "After it." };
  });
  const window = await world.shared({ "scroll.txt": "one\n" });
  await window.ask("long answer");
  const chat = await window.said("Paragraph 79.");
  const top = () => chat.evaluate(() => document.getElementById("log").scrollTop);
  const left = () => chat.evaluate(() => { const it = document.getElementById("log"); return it.scrollHeight - it.clientHeight - it.scrollTop; });
  await until("the end", async () => await left() < 25);
  await chat.evaluate(() => { document.getElementById("log").scrollTop = 100; });
  await chat.locator("#end").waitFor();
  await chat.fill("#text", "then ask");
  await chat.press("#text", "Enter");
  await until("the end again", async () => await left() < 25 && await top() > 200);
  await chat.evaluate(() => { document.getElementById("log").scrollTop = 100; });
  await chat.locator("#end").waitFor();
  release();
  await chat.locator(".card").waitFor();
  same(100, await top(), "a card moves nothing");
  await chat.click("#end");
  await until("the end by the button", async () => await left() < 25);
  await window.reject();
  await window.said("After it.");
});

story("retries are one line that counts down and can be ended, and that goes when the answer comes", async (world) => {
  let tries = 0, release;
  const held = new Promise((settle) => (release = settle));
  world.model.on("limit me", async function* () {
    tries += 1;
    if (tries === 3) await held;
    yield tries < 3 ? { limited: tries === 1 ? 4 : 60 } : { say: "Through." };
  });
  const window = await world.shared({ "retry.txt": "one\n" });
  await window.ask("limit me");
  const chat = await window.chat();
  const left = () => chat.innerText(".retry").then((text) => /Retrying in ([1-4]) s\./.exec(text)?.[1]);
  const first = await until("the countdown", left);
  await until("a second less", async () => (await left() ?? 0) < first);
  await pictures(window, "retry");
  await chat.locator(".retry:has-text('Attempt 3 of 10. Retrying in 5')").waitFor();
  await chat.click(".retry button:text-is('Retry now')");
  await until("the third try", async () => tries === 3);
  same(1, await chat.locator(".retry").count());
  release();
  await window.said("Through.");
  same(0, await chat.locator(".retry").count());
});

story("a thought is folded, and opens", async (world) => {
  world.model.on("think first", async function* () {
    yield { think: "I wonder about **it**.", say: "I am done." };
  });
  const window = await world.shared({ "think.txt": "one\n" });
  await window.ask("think first");
  const chat = await window.said("I am done.");
  same(false, (await chat.innerText("body")).includes("I wonder"));
  await chat.click(".thought > summary");
  await pictures(window, "thought");
  same("I wonder about it.", await chat.innerText(".thought .inner"));
});

story("the changes of a turn are undone, and kept, in its row", async (world) => {
  for (const [words, old, now] of [["first change", "one", "uno"], ["second change", "two", "due"]]) {
    world.model.on(words, async function* () {
      yield { calls: [["read", { path: "row.txt" }]] };
      yield { calls: [["edit", { path: "row.txt", old_string: old, new_string: now }]] };
      yield { say: `The ${words} is done.` };
    });
  }
  const window = await world.shared({ "row.txt": "one\ntwo\n" });
  await window.ask("first change");
  const chat = await window.said("Changed row.txt (+1 −1)");
  await pictures(window, "changes");
  await chat.click(".files button:text-is('Undo')");
  await until("the undo", async () => await window.text("row.txt") === "one\ntwo\n");
  await window.ask("second change");
  await until("the second row", async () => await chat.locator(".files").count() === 2);
  await chat.click(".files button:text-is('Keep') >> nth=1");
  await until("nothing to review", async () => (await window.page.locator(".statusbar-item:has-text('to review')").count()) === 0);
  same("one\ndue\n", await window.text("row.txt"));
});
