// What was told of each document: its versions and the changes between them, so that an edit made
// for an older version is mapped onto the present text. Pure: knows nothing of the editor.

export interface Position { line: number; character: number }
export interface Range { start: Position; end: Position }
export interface Edit { range: Range; newText: string }
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
  private readonly closed = new Map<string, number>();

  opened(uri: string, version: number, hash: () => string): void {
    const document = {
      version, first: version, changes: [], reused: this.closed.get(uri) ?? 0, hashes: new Map(),
    };
    this.documents.set(uri, document);
    this.note(document, hash);
  }

  changed(uri: string, version: number, edits: { range: Range; text: string }[], hash: () => string): void {
    const document = this.documents.get(uri);
    if (!document) return;
    for (const { range: { start, end }, text } of edits) {
      document.changes.push({ version, start, old: end, new: ending(start, text) });
    }
    document.version = version;
    // The changes of one version count only together.
    while (document.changes.length > KEEP) {
      document.first = document.changes[0]!.version;
      const kept = document.changes.findIndex((change) => change.version !== document.first);
      document.changes.splice(0, kept < 0 ? document.changes.length : kept);
    }
    this.note(document, hash);
  }

  closing(uri: string): void {
    const document = this.documents.get(uri);
    if (document) this.closed.set(uri, Math.max(document.version, document.reused));
    this.documents.delete(uri);
  }

  /** The changes after `version`, oldest first; undefined where they are not known. */
  since(uri: string, version: number, hash: string): Change[] | undefined {
    const document = this.documents.get(uri);
    if (!document || version < document.first || version > document.version) return undefined;
    if (version <= document.reused && document.hashes.get(version) !== hash) return undefined;
    return document.changes.filter((change) => change.version > version);
  }

  private note(document: Document, hash: () => string): void {
    if (document.version <= document.reused) document.hashes.set(document.version, hash());
  }
}

/** Where text that begins at `start` ends. */
function ending(start: Position, text: string): Position {
  const lines = text.split(/\r\n|\r|\n/);
  const last = lines[lines.length - 1]!.length;
  return lines.length === 1
    ? { line: start.line, character: start.character + last }
    : { line: start.line + lines.length - 1, character: last };
}

function before(a: Position, b: Position): boolean {
  return a.line < b.line || (a.line === b.line && a.character < b.character);
}

function shift(at: Position, change: Change): Position {
  return at.line === change.old.line
    ? { line: change.new.line, character: change.new.character + at.character - change.old.character }
    : { line: at.line + change.new.line - change.old.line, character: at.character };
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
  const moved: Edit[] = [];
  for (const edit of edits) {
    let range: Range | undefined = edit.range;
    for (const change of changes) {
      range = map(range, change);
      if (!range) return undefined;
    }
    moved.push({ range, newText: edit.newText });
  }
  return moved;
}
