// Cancel, a server that dies, windows that are loaded again, two windows, two folders.
import fs from "node:fs";
import path from "node:path";
import { pictures } from "../harness/pictures.mjs";
import { holds, same, story, until } from "../harness/runner.mjs";

const kill = (pid) => process.kill(pid, "SIGKILL");
const alive = (pid) => fs.existsSync(`/proc/${pid}`) && !fs.readFileSync(`/proc/${pid}/stat`, "utf8").includes(") Z ");

story("cancel ends a turn that streams, and kills the command that it runs", async (world) => {
  world.model.on("never end", async function* () {
    yield { say: "I begin", stall: true };
  });
  world.model.on("sleep long", async function* () {
    yield { calls: [["exec", { command: "echo $$ > pid; sleep 1000" }]] };
    yield { say: "Slept." };
  });
  const window = await world.shared({ "cancel.txt": "one\n" }, { trusted: false });
  await window.ask("never end");
  const chat = await window.said("I begin");
  await chat.click("#stop");
  await window.said("Cancelled.");
  await until("the button's end", async () => !(await chat.isVisible("#stop")));
  await pictures(window, "cancelled");
  await window.ask("sleep long");
  await chat.click(".card button:text-is('Allow')");
  const pid = await until("the command", () => Number(window.disk("pid")));
  await window.palette("Interline: Stop");
  await until("the second end", async () => (await chat.innerText("body")).split("Cancelled.").length === 3);
  await until("the command's end", () => !alive(pid));
});

story("the last turn is reverted; a file that it created is deleted, and the chat says so", async (world) => {
  world.model.on("make a file", async function* () {
    yield { calls: [["read", { path: "revert.txt" }]] };
    yield { calls: [["edit", { path: "revert.txt", old_string: "one", new_string: "ONE" }], ["write", { path: "made.txt", content: "made\n" }]] };
    yield { say: "Made." };
  });
  const window = await world.shared({ "revert.txt": "one\n" });
  await window.ask("make a file");
  await window.said("Made.");
  await window.said("Changed made.txt");
  same(["ONE\n", "made\n"], [await window.text("revert.txt"), await window.text("made.txt")]);
  await window.palette("Interline: Revert Last Turn");
  await until("the text", async () => (await window.text("revert.txt")) === "one\n");
  await window.said("Reverted revert.txt (+1 −1)");
  await window.said("Deleted made.txt");
  same(undefined, window.disk("made.txt"));
  await window.picture("reverted");
});

story("a server that is killed in a turn is started again, says so, and continues the session", async (world) => {
  let asked;
  world.model.on("about to crash", async function* () {
    yield { calls: [["read", { path: "crash.txt" }]] };
    yield { say: "Half of it", stall: true };
  });
  world.model.on("where were we", async function* ({ body }) {
    asked = JSON.stringify(body.messages);
    yield { say: "We go on." };
  });
  const window = await world.shared({ "crash.txt": "one\n" }, { trusted: false });
  await window.page.keyboard.type("unsaved ");
  await window.ask("about to crash");
  const chat = await window.said("Half of it");
  const [pid] = window.servers();
  kill(pid);
  await window.said("ended unexpectedly");
  await window.said("The turn was interrupted");
  await window.picture("crash");
  holds("Half of it", await chat.innerText("body"), "what was shown stays");
  same(1, window.servers().length);
  await window.ask("where were we");
  await window.said("We go on.");
  holds("about to crash", asked, "the conversation continues:");
  same("unsaved one\n", await window.text("crash.txt"));
});

story("a window that is loaded again continues its session", async (world) => {
  world.model.on("before the reload", async function* () {
    yield { say: "Said before.", stall: true };
  });
  let asked;
  world.model.on("after the reload", async function* ({ body }) {
    asked = JSON.stringify(body.messages);
    yield { say: "Said after." };
  });
  const window = await world.window(world.project({ "a.txt": "one\n" }));
  await window.open("a.txt");
  await window.ask("before the reload");
  await window.said("Said before.");
  const again = await window.reload();
  const chat = await again.said("Cancelled.");
  holds("before the reload", await chat.innerText("body"));
  await chat.fill("#text", "after the reload");
  await chat.press("#text", "Enter");
  await again.said("Said after.");
  holds("before the reload", asked, "the conversation continues:");
});

story("an extension host that is killed in a turn takes its server along; the next shows what happened", async (world) => {
  world.model.on("before the host dies", async function* () {
    yield { calls: [["read", { path: "a.txt" }]] };
    yield { say: "Cut off.", stall: true };
  });
  const folder = world.project({ "a.txt": "one\n" });
  const window = await world.window(folder);
  await window.open("a.txt");
  await window.ask("before the host dies");
  await window.said("Cut off.");
  const [server] = window.servers();
  kill(window.inside.pid);
  await until("the server's end", () => !alive(server));
  const again = await world.window(folder, { page: window.page });
  await again.palette("Interline: Show Chat");
  const chat = await again.said("before the host dies");
  await until(async () => `how it ended: ${await chat.innerText("body")}`,
    async () => /was interrupted|Cancelled/.test(await chat.innerText("body")));
  await again.picture("after-the-host-died");
});

story("sessions in tabs: one works out of sight, and each is shown whole where it is opened", async (world) => {
  let release;
  const held = new Promise((settle) => (release = settle));
  world.model.on("work in the first tab", async function* () {
    yield { say: "It begins in the first." };
  });
  world.model.on("work long in it", async function* () {
    async function* slowly() {
      yield "Half in the first. ";
      await held;
      yield "The rest came out of sight.";
    }
    yield { deltas: slowly() };
  });
  world.model.on("work in the second tab", async function* () {
    yield { say: "Here is the second." };
  });
  const window = await world.window(world.project({ "a.txt": "one\n" }));
  await window.open("a.txt");
  await window.ask("work in the first tab");
  await window.said("It begins in the first.");
  await window.ask("work long in it");
  await window.said("Half in the first.");
  await window.palette("Interline: New Session in a Tab");
  const chat = await window.chat(), tab = (words) => chat.locator("#tabs li", { hasText: words });
  await tab("work in the first tab").locator("[aria-label='running']").waitFor();
  await window.ask("work in the second tab");
  await window.said("Here is the second.");
  same(false, (await chat.innerText("#log")).includes("first"));
  release();
  await tab("work in the first tab").locator("[aria-label='not read']").waitFor();
  await pictures(window, "tabs");
  await tab("work in the first tab").locator("button.label").click();
  await window.said("Half in the first. The rest came out of sight.");
  same([2, false], [await chat.locator(".turn").count(), (await chat.innerText("#log")).includes("second")]);
  const again = await window.reload(), view = await again.said("The rest came out of sight.");
  await view.locator("#tabs li", { hasText: "work in the second tab" }).locator("button[aria-label^='Close']").click();
  await until("one session", async () => await view.locator("#tabs").count() === 0);
});

story("two windows on one folder have a server and a session each", async (world) => {
  for (const name of ["first", "second"]) {
    world.model.on(`the ${name} window`, async function* () {
      yield { say: `Hello, ${name}.`, stall: name === "first" };
    });
  }
  const folder = world.project({ "a.txt": "one\n" });
  const first = await world.window(folder);
  await first.open("a.txt");
  await first.ask("the first window");
  await first.said("Hello, first.");
  const second = await world.window(folder);
  await second.open("a.txt");
  await second.ask("the second window");
  const chat = await second.said("Hello, second.");
  same(false, (await chat.innerText("body")).includes("Hello, first."));
  same([1, 1], [first.servers().length, second.servers().length]);
  kill(second.servers()[0]);
  await second.said("ended unexpectedly");
  await first.palette("Interline: Stop");
  await first.said("Cancelled.");
});

story("a window with two folders keeps a session for each, and registers its commands once", async (world) => {
  const roots = [];
  world.model.on("which folder", async function* ({ asked }) {
    const [result] = yield { calls: [["read", { path: "name.txt" }]] };
    roots.push([asked.includes("which folder two"), result.text.includes("two")]);
    yield { say: `Answer ${roots.length}.` };
  });
  const one = world.project({ "name.txt": "folder one\n" }), two = world.project({ "name.txt": "folder two\n" });
  const file = path.join(world.work, `both${world.projects}.code-workspace`);
  fs.writeFileSync(file, JSON.stringify({ folders: [{ path: one }, { path: two }] }));
  const window = await world.workspace(file, 2);
  for (const [root, name] of [[one, "one"], [two, "two"]]) {
    Object.defineProperty(window, "root", { value: root, configurable: true });
    await window.open("name.txt");
    await window.ask(`which folder ${name}`);
    await window.said(`Answer ${name === "one" ? 1 : 2}.`);
  }
  same([[false, false], [true, true]], roots);
  same(1, window.servers().length);
  const chat = await window.chat();
  holds(`You, in ${path.basename(two)}`, await chat.innerText("body"));
  await window.picture("two-folders");
});
