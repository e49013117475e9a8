// What the extension and its chat view send each other.
import table from "../media/hidden.json" with { type: "json" };
import type { TodoStatus, ToolStatus, WireRange } from "./protocol.ts";

/** ms for which a card takes no consent after it came or moved: the click was meant for another. */
export const STILL = 500;

/** A button of a card. `reason`: asks for words first, which go with the answer. */
export interface CardButton {
  answer: string;
  label: string;
  key?: string;
  tooltip?: string;
  primary?: boolean;
  reason?: boolean;
}

/** Something that waits for the user's answer. `diff`: the body is a unified diff. */
export interface Card {
  id: string;
  title: string;
  about: string;
  body: string;
  diff?: boolean;
  /** A command or an address: shown in the editor's font. */
  lang?: string;
  buttons: CardButton[];
  /** Whether the words of the user's own are an answer. */
  freeText?: boolean;
  /** Whether the diff can be opened in the editor. */
  opens?: boolean;
  question?: boolean;
}

/** A file that a turn changed, as a row. */
export interface ChangedFile { id: string; name: string; added: number; removed: number }

/** A tool call as the view shows it: complete at each change of status. */
export interface Tool {
  id: string;
  status: ToolStatus;
  title: string;
  /** The part of the title that is a path, as a link. */
  path?: string;
  body: string;
  diff: boolean;
  added?: number;
  removed?: number;
  /** Whether a sub-agent runs it, whose transcript can be opened. */
  child?: boolean;
  /** How long it ran, once it ended. */
  ms?: number;
}

/** What goes with a prompt: a file or a part of it, a text of the editor's, a picture. */
export interface Attachment {
  kind: "file" | "selection" | "symbol" | "problems" | "diff" | "terminal" | "image";
  label: string;
  uri?: string;
  range?: WireRange;
  /** A picture, in Base64. */
  data?: string;
  mimeType?: string;
}

/** A line of the list that completes `@` and `/`; `detail` says more. */
export interface Offer {
  label: string;
  icon: string;
  detail?: string;
  /** What stays in the field in place of what was typed. */
  insert?: string;
  attach?: Attachment;
  command?: string;
}

/** A prompt that waits for its turn. */
export interface Queued { turn: string; text: string }

/** An open session; `unread`: its turn has ended out of sight. */
export interface Tab {
  id: string;
  title: string;
  current: boolean;
  running: boolean;
  unread: boolean;
}

/** What is shown of the session beside its conversation. */
export interface State {
  model: string;
  mode: string;
  agent?: string;
  title: string;
  /** Tokens that the next request would send, of the model's window; and of the session in all. */
  context?: { used: number; window: number };
  tokens?: number;
  cost?: number;
  trusted?: boolean;
  queue: Queued[];
  /** The open sessions of the folder, where there is more than one. */
  tabs: Tab[];
  /** The file of the active editor, as a suggestion. */
  active?: Attachment;
  /** Whether there are agents to choose. */
  agents: boolean;
}

/** Providers as they write their names. */
export const PROVIDERS: Record<string, string> = {
  anthropic: "Anthropic", openai: "OpenAI", gemini: "Gemini",
};

/** Whether there is a server and a key for it; `missing`: why there is no server. */
export interface Setup {
  missing?: string;
  keyless?: boolean;
  providers: string[];
  /** What became of a key that was given in the view. */
  trial?: { testing: boolean; refused?: string };
}

/** What an error offers to do. */
export type Remedy = "setKey" | "retry";

export type ToView =
  | { kind: "clear" }
  | { kind: "turn"; id: string; text: string; chips: string[]; label?: string }
  /** With an id: the whole of an item, which replaces what is there, or `more` of it. */
  | { kind: "note"; style: string; text: string; id?: string; more?: boolean }
  | { kind: "error"; text: string; hint: string; remedy?: Remedy; turn: string }
  | Tool & { kind: "tool" }
  /** More output of a command that runs. */
  | { kind: "output"; id: string; text: string }
  | { kind: "plan"; todos: { text: string; status: TodoStatus }[] }
  | { kind: "retry"; text: string; until: number }
  | { kind: "ended" }
  /** A row that does something: a button if it has a label, else all of it. */
  | { kind: "row"; id: string; text: string; label?: string }
  | { kind: "files"; turn: string; files: ChangedFile[] }
  | { kind: "ask"; card: Card }
  | { kind: "answered"; id: string }
  /** A prompt that was not sent, for the field that it was typed in. */
  | { kind: "restore"; text: string }
  | { kind: "state"; state: State }
  | { kind: "setup"; setup: Setup }
  /** The answer to `complete`: what is typed from `start` on is replaced. */
  | { kind: "offers"; n: number; start: number; offers: Offer[] }
  | { kind: "attach"; attachment: Attachment }
  | { kind: "busy"; busy: boolean };

export type FromView =
  | { kind: "ready" | "cancel" | "retry" }
  | { kind: "act"; id: string }
  /** `steer`: for the turn that runs, not after it. */
  | { kind: "send"; text: string; attachments?: Attachment[]; steer?: boolean }
  | { kind: "complete"; n: number; text: string; offset: number }
  | { kind: "dropped"; uris: string[] }
  | { kind: "dequeue" | "steerQueued" | "editQueued"; turn: string }
  | { kind: "tab" | "closeTab"; id: string }
  | { kind: "answer"; id: string; answer: string; feedback?: string }
  | { kind: "openDiff"; id: string }
  | { kind: "open"; path: string; line?: number; column?: number }
  | { kind: "copy" | "insert"; text: string }
  /** `path`: the file that the code names. */
  | { kind: "apply"; text: string; path?: string }
  | { kind: "key"; provider: string; secret: string }
  | { kind: "run"; command: string };
/** Characters that hide, reorder or look like nothing: the server's table (`src/visible.rs`). */
const HIDDEN = new RegExp(`(?![\\t\\n])[${table.hidden.join("")}]`, "gu");
const PROSE = new RegExp(`[${table.prose.join("")}]`, "u");
const escape = (c: string): string =>
  c === "\r" ? "\\r" : `\\u{${c.codePointAt(0)!.toString(16).padStart(4, "0")}}`;

/** The text with those as escapes: nothing hides in what is shown. */
export const visible = (text: string): string => text.replace(HIDDEN, escape);
/** The same, with what words and emoji need. */
export const prose = (text: string) => text.replace(HIDDEN, (c) => PROSE.test(c) ? c : escape(c));

/** What a page in a tab of the editor asks for. */
export interface FromPage { kind: "ready" | "refresh" | "report" }

/** A part of the page of the status; `empty` is said where there are no rows. */
export interface Section { title: string; rows: StatusRow[]; empty?: string }
export interface StatusRow {
  label: string;
  value: string;
  note?: string;
  level?: "ok" | "warning" | "error";
}
