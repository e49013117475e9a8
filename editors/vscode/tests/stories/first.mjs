// From a clean home: the first prompt, streaming, an approval, an edit of an unsaved buffer, undo,
// save, cancel, the prompt's preview.
import { holds, same, story, until } from "../harness/runner.mjs";

const ok = ({ error, text }) => {
  if (error) throw new Error(text);
};

story("a first prompt streams into the chat, and an unsaved buffer is read, edited and undone", async (world) => {
  let release;
  const held = new Promise((settle) => (release = settle));
  world.model.on("please shout", async function* () {
    const [read] = yield { say: "I look at the file.", calls: [["read", { path: "first.txt" }]] };
    ok(read);
    holds("two typed", read.text, "the model reads the unsaved text:");
    async function* slowly() {
      yield "Half of ";
      await held;
      yield "an answer.";
    }
    const [edited] = yield { deltas: slowly(), calls: [["edit", { path: "first.txt", old_string: "two typed", new_string: "TWO TYPED" }]] };
    ok(edited);
    yield { say: "Done." };
  });
  const window = await world.shared({ "first.txt": "one\ntwo\nthree\n" });
  await window.goto(2, 4);
  await window.focusEditor();
  await window.page.keyboard.type(" typed");
  await until("the keys", async () => (await window.text("first.txt")) === "one\ntwo typed\nthree\n");
  await window.ask("please shout");
  await window.said("Half of");
  await window.picture("streaming");
  release();
  await window.said("Done.");
  await window.said("Changed first.txt");
  same("one\nTWO TYPED\nthree\n", await window.text("first.txt"));
  same("one\ntwo\nthree\n", window.disk("first.txt"), "nothing is on disk");
  same(true, await window.dirty("first.txt"));
  await window.picture("first-prompt");
  await window.focusEditor();
  await window.page.keyboard.press("Control+z");
  await until("one undo", async () => (await window.text("first.txt")) === "one\ntwo typed\nthree\n");
  await window.picture("undone");
  await window.page.keyboard.press("Control+z");
  await until("two undos", async () => (await window.text("first.txt")) === "one\ntwo\nthree\n");
});
