// The chat view. Work is done per animation frame and within a budget, text is kept in pieces that
// the browser need not lay out while they are out of sight: a flood of deltas blocks nothing.
import type { Card, FromView, ToView } from "../messages.ts";

declare function acquireVsCodeApi(): { postMessage(message: FromView): void };

const editor = acquireVsCodeApi();
const element = <T extends HTMLElement>(id: string): T => document.getElementById(id) as T;
const log = element("log"), cards = element("cards"), form = element<HTMLFormElement>("form");
const text = element<HTMLTextAreaElement>("text"), stop = element<HTMLButtonElement>("stop");

/** ms of work in one frame; characters laid out as one piece, and at once. */
const BUDGET = 8, PIECE = 2_000, AT_ONCE = 4_000;
/** A diff with more lines is shown without colours. */
const COLOURED = 400;
const MARKS: Record<string, string> = {
  completed: "✓", failed: "✗", rejected: "✗", cancelled: "✗", awaitingApproval: "?", awaitingSave: "…",
  running: "…", pending: "…",
};

function make<K extends keyof HTMLElementTagNameMap>(name: K, className: string, words = ""): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  made.className = className;
  made.textContent = words;
  return made;
}

/** A text that grows at its end. */
class Flow {
  text = "";
  readonly root: HTMLElement;
  private node = new Text();

  constructor(className: string) {
    this.root = make("div", `item ${className}`);
    this.piece();
  }

  append(more: string): void {
    this.text += more;
    let from = 0;
    while (from < more.length) {
      if (this.node.length >= PIECE) {
        const end = more.indexOf("\n", from);
        const broken = end >= 0 ? end : this.node.length >= 4 * PIECE ? from : more.length;
        this.node.appendData(more.slice(from, broken));
        from = end >= 0 ? end + 1 : broken;
        if (end >= 0 || this.node.length >= 4 * PIECE) this.piece();
      } else {
        const some = more.slice(from, from + PIECE);
        this.node.appendData(some);
        from += some.length;
      }
    }
  }

  reset(): void {
    this.text = "";
    this.root.replaceChildren();
    this.piece();
  }

  private piece(): void {
    const piece = make("div", "piece");
    this.node = new Text();
    piece.append(this.node);
    this.root.append(piece);
  }
}

const flows = new Map<string, Flow>();
const tools = new Map<string, HTMLDetailsElement>();
const queue: ToView[] = [];
let scheduled = false;

function flow(id: string, thought: boolean): Flow {
  let found = flows.get(id);
  if (!found) {
    found = new Flow(thought ? "thought" : "text");
    flows.set(id, found);
    log.append(found.root);
  }
  return found;
}

/** Splits a long text, so that no frame has to take all of it. */
function stream(id: string, thought: boolean, words: string): ToView[] {
  const parts: ToView[] = [];
  for (let at = AT_ONCE; at < words.length; at += AT_ONCE) {
    parts.push({ kind: "delta", id, thought, text: words.slice(at, at + AT_ONCE) });
  }
  flow(id, thought).append(words.slice(0, AT_ONCE));
  return parts;
}

/** Takes one message up; what is left of it goes first in the next frame. */
function take(message: ToView): ToView[] {
  switch (message.kind) {
    case "clear":
      log.replaceChildren();
      flows.clear();
      tools.clear();
      return [];
    case "turn":
      log.append(make("h2", "item", message.title), make("div", "item prompt", message.text));
      return [];
    case "delta":
      return stream(message.id, message.thought, message.text);
    case "whole": {
      const shown = flow(message.id, message.thought);
      if (shown.text === message.text) return [];
      if (message.text.startsWith(shown.text)) return stream(message.id, message.thought, message.text.slice(shown.text.length));
      shown.reset();
      return stream(message.id, message.thought, message.text);
    }
    case "tool":
      showTool(message);
      return [];
    case "note":
      log.append(make("div", message.error ? "item note error" : "item note", message.text));
      return [];
    case "ask":
      cards.append(showCard(message.card));
      return [];
    case "answered":
      document.getElementById(message.id)?.remove();
      return [];
    case "busy":
      stop.hidden = !message.busy;
      return [];
  }
}

function showTool({ id, status, title, body, diff }: Extract<ToView, { kind: "tool" }>): void {
  let row = tools.get(id);
  if (!row) {
    row = make("details", "item tool");
    row.append(make("summary", ""));
    tools.set(id, row);
    log.append(row);
  }
  row.dataset["status"] = status;
  row.firstElementChild!.textContent = `${MARKS[status] ?? "·"} ${title}`;
  const fill = (): void => {
    if (!row.open) return;
    row.lastElementChild!.tagName === "PRE" && row.lastElementChild!.remove();
    row.append(show(body, diff));
  };
  row.ontoggle = fill;
  fill();
}

function show(body: string, diff: boolean): HTMLElement {
  const lines = body.split("\n");
  const shown = make("pre", "");
  if (!diff || lines.length > COLOURED) {
    shown.textContent = body;
    return shown;
  }
  for (const line of lines) {
    shown.append(make("span", line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : "", `${line}\n`));
  }
  return shown;
}

function showCard({ id, title, about, body, diff, buttons, freeText }: Card): HTMLElement {
  const card = make("div", "card");
  card.id = id;
  card.append(make("strong", "", title), make("div", "about", about));
  if (body) card.append(show(body, diff));
  const own = make("textarea", "");
  if (freeText) {
    own.setAttribute("aria-label", "Your answer");
    const send = make("button", "main", "Answer");
    send.onclick = () => own.value.trim() && editor.postMessage({ kind: "answer", id, text: own.value });
    card.append(own, send);
  }
  for (const { id: button, label, main } of buttons) {
    const made = make("button", main ? "main" : "", label);
    made.onclick = () => editor.postMessage({ kind: "answer", id, button });
    card.append(made);
  }
  return card;
}

function frame(): void {
  scheduled = false;
  const follows = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
  const until = performance.now() + BUDGET;
  let at = 0;
  let laid = 0;
  while (at < queue.length && performance.now() < until && laid < 2 * AT_ONCE) {
    const message = queue[at++]!;
    if ("text" in message) laid += message.text.length;
    const rest = take(message);
    if (rest.length > 0) {
      queue.splice(at, 0, ...rest);
      break;
    }
  }
  queue.splice(0, at);
  if (follows) log.scrollTop = log.scrollHeight;
  if (queue.length > 0) schedule();
}

function schedule(): void {
  if (scheduled) return;
  scheduled = true;
  requestAnimationFrame(frame);
}

window.addEventListener("message", ({ data }: MessageEvent<ToView[]>) => {
  for (const message of data) queue.push(message);
  schedule();
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (!text.value.trim()) return;
  editor.postMessage({ kind: "send", text: text.value });
  text.value = "";
});
text.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  form.requestSubmit();
});
stop.addEventListener("click", () => editor.postMessage({ kind: "cancel" }));
editor.postMessage({ kind: "ready" });
