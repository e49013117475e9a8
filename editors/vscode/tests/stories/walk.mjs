// What README.md leads to, from a clean home and by the palette alone: first prompt, an approval, an
// edit of an unsaved buffer, undo, cancel. Kept: pictures, and the text of the view as walk.txt.
import fs from "node:fs";
import path from "node:path";
import { same, story, until } from "../harness/runner.mjs";

story("walk from a clean home: first prompt, approval, edit of an unsaved buffer, undo, cancel", async (world) => {
  world.model.on("what does it do", async function* () {
    yield { say: "Three steps, in order." };
  });
  world.model.on("make two 2", async function* () {
    yield { say: "I look at it.", calls: [["read", { path: "cart.txt" }]] };
    yield { calls: [["edit", { path: "cart.txt", old_string: "step two", new_string: "step 2" }]] };
    yield { say: "Two is 2 now." };
  });
  world.model.on("think about it", async function* () {
    yield { say: "I think", stall: true };
  });
  const window = await world.window(world.project({ "cart.txt": "step one\nstep two\nstep three\n" }));
  const keep = async (name) => {
    await window.picture(`walk-${name}`);
    const view = await (await window.chat()).innerText("body");
    fs.appendFileSync(path.join(world.pictures, "walk.txt"), `== ${name}\n${view}\n== cart.txt\n${await window.text("cart.txt")}\n`);
  };
  await window.open("cart.txt");
  await window.ask("what does it do");
  await window.said("Three steps, in order.");
  await keep("1-first-prompt");
  await window.goto(1);
  await window.focusEditor();
  await window.page.keyboard.press("End");
  await window.page.keyboard.type("\nstep mine");
  const typed = "step one\nstep mine\nstep two\nstep three\n";
  await until("the keys", async () => (await window.text("cart.txt")) === typed);
  await window.ask("make two 2");
  const chat = await window.said("+step 2");
  await keep("2-approval");
  await chat.click("#cards:not([aria-disabled]) .card button:text-is('Allow')");
  await window.said("Two is 2 now.");
  same(typed.replace("two", "2"), await window.text("cart.txt"));
  same("step one\nstep two\nstep three\n", window.disk("cart.txt"), "nothing is on disk");
  await keep("3-edit-of-the-unsaved-buffer");
  await window.focusEditor();
  await window.page.keyboard.press("Control+z");
  await until("the undo", async () => (await window.text("cart.txt")) === typed);
  await keep("4-undo");
  await window.ask("think about it");
  await window.said("I think");
  await window.palette("Interline: Stop");
  await window.said("Cancelled.");
  await keep("5-cancel");
});
