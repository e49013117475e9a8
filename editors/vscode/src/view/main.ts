// The chat view. Text is kept in pieces that the browser need not lay out while they are out of
// sight, and comes in batches that are done in a frame: a flood of deltas blocks nothing.
import words from "../../media/words.json" with { type: "json" };
import { STILL, visible, type Card, type FromView, type ToView } from "../messages.ts";

declare function acquireVsCodeApi(): { postMessage(message: FromView): void };

const editor = acquireVsCodeApi();
const element = <T extends HTMLElement>(id: string): T => document.getElementById(id) as T;
const list = element("list"), cards = element("cards"), stop = element("stop");
const form = element<HTMLFormElement>("form"), text = element<HTMLTextAreaElement>("text");

/** Characters that the browser lays out as one piece. */
const PIECE = 2_000;
/** A diff with more lines is shown without colours. */
const COLOURED = 400;

type Tags = HTMLElementTagNameMap;
function make<K extends keyof Tags>(name: K, className: string, words = "", id = ""): Tags[K] {
  return Object.assign(document.createElement(name), { className, textContent: words, id });
}

/** An item grows at its end, in pieces of whole lines where the lines allow it. */
function note({ id = "", style, text, more }: Extract<ToView, { kind: "note" }>): void {
  const tag = style === "title" ? "h2" : "div";
  const root = document.getElementById(id) ?? list.appendChild(make(tag, `item ${style}`, "", id));
  // What streamed is mostly the whole.
  if (!more && root.textContent === text) return;
  if (!more) root.replaceChildren();
  let node = root.lastElementChild?.firstChild as Text | null | undefined;
  for (const line of text.split(/(?<=\n)/)) {
    const data = node?.data ?? "";
    if (!node || data.length > (data.endsWith("\n") ? PIECE : 4 * PIECE)) {
      node = root.appendChild(make("div", "piece")).appendChild(new Text());
    }
    node.appendData(line);
  }
}

function row({ id, text, label }: Extract<ToView, { kind: "row" }>): void {
  const root = document.getElementById(id) ?? list.appendChild(make("div", "item note", "", id));
  const button = make("button", label ? "" : "link", label ?? visible(text));
  button.onclick = () => editor.postMessage({ kind: "act", id });
  root.replaceChildren(...label ? [`${visible(text)} `, button] : [button]);
}

function take(message: ToView): void {
  switch (message.kind) {
    case "clear": return list.replaceChildren();
    case "tool": return showTool(message);
    case "note": return note(message);
    case "row": return row(message);
    case "ask":
      // Pending cards are sent again to every view.
      if (document.getElementById(message.card.id)) return;
      cards.append(showCard(message.card));
      return moved();
    case "answered":
      document.getElementById(message.id)?.remove();
      return moved();
    case "restore":
      text.value = [text.value, message.text].filter(Boolean).join("\n");
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
  const row = document.getElementById(id) ?? list.appendChild(make("details", "item tool", "", id));
  row.dataset["status"] = status;
  row.replaceChildren(make("summary", "", visible(`${words.marks[status]} ${title}`)));
  if (body) row.append(show(body, diff));
}

function show(body: string, diff = false): HTMLElement {
  const lines = visible(body).trimEnd().split("\n"), shown = make("pre", "");
  const coloured = diff && lines.length <= COLOURED;
  shown.append(...coloured ? lines.map(colour) : [lines.join("\n")]);
  return shown;
}

function colour(line: string): HTMLElement {
  const [kind] = /^(\+(?!\+\+ )|-(?!-- ))/.exec(line) ?? [];
  const className = kind === "+" ? "added" : kind === "-" ? "removed" : "";
  return make("span", className, `${line}\n`);
}

function showCard({ id, title, about, body, diff, buttons, freeText }: Card): HTMLElement {
  const card = make("div", "card", "", id), own = make("textarea", "");
  card.append(make("strong", "", visible(title)), make("div", "about", visible(about)));
  if (body) card.append(show(body, diff));
  const button = (label: string, answer: () => string): void => {
    card.appendChild(make("button", "", visible(label))).onclick = ({ timeStamp }) => {
      // When it was clicked, not when a busy view gets to it.
      if (timeStamp > rests) editor.postMessage({ kind: "answer", id, answer: answer() });
    };
  };
  if (freeText) {
    own.ariaLabel = "Your answer";
    card.append(own);
    button("Answer", () => own.value.trim());
  }
  for (const { label, answer } of buttons) button(label, () => answer);
  return card;
}

window.addEventListener("message", ({ data, origin }: MessageEvent<ToView[]>) => {
  if (origin !== window.origin) return;
  for (const message of data) take(message);
});
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
// Who comes here by keys wants to write; who clicks on something keeps it.
window.addEventListener("focus", () => {
  if (document.activeElement === document.body) text.focus();
});
stop.addEventListener("click", () => editor.postMessage({ kind: "cancel" }));
editor.postMessage({ kind: "ready" });
