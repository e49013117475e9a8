// Stories: each a sentence with a body. Waiting is polling with a deadline, never a pause.
import { isDeepStrictEqual, inspect } from "node:util";

const stories = [];
export const story = (name, body) => stories.push({ name, body });

/** Polls until `condition` gives something true, and gives that. */
export async function until(what, condition, ms = 30_000) {
  const end = Date.now() + ms;
  let last;
  for (;;) {
    try {
      last = undefined;
      const value = await condition();
      if (value) return value;
    } catch (error) {
      last = error;
    }
    if (Date.now() > end) break;
    await new Promise((settle) => setTimeout(settle, 20));
  }
  const words = typeof what === "function" ? await what() : what;
  throw new Error(`waited ${ms / 1000} s for ${words}${last ? `: ${last}` : ""}`);
}

export function same(wanted, got, words = "") {
  if (!isDeepStrictEqual(wanted, got)) {
    throw new Error(`${words}\n  wanted ${inspect(wanted, { depth: 9 })}\n  got    ${inspect(got, { depth: 9 })}`);
  }
}

export function holds(part, whole, words = "") {
  if (!String(whole).includes(part)) throw new Error(`${words} ${inspect(part)} is not in:\n${whole}`);
}

export async function run(world) {
  let passed = 0, failed = 0;
  const chosen = process.env.STORY;
  for (const { name, body } of stories) {
    if (chosen && !name.includes(chosen)) continue;
    const began = Date.now();
    try {
      await body(world);
      world.check?.();
      passed += 1;
      console.log(`ok   ${name} (${((Date.now() - began) / 1000).toFixed(1)} s)`);
    } catch (error) {
      failed += 1;
      console.log(`FAIL ${name}\n${String(error?.stack ?? error).replace(/^/gm, "     ")}`);
      await world.onFailure?.(name);
    } finally {
      await world.afterEach?.();
    }
  }
  return { passed, failed };
}
