// What the extension and its chat view say to each other.
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
  | { kind: "ask"; card: Card }
  | { kind: "answered"; id: string }
  /** A prompt that was not sent, for the field that it was typed in. */
  | { kind: "restore"; text: string }
  | { kind: "busy"; busy: boolean };

export type FromView =
  | { kind: "ready" | "cancel" }
  | { kind: "send"; text: string }
  | { kind: "answer"; id: string; answer: string };

/** Control, bidirectional and invisible characters, but for tabs and line ends. */
const HIDDEN = /(?![\t\n])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u2065\u{e0000}-\u{e0fff}]/gu;

/** The text with those as escapes: nothing hides in what is shown. */
export function visible(text: string): string {
  return text.replace(HIDDEN, (found) =>
    found === "\r" ? "\\r" : `\\u{${found.codePointAt(0)!.toString(16).padStart(4, "0")}}`);
}
