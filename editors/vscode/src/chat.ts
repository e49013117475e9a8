// The chat view: what turns say, sent to the webview in batches, so that a flood of events costs
// neither the editor nor the view more than a few messages a frame.
import { readFileSync } from "node:fs";
import { commands, EventEmitter, Uri, workspace, type WebviewView } from "vscode";
import words from "../media/words.json" with { type: "json" };
import { gathered } from "./gathered.ts";
import { visible, type FromView, type ToView } from "./messages.ts";
import type { Event, FileChange, Input, Todo, TurnEnded } from "./protocol.ts";
import * as say from "./say.ts";

/** ms between two batches, and messages in one: what a view does within a frame. */
const BATCH = 16, MOST = 200;
/** Messages that a new view is shown again, at most. */
const KEPT = 20_000;
type Stop = keyof typeof words.stops;

/** A file as the user knows it. */
const name = (uri: string): string => workspace.asRelativePath(Uri.parse(uri));

type Ended = Pick<TurnEnded, "sessionId" | "turnId" | "stopReason" | "error" | "files">;

function summary(verb: string, { uri, added, removed }: FileChange): string {
  return `${verb} ${name(uri)} (+${added} −${removed})`;
}

export class Chat {
  private view: WebviewView | undefined;
  private history: ToView[] = [];
  /** How much of the history the present view has; undefined before it is ready. */
  private sent: number | undefined;
  /** No part of the history: only the next view that is ready gets it. */
  private once: ToView[] = [];
  private readonly batch = gathered(BATCH, () => this.send());
  /** What rows do that can be clicked. */
  readonly acts = new Map<string, () => unknown>();
  readonly said = new EventEmitter<FromView>();

  constructor(private readonly root: Uri) {}

  resolveWebviewView(view: WebviewView): void {
    [this.view, this.sent] = [view, undefined];
    view.webview.options = { enableScripts: true, localResourceRoots: [this.root] };
    view.webview.onDidReceiveMessage((message: FromView) => {
      if (message.kind === "ready") this.sent = 0;
      this.said.fire(message);
      this.batch.flush();
    });
    view.onDidDispose(() => {
      if (this.view === view) this.view = this.sent = undefined;
    });
    const page = readFileSync(Uri.joinPath(this.root, "media/view.html").fsPath, "utf8");
    view.webview.html = page.replaceAll("{source}", view.webview.cspSource)
      .replaceAll("{root}", `${view.webview.asWebviewUri(this.root)}`);
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

  /** Shows the view; the keys stay where they went. */
  async reveal(): Promise<void> {
    await commands.executeCommand("interline.chat.focus", { preserveFocus: true });
  }

  /** Where the view is hidden: says that there is something to see, and decides nothing. */
  async point(words: string): Promise<void> {
    if (!this.view?.visible && await say.info(words, "Show")) await this.reveal();
  }

  post(message: ToView): void {
    const last = this.history.at(-1), waits = this.history.length > (this.sent ?? 0);
    const grows = waits && message.kind === "note" && message.more && last?.kind === "note";
    if (grows && last.id === message.id) last.text += message.text;
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

  started(input: Input[], folder?: string): void {
    const text = input.map((part) => {
      if ("text" in part && part.text) return part.text;
      return `[${"uri" in part ? name(part.uri) : part.type}]`;
    });
    this.note(folder ? `You, in ${folder}` : "You", "title");
    this.note(text.join("\n"), "prompt");
  }

  event(event: Event): void {
    switch (event.type) {
      case "textDelta": case "thoughtDelta": case "text": case "thought": {
        const { type, itemId: id, text } = event;
        const style = type.startsWith("thought") ? "thought" : "text";
        return this.post({ kind: "note", id, style, text, more: type.endsWith("Delta") });
      }
      case "toolCall": {
        const { itemId: id, status, title, diff, output } = event;
        const body = diff || output || "";
        return this.post({ kind: "tool", id, status, title, body, diff: Boolean(diff) });
      }
      case "plan": {
        const row = ({ status, text }: Todo): string =>
          `${words.boxes[status]} ${visible(text).replace(/\s+/g, " ").trim()}`;
        const text = event.todos.map(row).join("\n");
        return this.post({ kind: "note", id: event.itemId, style: "text", text });
      }
      case "compaction": {
        const { status, tokensBefore, tokensAfter, text = "" } = event;
        return this.note(
          status === "completed"
            ? `Compacted the conversation: ${tokensBefore} → ${tokensAfter} tokens`
          : status === "running" ? "Compacting the conversation…" : `Not compacted. ${text}`);
      }
      case "notice": return this.note(event.text);
      case "retry":
        return this.note(`${event.reason} Retrying in ${Math.ceil(event.inMs / 1000)} s.`);
    }
  }

  ended({ sessionId, turnId, error, stopReason, files }: Ended): void {
    if (error) this.note(`${error.message}\n${error.hint}`.trim(), "error");
    else if (stopReason in words.stops) this.note(words.stops[stopReason as Stop]);
    for (const file of files) this.changed(sessionId, turnId, file);
  }

  /** What a turn changed in a file: the row opens the differences. */
  changed(sessionId: string, turnId: string, file: FileChange): void {
    const { uri } = file, place = { sessionId, turnId, uri };
    const open = (): unknown => commands.executeCommand("interline.openChanges", place);
    this.row(`${turnId} ${uri}`, summary("Changed", file), open);
  }

  /** What became of a file; `left`: what is as it was. */
  file(verb: string, file: FileChange, left: string[] = []): void {
    this.note([summary(verb, file), ...left].join("\n"));
  }
}
