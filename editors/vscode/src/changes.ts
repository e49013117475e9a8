// What was told of each document: its versions and the changes between them, so that an edit made
// for an older version is mapped onto the present text. Pure: knows nothing of the editor.

import type { TextEdit as Edit, WirePosition as Position, WireRange as Range } from "./protocol.ts";

export type { Edit, Position, Range };
/** A change as the editor tells it. */
export interface Typed { range: Range; text: string }
/** `old` is where the replaced text ended, `new` where the new text ends. */
export interface Change { version: number; start: Position; old: Position; new: Position }

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
    for (const { range: { start, end }, text } of edits) {
      changes.push({ version, start, old: end, new: ending(start, text) });
    }
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

/** Where text that begins there ends. */
function ending({ line, character }: Position, text: string): Position {
  const lines = text.split(/\r\n|\r|\n/), last = lines.at(-1)!.length;
  return { line: line + lines.length - 1, character: lines.length > 1 ? last : character + last };
}

function before(a: Position, b: Position): boolean {
  return a.line < b.line || (a.line === b.line && a.character < b.character);
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

/** All edits after `changes`; undefined on a conflict. */
export function rebase(edits: Edit[], changes: Change[]): Edit[] | undefined {
  const moved = edits.flatMap(({ range, newText }) => {
    const now = changes.reduce<Range | undefined>((at, change) => at && map(at, change), range);
    return now ? [{ range: now, newText }] : [];
  });
  return moved.length === edits.length ? moved : undefined;
}
