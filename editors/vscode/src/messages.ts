// What the extension and its chat view say to each other.
import table from "../media/hidden.json" with { type: "json" };
import type { ToolStatus } from "./protocol.ts";

/** ms for which what waits takes no consent after it came or moved: it was meant for another. */
export const STILL = 500;

/** Something that waits for the user's answer. `diff`: the body is a unified diff. */
export interface Card {
  id: string;
  title: string;
  about: string;
  body: string;
  diff?: boolean;
  buttons: { answer: string; label: string }[];
  freeText?: boolean;
}

export type ToView =
  | { kind: "clear" }
  /** With an id: the whole of an item, which replaces what is there, or `more` of it. */
  | { kind: "note"; style: string; text: string; id?: string; more?: boolean }
  | { kind: "tool"; id: string; status: ToolStatus; title: string; body: string; diff: boolean }
  /** A row that does something: a button if it has a label, else all of it. */
  | { kind: "row"; id: string; text: string; label?: string }
  | { kind: "ask"; card: Card }
  | { kind: "answered"; id: string }
  /** A prompt that was not sent, for the field that it was typed in. */
  | { kind: "restore"; text: string }
  | { kind: "busy"; busy: boolean };

export type FromView =
  | { kind: "ready" | "cancel" }
  | { kind: "act"; id: string }
  | { kind: "send"; text: string }
  | { kind: "answer"; id: string; answer: string };

/** Characters that hide, reorder or look like nothing: the server's table (`src/visible.rs`). */
const HIDDEN = new RegExp(`(?![\\t\\n])[${table.hidden.join("")}]`, "gu");
const PROSE = new RegExp(`[${table.prose.join("")}]`, "u");
const escape = (c: string): string =>
  c === "\r" ? "\\r" : `\\u{${c.codePointAt(0)!.toString(16).padStart(4, "0")}}`;

/** The text with those as escapes: nothing hides in what is shown. */
export const visible = (text: string): string => text.replace(HIDDEN, escape);
/** The same, with what words and emoji need. */
export const prose = (text: string) => text.replace(HIDDEN, (c) => PROSE.test(c) ? c : escape(c));
