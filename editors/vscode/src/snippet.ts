// Where a piece of code from an answer belongs in a file. Pure: knows nothing of the editor.
import { patched } from "./patch.ts";

/** Lines that are everywhere say nothing about a place. */
const TRIVIAL = /^[\s{}()[\];,]*$|^(end|else|fi|done)$/;
/** A comment that stands for code that is left out. */
const LEFT_OUT = /^\s*(\/\/|#|--|\/\*|<!--|;)\s*(\.\.\.|…)/;
const DIFF = /^@@ -\d+/m;
/** Lines of a file, and of a piece, that are compared. */
const MOST = 4_000_000;

/** The text with the code in its place, or undefined where that is not clear. */
export function placed(text: string, code: string): string | undefined {
  if (DIFF.test(code)) return patched(text, code);
  const end = text.includes("\r\n") ? "\r\n" : "\n";
  const made = code.split(/\r?\n/), old = text.split(/\r?\n/);
  while (made.length > 0 && made.at(-1)!.trim() === "") made.pop();
  if (made.some((line) => LEFT_OUT.test(line)) || made.length === 0) return undefined;
  if (text.trim() === "") return made.join(end) + end;
  const pairs = common(old, made), [first] = pairs, last = pairs.at(-1);
  if (!first || !last) return undefined;
  let [from, at] = first, [to, until] = last;
  // Lines before and after what they share were changed where they resemble each other.
  while (at > 0 && from > 0 && resemble(old[from - 1]!, made[at - 1]!)) {
    [from, at] = [from - 1, at - 1];
  }
  while (until < made.length - 1 && to < old.length - 1
    && resemble(old[to + 1]!, made[until + 1]!)) [to, until] = [to + 1, until + 1];
  const margin = indent(old[first[0]]!), own = indent(made[first[1]]!);
  const lines = made.map((line) => moved(line, own, margin));
  return [...old.slice(0, from), ...lines, ...old.slice(to + 1)].join(end);
}

const indent = (line: string): string => /^[ \t]*/.exec(line)![0];

/** A line of the code as deep as the file has it. */
function moved(line: string, own: string, margin: string): string {
  if (own === margin || line.trim() === "") return line;
  if (margin.endsWith(own)) return margin.slice(0, margin.length - own.length) + line;
  return line.startsWith(own) ? margin + line.slice(own.length) : line;
}

/** Whether one line is probably the other after a change: they begin alike. */
function resemble(a: string, b: string): boolean {
  const [one, two] = [a.trim(), b.trim()], least = Math.min(one.length, two.length);
  if (one === two) return true;
  let same = 0;
  while (same < least && one[same] === two[same]) same += 1;
  return same >= 4 && same * 2 >= least;
}

/** The lines that both have, in order: the most that do not cross; as places in each. */
function common(old: string[], made: string[]): [number, number][] {
  const a = old.map((line) => line.trim()), b = made.map((line) => line.trim());
  if (a.length * b.length > MOST) return [];
  const worth = (line: string): number => TRIVIAL.test(line) ? 0 : 1;
  const best = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const both = a[i] === b[j] && worth(a[i]!) ? best[i + 1]![j + 1]! + 1 : 0;
      best[i]![j] = Math.max(both, best[i + 1]![j]!, best[i]![j + 1]!);
    }
  }
  const pairs: [number, number][] = [];
  for (let i = 0, j = 0; i < a.length && j < b.length && best[i]![j]! > 0;) {
    const left = best[i]![j]!;
    if (a[i] === b[j] && worth(a[i]!) && best[i + 1]![j + 1]! + 1 === left) pairs.push([i++, j++]);
    else if (best[i + 1]![j] === left) i += 1;
    else j += 1;
  }
  return pairs;
}
