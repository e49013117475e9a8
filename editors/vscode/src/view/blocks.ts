// Cuts Markdown that is still streaming into blocks: all but the last are final and are rendered
// once, so that a frame costs as much as the end of the text and not as the whole of it.

/** A piece of Markdown, or the code of a fence. `joined`: continues the paragraph before it. */
export interface Block {
  kind: "text" | "code";
  text: string;
  lang?: string;
  /** The file that a fence names. */
  path?: string;
  joined?: boolean;
  /** Whether more may come: its end is not there yet. */
  open?: boolean;
}

/** Characters after which a paragraph or a list is cut at the next place that allows it. */
const LONG = 2_000;
const FENCE = /^( {0,3})(`{3,}|~{3,})\s*([^\s`]*)([^`]*)$/;
const LIST = /^ {0,3}([-*+]|\d{1,9}[.)])(\s|$)/;
/** An item of the outermost list, whatever follows on its line. */
const ITEM = /^([-*+]|\d{1,9}[.)])\s+\S/;
/** What a paragraph cannot begin with, so that it can be cut at a line's end. */
const SPECIAL = /^ {0,3}([-*+>|#]|\d+[.)]|={2,}| {4})|\|/;

const blank = (line: string): boolean => line.trim() === "";

/** A text that grows; `blocks` is what to show. */
export class Source {
  private text = "";
  /** The final blocks, and where the text after them begins. */
  private final: Block[] = [];
  private start = 0;
  private joined = false;
  private shown: Block[] | undefined;
  /** Whether nothing more comes. */
  done = false;
  /** What the blocks' Markdown shares: the addresses that one of them defines. */
  readonly env: Record<string, never> = {};

  append(more: string): void {
    this.text += more;
    this.shown = undefined;
  }

  /** The whole text. What streamed is mostly the same, and stays as it is. */
  set(text: string): void {
    this.done = true;
    this.shown = undefined;
    if (this.text === text) return;
    Object.assign(this, { text, final: [], start: 0, joined: false });
  }

  end(): void {
    if (this.done) return;
    this.done = true;
    this.shown = undefined;
  }

  get length(): number {
    return this.text.length;
  }

  get blocks(): Block[] {
    if (this.shown) return this.shown;
    const rest = cut(this.text.slice(this.start), this.done, this.joined);
    this.final.push(...rest.blocks);
    this.joined = rest.joined;
    this.start += rest.used;
    return this.shown = rest.tail ? [...this.final, rest.tail] : [...this.final];
  }
}

/** `joined`: whether what follows continues the last final block. */
interface Cut { blocks: Block[]; tail?: Block; used: number; joined: boolean }

/** The final blocks of a text, how much of it they are, and what is left. */
export function cut(text: string, done: boolean, continued = false): Cut {
  const lines = text.split(/(?<=\n)/), blocks: Block[] = [];
  let at = 0, used = 0, offset = 0, joined = continued;
  while (at < lines.length) {
    const line = lines[at]!, whole = done || line.endsWith("\n");
    const fence = FENCE.exec(line.trimEnd());
    if (blank(line)) {
      [offset, at] = [offset + line.length, at + 1];
      if (!whole) break;
      [used, joined] = [offset, false];
      continue;
    }
    const end = fence ? fenceEnd(lines, at, fence[2]!) : textEnd(lines, at, done);
    const taken = lines.slice(at, end.at).join("");
    offset += taken.length;
    at = end.at;
    const block = fence ? code(taken, fence, end.closed) : paragraph(taken, joined);
    if (!end.closed && !done) return { blocks, tail: { ...block, open: true }, used, joined };
    blocks.push(block);
    [used, joined] = [offset, end.joins === true];
  }
  return { blocks, used, joined };
}

interface End { at: number; closed: boolean; joins?: boolean }

function fenceEnd(lines: string[], from: number, mark: string): End {
  for (let at = from + 1; at < lines.length; at++) {
    const line = lines[at]!.trim();
    const closes = line.length >= mark.length && line === mark[0]!.repeat(line.length);
    if (closes && lines[at]!.search(/\S/) < 4) return { at: at + 1, closed: true };
  }
  return { at: lines.length, closed: false };
}

/** Where the text that begins there ends: at a blank line, before a fence, or where it is long. */
function textEnd(lines: string[], from: number, done: boolean): End {
  const first = lines[from]!, list = LIST.test(first), plain = !SPECIAL.test(first);
  let size = 0, inner: string | undefined;
  for (let at = from; at < lines.length; at++) {
    const line = lines[at]!, next = lines[at + 1], fence = FENCE.exec(line.trimEnd());
    const inside = list && (fence?.[1] !== "" || inner !== undefined);
    if (fence && inside) inner = inner ? undefined : fence[2];
    else if (fence && at > from && (done || line.endsWith("\n"))) return { at, closed: true };
    size += line.length;
    if (inner) continue;
    if (blank(line)) {
      const follows = lines.slice(at).findIndex((it) => !blank(it));
      const after = follows < 0 ? undefined : lines[at + follows]!;
      if (after === undefined || !(done || after.endsWith("\n") || after.length > 12)) continue;
      const continues = list && (/^\s{2,}/.test(after) || (LIST.test(after) && size < LONG));
      if (!continues) return { at, closed: true };
    }
    if (list && size > LONG && next !== undefined && ITEM.test(next)) {
      return { at: at + 1, closed: true, joins: true };
    }
    const full = plain && size > LONG && next !== undefined && !blank(next) && !SPECIAL.test(next);
    if (full && line.endsWith("\n")) return { at: at + 1, closed: true, joins: true };
  }
  return { at: lines.length, closed: false };
}

/** A file in a fence's first line or in a comment above the code: `ts src/a.ts`, `// src/a.ts`. */
const NAMED = /(?:^|[\s:="'])((?:[\w@.+-]+\/)*[\w@.+-]+\.[A-Za-z]\w{0,9})["']?\s*$/;
const COMMENT = /^\s*(?:\/\/|#|--|<!--|\/\*)\s*((?:[\w@.+-]+\/)*[\w@.+-]+\.[A-Za-z]\w{0,9})/;

/** The file that a piece of code is for, if it says so. */
function named(fence: string, first: string): string | undefined {
  return NAMED.exec(fence)?.[1]
    ?? (/^\s*\S+\s+\S+\s*(-->|\*\/)?\s*$/.test(first) ? COMMENT.exec(first)?.[1] : undefined);
}

function code(
  taken: string, [, indent, mark, word, rest]: RegExpExecArray, closed: boolean,
): Block {
  const lines = taken.split("\n").slice(1);
  if (closed) lines.splice(lines.findLastIndex((line) => line.trim().startsWith(mark!)));
  const margin = new RegExp(`^ {0,${indent!.length}}`);
  const text = lines.map((line) => line.replace(margin, "")).join("\n").replace(/\n$/, "");
  const lang = word!.replace(/:.*/, ""), fence = word!.includes(":") ? word! : rest!;
  const path = named(fence, lines[0] ?? "");
  return { kind: "code", text, lang, ...path && { path } };
}

function paragraph(text: string, joined: boolean): Block {
  return joined ? { kind: "text", text, joined } : { kind: "text", text };
}

/** Closes marks that a streaming text has opened, so that they do not flash as characters. */
export function mend(text: string): string {
  const at = text.lastIndexOf("\n\n") + 1;
  const last = text.slice(at).replace(/!?\[([^\][\n]*)\]\([^)\s]*$/, "$1").replace(/[*_~`]+$/, "");
  const odd = (mark: string): boolean => last.split(mark).length % 2 === 0;
  const open = odd("`") ? ["`"] : ["**", "~~"].filter(odd);
  return text.slice(0, at) + last + open.reverse().join("");
}
