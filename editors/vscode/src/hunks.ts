// Hunks of a review, as lines of a text. Pure: knows nothing of the editor.
import { changed, map, type Typed } from "./changes.ts";
import type { Hunk } from "./protocol.ts";

/** Whether it is in the text; rejected and superseded hunks are listed only on request. */
export function present({ state }: Hunk): boolean {
  return state !== "rejected" && state !== "superseded" && state !== "proposed";
}

/** The lines that a proposed hunk would put there. */
export function proposedLines(hunk: Hunk, line: (at: number) => string): string[] {
  const { before: after, after: before } = hunk;
  return removedLines({ ...hunk, before, after }, line);
}

/** The first and the last line of a hunk. One that only removed text has the line it was on. */
export function lines({ range: { start, end } }: Hunk): [number, number] {
  const whole = end.character === 0 && end.line > start.line;
  return [start.line, whole ? end.line - 1 : end.line];
}

/** Whether both texts are whole lines; otherwise they are parts of lines that stay. */
export function wholeLines({ range, before, after }: Hunk): boolean {
  const ends = (text: string): boolean => text === "" || text.endsWith("\n");
  return range.start.character === 0 && ends(before) && ends(after);
}

/** Lines that a hunk added and removed. */
export function counts(hunk: Hunk): { added: number; removed: number } {
  const rest = wholeLines(hunk) ? 0 : 1;
  const count = (text: string): number => text.split("\n").length - 1 + rest;
  return { added: count(hunk.after), removed: count(hunk.before) };
}

/** The lines that were there before; `line` gives the current ones. */
export function removedLines(hunk: Hunk, line: (at: number) => string): string[] {
  const { range: { start, end }, before } = hunk;
  if (wholeLines(hunk)) return before.split(/\r?\n/).slice(0, -1);
  const head = line(start.line).slice(0, start.character);
  return `${head}${before}${line(end.line).slice(end.character)}`.split(/\r?\n/);
}

/** Moves the hunks with what was typed; what was typed into one is known after the next listing. */
export function follow(hunks: Hunk[], typed: readonly Typed[]): Hunk[] {
  const edits = typed.map((each) => changed(0, each));
  return hunks.map((hunk) => {
    const range = edits.reduce((at, edit) => map(at, edit) ?? at, hunk.range);
    return { ...hunk, range };
  });
}

/** The hunks on these lines. */
export function touching(hunks: Hunk[], from: number, to: number): Hunk[] {
  return hunks.filter((hunk) => {
    const [first, last] = lines(hunk);
    return first <= to && from <= last;
  });
}
