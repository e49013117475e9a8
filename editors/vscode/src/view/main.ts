// The chat view. Work is done per animation frame and within a budget, text is kept in pieces that
// the browser need not lay out while they are out of sight: a flood of deltas blocks nothing.
import { STILL, type Card, type FromView, type ToView } from "../messages.ts";

declare function acquireVsCodeApi(): { postMessage(message: FromView): void };

const editor = acquireVsCodeApi();
const element = <T extends HTMLElement>(id: string): T => document.getElementById(id) as T;
const log = element("log"), cards = element("cards"), form = element<HTMLFormElement>("form");
const text = element<HTMLTextAreaElement>("text"), stop = element<HTMLButtonElement>("stop");

/** ms of work in one frame; characters laid out as one piece, and in one frame. */
const BUDGET = 8, PIECE = 2_000, FRAME = 6_000;
/** A diff with more lines is shown without colours. */
const COLOURED = 400;
const MARKS: Record<string, string> = { completed: "✓", failed: "✗", rejected: "✗", cancelled: "✗", awaitingApproval: "?" };

function make<K extends keyof HTMLElementTagNameMap>(name: K, className: string, words = ""): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  made.className = className;
  made.textContent = words;
  return made;
}

/** A text that grows at its end, in pieces of whole lines where the lines allow it. */
class Flow {
  text = "";
  readonly root: HTMLElement;
  private node = new Text();

  constructor(className: string) {
    this.root = log.appendChild(make("div", `item ${className}`));
    this.reset();
  }

  append(more: string): void {
    this.text += more;
    for (let from = 0; from < more.length;) {
      const room = PIECE - this.node.length, end = more.indexOf("\n", from + Math.max(0, room));
      const to = end >= 0 ? end : Math.min(more.length, from + Math.max(0, room + 3 * PIECE));
      this.node.appendData(more.slice(from, to));
      if (end >= 0 || to < more.length) this.piece();
      from = end >= 0 ? to + 1 : to;
    }
  }

  reset(): void {
    this.text = "";
    this.root.replaceChildren();
    this.piece();
  }

  private piece(): void {
    this.node = this.root.appendChild(make("div", "piece")).appendChild(new Text());
  }
}

const flows = new Map<string, Flow>(), tools = new Map<string, HTMLDetailsElement>();
const queue: ToView[] = [];
let scheduled = false;
/** Whether the end stays in view: until the user scrolls away, and again when they come back. */
let follows = true;

/** Appends to an item; what is too much for one frame is left for the next. */
function stream(id: string, thought: boolean, words: string): void {
  if (!flows.has(id)) flows.set(id, new Flow(thought ? "thought" : "text"));
  flows.get(id)!.append(words.slice(0, FRAME));
  if (words.length > FRAME) queue.unshift({ kind: "delta", id, thought, text: words.slice(FRAME) });
}

function take(message: ToView): void {
  switch (message.kind) {
    case "clear":
      log.replaceChildren();
      flows.clear();
      return tools.clear();
    case "turn": return log.append(make("h2", "item", message.title), make("div", "item prompt", message.text));
    case "delta": return stream(message.id, message.thought, message.text);
    case "whole": {
      const shown = flows.get(message.id)?.text ?? "", grows = message.text.startsWith(shown);
      if (!grows) flows.get(message.id)!.reset();
      return stream(message.id, message.thought, grows ? message.text.slice(shown.length) : message.text);
    }
    case "tool": return showTool(message);
    case "note": return log.append(make("div", message.error ? "item note error" : "item note", message.text));
    case "ask":
      // Those that wait are told again where the view may have lost them.
      if (document.getElementById(message.card.id)) return;
      cards.append(showCard(message.card));
      return moved();
    case "answered":
      document.getElementById(message.id)?.remove();
      return moved();
    case "restore":
      if (!text.value) text.value = message.text;
      else log.append(make("div", "item note", `Not sent:\n${message.text}`));
      return;
    case "busy": stop.hidden = !message.busy;
  }
}

let rests = 0, timer = 0;

function moved(): void {
  rests = Infinity;
  cards.setAttribute("aria-disabled", "true");
  clearTimeout(timer);
  timer = window.setTimeout(() => {
    rests = performance.now();
    cards.removeAttribute("aria-disabled");
  }, STILL);
}

function showTool({ id, status, title, body, diff }: Extract<ToView, { kind: "tool" }>): void {
  const row = tools.get(id) ?? log.appendChild(make("details", "item tool"));
  tools.set(id, row);
  row.dataset["status"] = status;
  row.replaceChildren(make("summary", "", `${MARKS[status] ?? "…"} ${title}`));
  const fill = (): void => {
    if (row.open && row.childElementCount === 1) row.append(show(body, diff));
  };
  row.ontoggle = fill;
  fill();
}

function show(body: string, diff: boolean): HTMLElement {
  const lines = body.split("\n"), coloured = diff && lines.length <= COLOURED;
  const shown = make("pre", "", coloured ? "" : body);
  for (const line of coloured ? lines : []) {
    shown.append(make("span", line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : "", `${line}\n`));
  }
  return shown;
}

function showCard({ id, title, about, body, diff, buttons, freeText }: Card): HTMLElement {
  const card = make("div", "card"), own = make("textarea", "");
  card.id = id;
  card.append(make("strong", "", title), make("div", "about", about), ...(body ? [show(body, diff)] : []));
  const button = (label: string, main: boolean, answer: () => { button?: string; text?: string }): void => {
    const made = card.appendChild(make("button", main ? "main" : "", label));
    made.onclick = ({ timeStamp }) => {
      // When it was clicked, not when a busy view gets to it.
      if (timeStamp > rests) editor.postMessage({ kind: "answer", id, ...answer() });
    };
  };
  if (freeText) {
    own.setAttribute("aria-label", "Your answer");
    card.append(own);
    button("Answer", true, () => ({ text: own.value }));
  }
  for (const { id: chosen, label, main } of buttons) button(label, main, () => ({ button: chosen }));
  return card;
}

function frame(): void {
  scheduled = false;
  const until = performance.now() + BUDGET;
  for (let laid = 0; queue.length > 0 && performance.now() < until && laid < FRAME;) {
    const message = queue.shift()!;
    if ("text" in message) laid += message.text.length;
    take(message);
  }
  if (follows) log.scrollTop = log.scrollHeight;
  if (queue.length > 0) schedule();
}

function schedule(): void {
  if (!scheduled) requestAnimationFrame(frame);
  scheduled = true;
}

window.addEventListener("message", ({ data, origin }: MessageEvent<ToView[]>) => {
  if (origin !== window.origin) return;
  for (const message of data) queue.push(message);
  schedule();
});
const atEnd = (): boolean => log.scrollHeight - log.scrollTop - log.clientHeight < 40;
// Pieces that come into sight change their height, which moves the end but is nobody's wish.
for (const kind of ["wheel", "pointerup", "keyup"]) log.addEventListener(kind, () => requestAnimationFrame(() => (follows = atEnd())));
log.addEventListener("scroll", () => (follows ||= atEnd()));
form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (text.value.trim()) editor.postMessage({ kind: "send", text: text.value });
  text.value = "";
});
text.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  form.requestSubmit();
});
stop.addEventListener("click", () => editor.postMessage({ kind: "cancel" }));
editor.postMessage({ kind: "ready" });
