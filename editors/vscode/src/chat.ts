// The chat view: what turns say, sent to the webview in batches, so that a flood of events costs
// neither the editor nor the view more than a few messages a frame.
import { randomBytes } from "node:crypto";
import {
  commands, EventEmitter, Uri, workspace, type WebviewView, type WebviewViewProvider,
} from "vscode";
import { visible, type FromView, type ToView } from "./messages.ts";
import * as say from "./say.ts";
import type { Event, Input, TurnEnded } from "./protocol.ts";

/** Between two batches, in ms. */
const BATCH = 16;
/** Messages that a new view is shown again, at most. */
const KEPT = 20_000;
const STOPS: Record<string, string> = {
  cancelled: "Cancelled.",
  maxSteps: "Stopped at the limit of steps; ask to continue.",
  maxTokens: "Stopped at the model's limit of output; ask to continue.",
  budget: "Stopped at the budget of `limits`.",
  refusal: "The model refused.",
};
const BOXES: Record<string, string> = { in_progress: "[>]", completed: "[x]", cancelled: "[-]" };

export class Chat implements WebviewViewProvider {
  private view: WebviewView | undefined;
  private history: ToView[] = [];
  /** How much of the history the present view has; undefined before it is ready. */
  private sent: number | undefined;
  private timer: NodeJS.Timeout | undefined;
  /** The turn whose prompt was shown last. */
  private begun: string | undefined;
  private readonly said = new EventEmitter<FromView>();
  readonly onSaid = this.said.event;
  private readonly emptied = new EventEmitter<void>();
  /** The view is new or was cleared: what waits for the user is to be shown again. */
  readonly onEmptied = this.emptied.event;
  /** A prompt that was not sent, until a view takes it. */
  private unsent: string | undefined;
  private readonly root: Uri;

  constructor(root: Uri) {
    this.root = root;
  }

  resolveWebviewView(view: WebviewView): void {
    this.view = view;
    this.sent = undefined;
    view.webview.options = { enableScripts: true, localResourceRoots: [this.root] };
    view.webview.onDidReceiveMessage((message: FromView) => {
      if (message.kind === "ready") {
        this.sent = 0;
        this.emptied.fire();
      }
      this.flush();
      if (message.kind === "ready") this.giveBack();
      this.said.fire(message);
    });
    view.onDidDispose(() => {
      if (this.view === view) this.view = this.sent = undefined;
    });
    view.webview.html = this.page(view);
  }

  /** Whether what waits can be read now. */
  get visible(): boolean {
    return this.view?.visible === true && this.sent !== undefined;
  }

  /** Puts a prompt that was not sent back into the view's field. */
  restore(text: string): void {
    this.unsent = text;
    this.giveBack();
  }

  /** No part of the history: only the present view gets it, and once. */
  private giveBack(): void {
    if (!this.view || this.sent === undefined || this.unsent === undefined) return;
    void this.view.webview.postMessage([{ kind: "restore", text: this.unsent } satisfies ToView]);
    this.unsent = undefined;
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
    const last = this.history.at(-1), unsent = this.history.length > (this.sent ?? 0);
    if (unsent && message.kind === "delta" && last?.kind === "delta" && last.id === message.id) {
      last.text += message.text;
    } else {
      this.history.push({ ...message });
    }
    this.timer ??= setTimeout(() => this.flush(), BATCH);
  }

  note(text: string, error = false): void {
    this.post({ kind: "note", text, error });
  }

  clear(): void {
    this.history = [];
    if (this.sent !== undefined) this.sent = 0;
    this.post({ kind: "clear" });
    this.emptied.fire();
  }

  private flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (!this.view || this.sent === undefined) return;
    const batch = this.history.slice(this.sent);
    if (batch.length > 0) void this.view.webview.postMessage(batch);
    if (this.history.length > KEPT) this.history = this.history.slice(-KEPT / 2);
    this.sent = this.history.length;
  }

  started(turn: string, input: Input[], folder?: string): void {
    this.begun = turn;
    this.post({ kind: "turn", title: folder ? `You, in ${folder}` : "You", text: words(input) });
  }

  event(turn: string, event: Event): void {
    switch (event.type) {
      case "textDelta": case "thoughtDelta":
        return this.post({ kind: "delta", id: event.itemId, thought: event.type === "thoughtDelta", text: event.text });
      case "text": case "thought":
        return this.post({ kind: "whole", id: event.itemId, thought: event.type === "thought", text: event.text });
      case "userMessage":
        // The prompt itself comes as the turn's first message too.
        if (this.begun !== turn) this.post({ kind: "turn", title: "You, meanwhile", text: words(event.input) });
        this.begun = undefined;
        return;
      case "toolCall":
        return this.post({
          kind: "tool", id: event.itemId, status: event.status, title: visible(event.title),
          body: visible(event.diff || event.output || ""), diff: Boolean(event.diff),
        });
      case "plan": {
        const rows = event.todos.map((todo) => `${BOXES[todo.status] ?? "[ ]"} ${visible(todo.text).replace(/\s+/g, " ").trim()}`);
        return this.post({ kind: "whole", id: event.itemId, thought: false, text: rows.join("\n") });
      }
      case "compaction": {
        const how = event.status === "completed" ? `shorter: ${event.tokensBefore} → ${event.tokensAfter} tokens`
          : event.status === "running" ? "being made shorter…" : `as it was. ${event.text ?? ""}`;
        return this.note(`The conversation is ${how}`);
      }
      case "notice": return this.note(event.text);
      case "retry": return this.note(`${event.reason} Again in ${Math.ceil(event.inMs / 1000)} s.`);
    }
  }

  ended({ error, stopReason, files }: Pick<TurnEnded, "stopReason" | "error" | "files">): void {
    if (error) this.note([error.message, error.hint].filter(Boolean).join("\n"), true);
    else if (STOPS[stopReason]) this.note(STOPS[stopReason]);
    const changed = files.map((file) => `Changed ${name(file.uri)} (+${file.added} −${file.removed})`);
    if (changed.length > 0) this.note(changed.join("\n"));
  }

  private page({ webview }: WebviewView): string {
    const nonce = randomBytes(16).toString("hex");
    const file = (...names: string[]): Uri => webview.asWebviewUri(Uri.joinPath(this.root, ...names));
    const policy = `default-src 'none'; style-src ${webview.cspSource}; script-src 'nonce-${nonce}'`;
    return `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Interline</title>
<meta http-equiv="Content-Security-Policy" content="${policy}"><link rel="stylesheet" href="${file("media", "view.css")}"></head>
<body><main id="log" role="log" tabindex="0"></main><section id="cards" aria-live="assertive"></section><form id="form">
<textarea id="text" rows="3" aria-label="Prompt" placeholder="Ask Interline (Enter sends, Shift+Enter is a new line)"></textarea>
<div><button id="send" type="submit">Send</button><button id="stop" type="button" hidden>Stop</button></div></form>
<script nonce="${nonce}" src="${file("dist", "view.js")}"></script></body></html>`;
  }
}

function name(uri: string): string {
  return workspace.asRelativePath(Uri.parse(uri));
}

function words(input: Input[]): string {
  return input.map((part) => "text" in part && part.text ? part.text : `[${"uri" in part ? name(part.uri) : part.type}]`).join("\n");
}
