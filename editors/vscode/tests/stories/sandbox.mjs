// Commands in the sandbox see what is on the screen; what they write comes back as an edit.
import { execFileSync } from "node:child_process";
import { holds, same, story, until } from "../harness/runner.mjs";

const BEFORE = "pub fn total(prices: &[u32]) -> u32 {\n    prices.len() as u32\n}\n\n#[test]\nfn sum() {\n    assert_eq!(total(&[2, 3]), 5);\n}\n";
const CARGO = "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
// The toolchain is found by the PATH of the tests and below the user's own home, which the stories do
// not have.
const TOOLS = `HOME='${process.env.HOME}' PATH='${process.env.PATH}'`;

function skipped(world) {
  const doctor = execFileSync(world.interline, ["doctor"], { env: world.env, encoding: "utf8" });
  if (!/^sandbox +full/m.test(doctor)) return "the sandbox is not complete here";
  try {
    execFileSync("cargo", ["fmt", "--version"], { stdio: "pipe" });
  } catch {
    return "cargo or rustfmt is not installed";
  }
}

story("a fix that is not saved is tested, and a formatter's change is an edit to review", async (world) => {
  const why = skipped(world);
  if (why) return console.log(`skipped: ${why}`);
  const seen = [];
  world.model.on("test and format", async function* () {
    for (const command of ["cargo test --offline --quiet 2>&1", "cargo fmt"]) {
      const [result] = yield { calls: [["exec", { command: `${TOOLS} ${command}` }]] };
      seen.push(result.text);
    }
    yield { say: "Formatted." };
  });
  world.settings({ "interline.sandbox.mode": "auto", "interline.approvals": "auto" });
  const window = await world.window(world.project({ "src/lib.rs": BEFORE, "Cargo.toml": CARGO }));
  await window.command("interline.trust");
  await window.open("src/lib.rs");
  await window.goto(2, 1);
  await window.page.keyboard.press("Shift+End");
  await window.page.keyboard.type("  prices.iter().sum()");
  const typed = BEFORE.replace("    prices.len() as u32", "  prices.iter().sum()");
  await until("what was typed", async () => await window.text("src/lib.rs") === typed);
  await window.ask("test and format");
  await window.said("Formatted.", 120_000);
  holds("1 passed", seen[0]);
  holds("The command changed `src/lib.rs`", seen[1]);
  same(BEFORE, window.disk("src/lib.rs"), "the file on disk");
  same(BEFORE.replace("prices.len() as u32", "prices.iter().sum()"), await window.text("src/lib.rs"));
  await until("the change to review", async () => (await window.eval(`
    const uri = vscode.window.activeTextEditor.document.uri;
    const lenses = await vscode.commands.executeCommand("vscode.executeCodeLensProvider", uri);
    return lenses.filter((it) => it.command?.title.includes("Keep")).length`)) > 0);
  await window.focusEditor();
  await window.page.keyboard.press("Control+z");
  await until(async () => `one undo\n${await window.text("src/lib.rs")}`, async () => await window.text("src/lib.rs") === typed);
  world.settings({});
});
