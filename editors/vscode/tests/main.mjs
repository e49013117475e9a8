// Runs the stories: node main.mjs PREFIX VSIX INTERLINE WORK PICTURES
import { readdirSync } from "node:fs";
import { Model } from "./harness/model.mjs";
import { World } from "./harness/code.mjs";
import { run } from "./harness/runner.mjs";

const [prefix, vsix, interline, work, pictures] = process.argv.slice(2);
const chosen = process.env.ONLY?.split(" ");
for (const name of readdirSync(new URL("stories/", import.meta.url)).sort()) {
  if (!chosen || chosen.includes(name.replace(".mjs", ""))) await import(`./stories/${name}`);
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
