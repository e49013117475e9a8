// A window with a tap on the wire between the extension and its server.
import fs from "node:fs";
import path from "node:path";
import { until } from "./runner.mjs";

const TAP = path.join(path.dirname(new URL(import.meta.url).pathname), "tap.mjs");
const door = (window) => `http://127.0.0.1:${fs.readFileSync(window.tap, "utf8")}`;

/** Opens a window on a project with these files, and the first of them. */
export async function tapped(world, files) {
  const tap = path.join(world.work, `tap-${world.projects}`), { env } = world.serverSettings();
  world.settings({ "interline.server.path": TAP, "interline.server.env": { ...env, TAP: tap, TAPPED: world.interline } });
  const window = await world.window(world.project(files));
  await until("the tap", () => fs.existsSync(tap));
  world.settings({});
  window.tap = tap;
  await window.open(Object.keys(files)[0]);
  return window;
}

/** What the extension answers to a question of its server's. */
export async function ask(window, params) {
  const response = await fetch(door(window), { method: "POST", body: JSON.stringify({ method: "interline/editor/query", params }) });
  const { result, error } = await response.json();
  if (error) throw new Error(error.message);
  return result;
}

/** The languages that the extension last told its server. */
export async function known(window) {
  return await (await fetch(door(window))).json() ?? [];
}

/** Waits until the language can be asked about. */
export function knows(window, language) {
  return until(`the language ${language}`, async () => (await known(window)).includes(language), 120_000);
}
