// What the view shows: items in their order, cards, the plan. Takes the extension's messages and
// counts the versions of what changed; draws nothing.
import type {
  Attachment, Card, ChangedFile, Remedy, Setup, State, Tool, ToView,
} from "../messages.ts";
import { Source } from "./blocks.ts";

export type Body =
  | { kind: "turn"; id: string; text: string; chips: string[]; label?: string }
  | { kind: "text"; source: Source }
  | { kind: "thought"; source: Source; began: number; ms?: number; live: boolean }
  | { kind: "tool"; tool: Tool; live: string; began?: number }
  | { kind: "note"; text: string; failed?: boolean }
  | { kind: "error"; text: string; hint: string; remedy?: Remedy; turn: string }
  | { kind: "retry"; text: string; until: number }
  | { kind: "row"; id: string; text: string; label?: string }
  | { kind: "files"; turn: string; files: ChangedFile[] };

/** An item of the conversation; `version` counts its changes. */
export interface Item { key: number; version: number; body: Body }
export type Plan = (ToView & { kind: "plan" })["todos"];

/** Characters of a running command's output that are held. */
const LIVE = 40_000;

export class Store {
  items: Item[] = [];
  cards: Card[] = [];
  plan: Plan = [];
  busy = false;
  /** Counts the changes of everything but the insides of items; `changed` has those. */
  version = 0;
  readonly changed = new Set<Item>();
  /** Prompts that arrived: the view goes to its end. */
  prompts = 0;
  /** Cards that came or went: what moves under a pointer takes no click for a while. */
  moved = 0;
  /** Prompts that were not sent, for the field, and what was dropped for it. */
  readonly restored: string[] = [];
  readonly attached: Attachment[] = [];
  /** What completes what is typed. */
  completed?: ToView & { kind: "offers" };
  state?: State;
  setup?: Setup;
  private byId = new Map<string, Item>();
  private count = 0;

  constructor(private readonly now: () => number) {}

  take(message: ToView): void {
    if (message.kind !== "note" && message.kind !== "output") this.version += 1;
    switch (message.kind) {
      case "clear":
        [this.items, this.plan, this.byId] = [[], [], new Map()];
        this.changed.clear();
        return;
      case "turn":
        this.prompts += 1;
        this.add({ ...message, kind: "turn" });
        return;
      case "note": return this.note(message);
      case "error": return void this.add(message);
      case "tool": return this.tool(message);
      case "output": return this.output(message.id, message.text);
      case "plan": return void (this.plan = message.todos);
      case "retry": return this.retry(message.text, message.until);
      case "ended": return this.ended();
      case "row": return void this.put(message.id, message);
      case "files": return void this.put(`files ${message.turn}`, message);
      case "ask":
        // Pending cards are sent again to every view.
        if (this.cards.some(({ id }) => id === message.card.id)) return;
        this.cards = [...this.cards, message.card];
        this.moved += 1;
        return;
      case "answered":
        this.cards = this.cards.filter(({ id }) => id !== message.id);
        this.moved += 1;
        return;
      case "restore": return void this.restored.push(message.text);
      case "state": return void (this.state = message.state);
      case "setup": return void (this.setup = message.setup);
      case "offers":
        // An older answer can come later.
        if (message.n >= (this.completed?.n ?? 0)) this.completed = message;
        return;
      case "attach": return void this.attached.push(message.attachment);
      case "busy": return void (this.busy = message.busy);
    }
  }

  private add(body: Body, id?: string): Item {
    const item = { key: ++this.count, version: 0, body };
    this.items.push(item);
    this.version += 1;
    if (id !== undefined) this.byId.set(id, item);
    return item;
  }

  private remove(item: Item): void {
    this.items.splice(this.items.lastIndexOf(item), 1);
    this.version += 1;
    for (const [id, each] of this.byId) if (each === item) this.byId.delete(id);
  }

  private put(id: string, body: Body): void {
    const item = this.byId.get(id);
    if (!item) return void this.add(body, id);
    item.body = body;
    this.touch(item);
  }

  private touch(item: Item): void {
    item.version += 1;
    this.changed.add(item);
  }

  private note({ id, style, text, more }: ToView & { kind: "note" }): void {
    if (style !== "text" && style !== "thought") {
      return void this.add({ kind: "note", text, failed: style === "error" });
    }
    this.settle();
    const known = id === undefined ? undefined : this.byId.get(id);
    const item = known ?? this.add(style === "text" ? { kind: "text", source: new Source() }
      : { kind: "thought", source: new Source(), began: this.now(), live: more === true }, id);
    const { body } = item;
    if (body.kind !== "text" && body.kind !== "thought") return;
    this.touch(item);
    if (more) body.source.append(text);
    else body.source.set(text);
    if (body.kind === "thought" && !more && body.live) this.thought(item);
  }

  private thought({ body }: Item): void {
    if (body.kind === "thought") Object.assign(body, { live: false, ms: this.now() - body.began });
  }

  private tool(tool: Tool): void {
    this.settle();
    const { body: old } = this.byId.get(tool.id) ?? {};
    const running = tool.status === "running";
    const before = old?.kind === "tool" ? old : { live: "", began: undefined };
    const began = running ? before.began ?? this.now() : before.began;
    this.put(tool.id, { kind: "tool", tool, live: before.live, ...began && { began } });
  }

  private output(id: string, text: string): void {
    const item = this.byId.get(id);
    if (item?.body.kind !== "tool") return;
    item.body.live = (item.body.live + text).slice(-LIVE);
    this.touch(item);
  }

  /** A retry replaces the one before it, and what had arrived of the answer. */
  private retry(text: string, until: number): void {
    for (let item = this.items.at(-1); item && this.unfinished(item); item = this.items.at(-1)) {
      this.remove(item);
    }
    this.add({ kind: "retry", text, until });
  }

  private unfinished({ body }: Item): boolean {
    if (body.kind === "text" || body.kind === "thought") return !body.source.done;
    return body.kind === "retry";
  }

  /** What comes after a retry ends the wait. */
  private settle(): void {
    const last = this.items.at(-1);
    if (last?.body.kind === "retry") this.remove(last);
  }

  private ended(): void {
    this.settle();
    for (let at = this.items.length - 1; at >= 0; at--) {
      const item = this.items[at]!, { body } = item;
      if (body.kind === "turn") break;
      if (body.kind !== "text" && body.kind !== "thought" || body.source.done) continue;
      body.source.end();
      this.touch(item);
      if (body.kind === "thought" && body.live) this.thought(item);
    }
  }
}
