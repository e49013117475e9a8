// The chat view: what turns say, sent to the webview in batches, so that a flood of events costs
// neither the editor nor the view more than a few messages a frame.
import { commands, EventEmitter, Uri, window, workspace, type WebviewView } from "vscode";
import words from "../media/words.json" with { type: "json" };
import { gathered } from "./gathered.ts";
import type { ChangedFile, FromView, State, ToView } from "./messages.ts";
import { name } from "./places.ts";
import type { Event, Failure, FileChange, Input, ToolItem, TurnEnded } from "./protocol.ts";
import * as say from "./say.ts";
import { page } from "./webview.ts";

/** ms between two batches, and messages in one: what a view does within a frame. */
const BATCH = 16, MOST = 200;
/** Messages that a new view is shown again, at most. */
const KEPT = 20_000;
type Stop = keyof typeof words.stops;

const notifies = (): boolean =>
  workspace.getConfiguration("interline").get("notifications", true);

type Ended = Pick<TurnEnded, "sessionId" | "turnId" | "stopReason" | "error" | "files">;

function summary(verb: string, { uri, added, removed }: FileChange): string {
  return `${verb} ${name(uri)} (+${added} −${removed})`;
}

/** What a message adds to the one before it, if it continues that one. */
function growth(last: ToView | undefined, next: ToView): string | undefined {
  if (next.kind !== "output" && !(next.kind === "note" && next.more)) return undefined;
  return last?.kind === next.kind && last.id === next.id ? next.text : undefined;
}

/** What a part of a prompt is called that is not its text. */
function chip(part: Input): string | undefined {
  switch (part.type) {
    case "text": return undefined;
    case "resource": {
      const { start, end } = part.range ?? {};
      // A range that ends before a line's first character does not hold that line.
      const last = end && end.character === 0 && end.line > start!.line ? end.line : end?.line! + 1;
      const lines = start ? `:${start.line + 1}${last > start.line + 1 ? `-${last}` : ""}` : "";
      return part.label ?? `${part.uri.startsWith("file:") ? name(part.uri) : part.uri}${lines}`;
    }
    case "image": return "image";
    case "document": return part.name;
    case "skill": return `/${part.name} ${part.arguments ?? ""}`.trim();
    case "mcpPrompt": return `${part.server}:${part.name}`;
  }
}

const typed = (input: Input[]): string =>
  input.flatMap((part) => part.type === "text" ? [part.text] : []).join("\n");

export class Chat {
  private view: WebviewView | undefined;
  private history: ToView[] = [];
  /** How much of the history the present view has; undefined before it is ready. */
  private sent: number | undefined;
  /** No part of the history: only the next view that is ready gets it. */
  private once: ToView[] = [];
  private stated = "";
  private readonly latest = new Map<string, ToView>();
  private readonly batch = gathered(BATCH, () => this.send());
  /** When tool calls began to run. */
  private readonly began = new Map<string, number>();
  /** What rows do that can be clicked. */
  readonly acts = new Map<string, () => unknown>();
  readonly said = new EventEmitter<FromView>();
  /** What is shown of the session, as it changes. */
  readonly facts = new EventEmitter<State>();

  constructor(private readonly root: Uri) {}

  resolveWebviewView(view: WebviewView): void {
    [this.view, this.sent] = [view, undefined];
    view.webview.options = { enableScripts: true, localResourceRoots: [this.root] };
    view.webview.onDidReceiveMessage((message: FromView) => {
      if (message.kind === "ready") this.sent = 0;
      if (message.kind === "ready") this.once.push(...this.latest.values());
      this.said.fire(message);
      this.batch.flush();
    });
    view.onDidDispose(() => {
      if (this.view === view) this.view = this.sent = undefined;
    });
    view.webview.html = page(this.root, view.webview, "view");
  }

  /** Whether what waits can be read now. */
  get visible(): boolean {
    return this.view?.visible === true && this.sent !== undefined;
  }

  /** Shows what is no part of the past: the present view gets it now, or the next one. */
  direct(message: ToView): void {
    this.once.push(message);
    this.batch.flush();
  }

  /** What is known of the session. */
  state(state: State): void {
    const text = JSON.stringify(state);
    if (text === this.stated) return;
    this.stated = text;
    this.facts.fire(state);
    if (this.view) this.view.title = say.plain(state.title) || "Chat";
    this.last({ kind: "state", state });
  }

  /** Shows facts of which only the last count; a new view gets them too. */
  last(message: ToView): void {
    this.latest.set(message.kind, message);
    this.once = [...this.once.filter(({ kind }) => kind !== message.kind), message];
    this.batch.later();
  }

  /** Where the window is in the background: says that a turn has ended. */
  async away(words: string): Promise<void> {
    if (window.state.focused || !notifies()) return;
    if (await say.info(words, "Show")) await this.reveal();
  }

  /** How many requests wait, on the view's icon. */
  badge(value: number): void {
    const tooltip = `${value} ${value === 1 ? "request waits" : "requests wait"} for you`;
    if (this.view) this.view.badge = value > 0 ? { value, tooltip } : undefined;
  }

  /** Shows the view; the keys stay where they went. */
  async reveal(): Promise<void> {
    await commands.executeCommand("interline.chat.focus", { preserveFocus: true });
  }

  /** Where the view or the window is out of sight: says what there is, and decides nothing. */
  async point(words: string): Promise<void> {
    const { focused } = window.state;
    if (this.view?.visible && (focused || !notifies())) return;
    if (await say.info(words, "Show")) await this.reveal();
  }

  post(message: ToView): void {
    const last = this.history.at(-1), waits = this.history.length > (this.sent ?? 0);
    const more = waits ? growth(last, message) : undefined;
    if (more !== undefined) (last as { text: string }).text += more;
    else this.history.push({ ...message });
    this.batch.later();
  }

  note(text: string, style = "note"): void {
    this.post({ kind: "note", style, text });
  }

  /** A row with an action: a button if there is a label, else all of it. */
  row(id: string, text: string, act: () => unknown, label?: string): void {
    this.acts.set(id, act);
    this.post({ kind: "row", id, text, label });
  }

  clear(): void {
    this.acts.clear();
    this.history = [];
    this.sent &&= 0;
    this.post({ kind: "clear" });
  }

  private send(): void {
    if (!this.view || this.sent === undefined) return;
    const next = this.history.slice(this.sent, this.sent + MOST);
    const batch = [...next, ...this.once.splice(0)];
    if (batch.length > 0) void this.view.webview.postMessage(batch);
    this.sent += next.length;
    if (this.sent > KEPT) this.sent -= this.history.splice(0, KEPT / 2).length;
    if (this.sent < this.history.length) this.batch.later();
  }

  started(turnId: string, input: Input[], folder?: string): void {
    const chips = input.flatMap((part) => chip(part) ?? []);
    this.post({ kind: "turn", id: turnId, text: typed(input), chips, label: folder });
  }

  event(event: Event): void {
    switch (event.type) {
      case "textDelta": case "thoughtDelta": case "text": case "thought": {
        const { type, itemId: id, text } = event;
        const style = type.startsWith("thought") ? "thought" : "text";
        return this.post({ kind: "note", id, style, text, more: type.endsWith("Delta") });
      }
      case "toolCall": return this.tool(event);
      case "toolOutputDelta":
        return this.post({ kind: "output", id: event.itemId, text: event.text });
      case "plan": return this.post({ kind: "plan", todos: event.todos });
      case "compaction": {
        const { status, tokensBefore, tokensAfter, text = "" } = event;
        return this.note(
          status === "completed"
            ? `Compacted the conversation: ${tokensBefore} → ${tokensAfter} tokens`
          : status === "running" ? "Compacting the conversation…" : `Not compacted. ${text}`);
      }
      case "notice": return this.note(event.text);
      case "retry": {
        const until = Date.now() + event.inMs;
        const text = `${event.reason} Attempt ${event.attempt} of ${event.attempts}.`;
        return this.post({ kind: "retry", text, until });
      }
    }
  }

  private tool(item: ToolItem): void {
    const { itemId: id, tool, status, title, diff, output, files, input, child } = item;
    const transcript = { sessionId: child };
    const open = (): unknown => commands.executeCommand("interline.transcript", transcript);
    if (child) this.acts.set(`child ${id}`, open);
    if (status === "running" && !this.began.has(id)) this.began.set(id, Date.now());
    const began = this.began.get(id), over = status !== "running" && began !== undefined;
    if (over) this.began.delete(id);
    const path = (input as { path?: unknown } | undefined)?.path;
    const sum = (key: "added" | "removed"): number =>
      (files ?? []).reduce((all, file) => all + file[key], 0);
    this.post({
      kind: "tool", id, status, title: title === tool ? `${begin(tool)}…` : title,
      body: diff || output || "", diff: Boolean(diff),
      ...typeof path === "string" && title.includes(path) && { path },
      ...files?.length && { added: sum("added"), removed: sum("removed") },
      ...child && { child: true }, ...over && { ms: Date.now() - began },
    });
  }

  /** `again`: the same prompt can be sent again. `more`: continues a turn that has stopped. */
  ended(turn: Ended, again = false, more?: () => unknown): void {
    const { sessionId, turnId, error, stopReason, files } = turn;
    const stopped = stopReason in words.stops ? words.stops[stopReason as Stop] : undefined;
    const last = this.history.at(-1), noticed = last?.kind === "note" && last.style === "note";
    this.post({ kind: "ended" });
    if (error) this.failed(turnId, error, again);
    else if (stopped && more) {
      // A notice of the server says why, and more exactly.
      this.row(`continue ${turnId}`, noticed ? "" : stopped, more, "Continue");
    }
    else if (stopped) this.note(stopped);
    if (files.length > 0) this.changed(sessionId, turnId, files);
  }

  private failed(turn: string, { kind, message, hint }: Failure, again: boolean): void {
    const keyless = kind === "auth" || kind === "noModel";
    const remedy = keyless ? "setKey" : again ? "retry" : undefined;
    this.post({ kind: "error", text: message, hint, turn, ...remedy && { remedy } });
  }

  /** What a turn changed in files: a row opens the differences. */
  changed(sessionId: string, turnId: string, files: FileChange[]): void {
    const row = (file: FileChange): ChangedFile => {
      const { uri, added, removed } = file, id = `${turnId} ${uri}`;
      const place = { sessionId, turnId, uri };
      this.acts.set(id, () => commands.executeCommand("interline.openChanges", place));
      return { id, name: name(uri), added, removed };
    };
    for (const [what, decision] of [["keep", "keep"], ["undo", "reject"]] as const) {
      const given = { sessionId, turnId, decision };
      const act = (): unknown => commands.executeCommand("interline.decideTurn", given);
      this.acts.set(`${what} ${turnId}`, act);
    }
    this.post({ kind: "files", turn: turnId, files: files.map(row) });
  }

  /** What became of a file; `left`: what is as it was. */
  file(verb: string, file: FileChange, left: string[] = []): void {
    this.note([summary(verb, file), ...left].join("\n"));
  }
}

const begin = (word: string): string => word.slice(0, 1).toUpperCase() + word.slice(1);
