// What was sent for each document: its versions and the changes between them, so that an edit made
// for an older version is mapped onto the current text. Pure: knows nothing of the editor.

import type { TextEdit as Edit, WirePosition as Position, WireRange as Range } from "./protocol.ts";

export type { Edit, Position, Range };
/** Whether a text begins, and ends, with a character of a word. */
interface Edges { first: boolean; last: boolean }
/** A change as the editor tells it. */
export interface Typed { range: Range; text: string }
/**
 * `old` is where the replaced text ended, `new` where the new text ends; `first` and `last`:
 * whether the new text begins, and ends, with a character of a word.
 */
export interface Change extends Edges {
  version: number; start: Position; old: Position; new: Position;
  text: string;
}

interface Document {
  version: number;
  /** The oldest version that `changes` leads on from. */
  first: number;
  changes: Change[];
  /** Versions up to this one were used before the document was closed and opened again. */
  reused: number;
  /** Hashes of the texts at reused versions, which a version alone does not name. */
  hashes: Map<number, string>;
}

/** Changes kept for each document. */
const KEEP = 1024;

export class ChangeLog {
  private readonly documents = new Map<string, Document>();

  opened(uri: string, version: number, hash: () => string): void {
    const { version: last, reused } = this.documents.get(uri) ?? { version: 0, reused: 0 };
    const again = { reused: Math.max(last, reused), hashes: new Map() };
    this.documents.set(uri, { version, first: version, changes: [], ...again });
    this.changed(uri, version, [], hash);
  }

  changed(uri: string, version: number, edits: readonly Typed[], hash: () => string): void {
    const document = this.documents.get(uri);
    if (!document) return;
    const { changes, reused, hashes } = document;
    changes.push(...edits.map((edit) => changed(version, edit)));
    document.version = version;
    // The changes of one version count only together, so none is led on from if one is gone.
    if (changes.length > KEEP) document.first = changes.splice(0, KEEP / 2).at(-1)!.version;
    if (version <= reused) hashes.set(version, hash());
  }

  closing(uri: string): void {
    const document = this.documents.get(uri);
    if (document) Object.assign(document, { first: Infinity, changes: [] });
  }

  /** The changes after `version`, oldest first; undefined where they are not known. */
  since(uri: string, version: number, hash: string): Change[] | undefined {
    const document = this.documents.get(uri);
    if (!document || version < document.first || version > document.version) return undefined;
    if (version <= document.reused && document.hashes.get(version) !== hash) return undefined;
    return document.changes.filter((change) => change.version > version);
  }
}

export function changed(version: number, { range: { start, end }, text }: Typed): Change {
  return { version, start, old: end, new: ending(start, text), text, ...edges(text) };
}

/** Where text that begins there ends. */
function ending({ line, character }: Position, text: string): Position {
  const lines = text.split(/\r\n|\r|\n/), last = lines.at(-1)!.length;
  return { line: line + lines.length - 1, character: lines.length > 1 ? last : character + last };
}

function before(a: Position, b: Position): boolean {
  return a.line < b.line || (a.line === b.line && a.character < b.character);
}

function equal(a: Position, b: Position): boolean {
  return a.line === b.line && a.character === b.character;
}

function shift({ line, character }: Position, change: Change): Position {
  const sameLine = line === change.old.line;
  return {
    line: line + change.new.line - change.old.line,
    character: character + (sameLine ? change.new.character - change.old.character : 0),
  };
}

/**
 * Maps a range through a change; undefined where both touch the same text. What is inserted exactly
 * at an edit's start stays in front of it, at its end behind it.
 */
export function map(range: Range, change: Change): Range | undefined {
  const inserts = !before(change.start, change.old);
  if (inserts ? !before(range.start, change.start) : !before(range.start, change.old)) {
    return { start: shift(range.start, change), end: shift(range.end, change) };
  }
  return before(change.start, range.end) ? undefined : range;
}

function edges(text: string): Edges {
  const first = /^[\p{Alphabetic}\p{N}_]/u.test(text), last = /[\p{Alphabetic}\p{N}_]$/u.test(text);
  return { first, last };
}

/**
 * Whether the change touches the edit within a word, as the server's rule has it: `5` that became
 * `55` must not become `65`. Removed text is not known here, so it is taken for a word's unless it
 * ended with a line.
 */
function joins({ start, end }: Range, edit: Edges, change: Change): boolean {
  const removes = before(change.start, change.old), insertion = !before(start, end);
  const ahead = equal(change.old, start) && edit.first
    && (change.last || (removes && start.character > 0));
  const behind = equal(change.start, end) && edit.last && (change.first || removes);
  return ahead || (behind && (removes || !insertion));
}

/** Whether `a` inserted at `from` and `b` at `to` make the same text: `b` is `a`, rotated. */
function same(from: Position, a: string, to: Position, b: string): boolean {
  const twice = a + a;
  for (let at = twice.indexOf(b); at >= 0 && at < a.length; at = twice.indexOf(b, at + 1)) {
    if (equal(ending(from, a.slice(0, at)), to)) return true;
  }
  return false;
}

/** Whether `part` is in `text`, without the blanks around it, and worth looking for. */
function holds(text: string, part: string): boolean {
  return part.replace(/\s/g, "").length >= 3 && text.includes(part.trim());
}

/**
 * Whether the change inserted what the edit inserts, more than that, or lines of it: an undo that
 * came first.
 */
function repeats({ start, end }: Range, text: string, change: Change): boolean {
  if (!text.trim()) return false;
  const beside = (at: Position) => !before(at, change.start) && !before(change.old, at);
  const touches = beside(start);
  const lines = change.text.includes("\n") && holds(text, change.text);
  if (lines && (touches || beside(end))) return true;
  if (before(start, end)) return false;
  if (touches && holds(change.text, text)) return true;
  if (text.length !== change.text.length) return false;
  return (touches && text === change.text)
    || same(change.start, change.text, start, text) || same(start, text, change.start, change.text);
}

/**
 * All edits after `changes`; undefined on a conflict. `old` gives the current text of a range: what
 * an edit replaces has not changed where it could be mapped.
 */
export function rebase(
  edits: Edit[], changes: Change[], old: (range: Range) => string,
): Edit[] | undefined {
  const moved: Edit[] = [];
  for (const { range, newText } of edits) {
    const places = [range];
    for (const change of changes) {
      const place = places.at(-1)!;
      const next = repeats(place, newText, change) ? undefined : map(place, change);
      if (!next) return undefined;
      places.push(next);
    }
    const now = places.at(-1)!, replaced = edges(old(now)), replacing = edges(newText);
    const edit = {
      first: replaced.first || replacing.first, last: replaced.last || replacing.last,
    };
    if (changes.some((change, at) => joins(places[at]!, edit, change))) return undefined;
    moved.push({ range: now, newText });
  }
  return moved;
}
