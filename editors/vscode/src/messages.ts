// What the extension and its chat view say to each other.

/** ms for which what waits takes no consent after it came or moved: it was meant for what was there before. */
export const STILL = 500;

/** Something that waits for the user's answer. `diff`: the body is a unified diff. */
export interface Card {
  id: string;
  title: string;
  about: string;
  body: string;
  diff: boolean;
  buttons: { id: string; label: string; main: boolean }[];
  freeText: boolean;
}

export type ToView =
  | { kind: "clear" }
  | { kind: "turn"; title: string; text: string }
  | { kind: "delta"; id: string; thought: boolean; text: string }
  /** The whole of an item, which replaces what streamed. */
  | { kind: "whole"; id: string; thought: boolean; text: string }
  | { kind: "tool"; id: string; status: string; title: string; body: string; diff: boolean }
  | { kind: "note"; text: string; error: boolean }
  | { kind: "ask"; card: Card }
  | { kind: "answered"; id: string }
  /** A prompt that was not sent, for the field that it was typed in. */
  | { kind: "restore"; text: string }
  | { kind: "busy"; busy: boolean };

export type FromView =
  | { kind: "ready" }
  | { kind: "send"; text: string }
  | { kind: "cancel" }
  | { kind: "answer"; id: string; button?: string; text?: string };

/** Control, bidirectional and invisible characters as escapes: nothing hides in what is shown. */
export function visible(text: string): string {
  return text.replace(
    /[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\udb40-\udb43][\udc00-\udfff]/g,
    (found) => found === "\r" ? "\\r" : `\\u{${found.codePointAt(0)!.toString(16).padStart(4, "0")}}`,
  );
}
