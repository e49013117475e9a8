// Runs the stories: node main.mjs PREFIX VSIX INTERLINE WORK PICTURES
import { Model } from "./harness/model.mjs";
import { World } from "./harness/code.mjs";
import { run } from "./harness/runner.mjs";

const [prefix, vsix, interline, work, pictures] = process.argv.slice(2);
const chosen = process.env.ONLY?.split(" ");
// The first prompt comes first: from a clean home.
for (const name of ["walk", "first", "chat", "approvals", "sandbox", "composer", "start", "typing", "flood", "pages", "sessions", "review", "editor", "query", "rust"]) {
  if (!chosen || chosen.includes(name)) await import(`./stories/${name}.mjs`);
}
const model = await Model.start();
let world, counts = { passed: 0, failed: 1 };
try {
  world = await World.start({ prefix, vsix, interline, work, pictures, model });
  counts = await run(world);
} catch (error) {
  console.log(`FAIL ${error?.stack ?? error}`);
} finally {
  await world?.stop();
  model.close();
}
console.log(`COUNT ${counts.passed} ${counts.failed}`);
process.exit(counts.failed > 0 ? 1 : 0);
