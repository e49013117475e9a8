// What README.md leads to, from a clean home and by the palette alone: first prompt, an approval, an
// edit of an unsaved buffer, undo, cancel. Kept: pictures, and the text of the view as walk.txt.
import fs from "node:fs";
import path from "node:path";
import { picture } from "../harness/pictures.mjs";
import { same, story, until } from "../harness/runner.mjs";

const cart = `"""The shopping cart."""


def total(prices, discount=0):
    """The sum to pay in cents, after the discount in percent."""
    full = sum(prices)
    return full - full * discount / 10
`;

story("walk from a clean home: first prompt, approval, edit of an unsaved buffer, undo, cancel", async (world) => {
  world.model.on("What does total do?", async function* () {
    yield { say: "It adds the prices and subtracts the discount. A discount of 20 takes off twice the sum: the divisor is 10, not 100." };
  });
  world.model.on("Fix the discount", async function* () {
    yield { calls: [["read", { path: "cart.py" }]] };
    yield { calls: [["edit", { path: "cart.py", old_string: "discount / 10", new_string: "discount / 100" }]] };
    yield { say: "Percent are now hundredths: 20 % off 10.00 is 8.00." };
  });
  world.model.on("Add a test", async function* () {
    yield { say: "I will add a test", stall: true };
  });
  const window = await world.window(world.project({ "cart.py": cart }));
  const keep = async (name) => {
    await picture(window, `walk-${name}`);
    const view = await (await window.chat()).innerText("body");
    fs.appendFileSync(path.join(world.pictures, "walk.txt"), `== ${name}\n${view}\n== cart.py\n${await window.text("cart.py")}\n`);
  };
  await window.open("cart.py");
  await window.ask("What does total do?");
  await window.said("It adds the prices and subtracts the discount. A discount of 20 takes off twice the sum: the divisor is 10, not 100.");
  await keep("1-first-prompt");
  await window.goto(1);
  await window.focusEditor();
  await window.page.keyboard.press("End");
  await window.page.keyboard.type("\n# Prices are in cents.");
  const typed = cart.replace("\n", "\n# Prices are in cents.\n");
  await until("the keys", async () => (await window.text("cart.py")) === typed);
  await window.ask("Fix the discount");
  const chat = await window.said("discount / 100");
  await chat.waitForSelector("#cards:not([aria-disabled]) .card");
  await keep("2-approval");
  await chat.click("#cards:not([aria-disabled]) .card button:text-is('Allow')");
  await window.said("Percent are now hundredths: 20 % off 10.00 is 8.00.");
  same(typed.replace("/ 10", "/ 100"), await window.text("cart.py"));
  same(cart, window.disk("cart.py"), "nothing is on disk");
  await keep("3-edit-of-the-unsaved-buffer");
  await window.focusEditor();
  await window.page.keyboard.press("Control+z");
  await until("the undo", async () => (await window.text("cart.py")) === typed);
  await keep("4-undo");
  await window.ask("Add a test");
  await window.said("I will add a test");
  await window.palette("Interline: Stop");
  await window.said("Cancelled.");
  await keep("5-cancel");
});
