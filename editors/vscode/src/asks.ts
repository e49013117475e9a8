// `interline/approval/request` and `interline/question/request`: cards in the chat view that show
// exactly what is asked. They never take the keys away from where the user types.
import { window } from "vscode";
import type { Chat } from "./chat.ts";
import { visible, type Card } from "./messages.ts";
import type {
  ApprovalRequest, ApprovalResult, ChoiceKind, QuestionAnswer, QuestionRequest, Subject,
} from "./protocol.ts";

type Cancelled = (then: () => void) => void;
interface Reply { button?: string; text?: string }
interface Waiting {
  card: Card;
  turn: string;
  item: string;
  approval: ApprovalRequest | undefined;
  settle: (reply: Reply | undefined) => void;
}

export class Asks {
  private readonly waiting = new Map<string, Waiting>();
  private count = 0;
  private readonly chat: Chat;
  /** Told when something begins or ceases to wait. */
  private readonly changed: (waiting: number) => void;

  constructor(chat: Chat, changed: (waiting: number) => void) {
    this.chat = chat;
    this.changed = changed;
    chat.onSaid((said) => {
      if (said.kind === "answer") this.waiting.get(said.id)?.settle(said);
    });
  }

  async approval(params: ApprovalRequest, cancelled: Cancelled): Promise<ApprovalResult> {
    const { subject, choices, remember } = params;
    const label = (kind: ChoiceKind, text: string): string =>
      kind === "allowSession" && remember ? `${text}: ${visible(remember)}` : text;
    const reply = await this.ask({
      title: visible(params.title),
      about: [visible(params.reason), ...besides(subject)].filter(Boolean).join("\n"),
      body: content(subject),
      diff: subject.kind === "edit",
      buttons: choices.map((each) => ({ id: each.id, label: label(each.kind, each.label), main: each.kind === "allowOnce" })),
      freeText: false,
    }, params, params, cancelled);
    // Without an answer it counts as rejected.
    const rejection = choices.find((each) => each.kind === "rejectOnce")?.id ?? "reject";
    return { choice: reply?.button ?? rejection, hash: params.hash };
  }

  async question(params: QuestionRequest, cancelled: Cancelled): Promise<QuestionAnswer> {
    const options = params.options.map((option, at) => ({ id: `o${at}`, label: visible(option), main: false }));
    const reply = await this.ask({
      title: "Question", about: visible(params.question), body: "", diff: false,
      buttons: [...options, { id: "decline", label: "No answer", main: false }],
      freeText: params.freeText || options.length === 0,
    }, params, undefined, cancelled);
    if (!reply) return { outcome: "cancelled" };
    const chosen = params.options[options.findIndex((option) => option.id === reply.button)];
    const answer = chosen ?? reply.text?.trim();
    if (!answer) return { outcome: "declined" };
    this.chat.note(`${params.question}\n→ ${visible(answer)}`);
    return { outcome: "answered", answer };
  }

  /** Answers the only approval that waits, or the one of an item. */
  decide(kind: ChoiceKind, item?: string): void {
    const open = [...this.waiting.values()].filter((each) => each.approval && (!item || each.item === item));
    const [first] = open;
    if (open.length === 1 && first) {
      first.settle({ button: first.approval!.choices.find((choice) => choice.kind === kind)?.id ?? "reject" });
    } else {
      void window.showInformationMessage(open.length === 0
        ? "Interline: nothing waits for an answer."
        : `Interline: ${open.length} things wait: ${open.map((each) => each.card.title).join(" · ")}. Answer them in the chat.`);
    }
  }

  /** Takes cards back: of an item, of a turn, or all. */
  drop(of: { item?: string; turn?: string } = {}): void {
    for (const each of [...this.waiting.values()]) {
      if ((!of.item || each.item === of.item) && (!of.turn || each.turn === of.turn)) each.settle(undefined);
    }
  }

  private ask(
    show: Omit<Card, "id">, about: { turnId: string; itemId: string; sessionId: string },
    approval: ApprovalRequest | undefined, cancelled: Cancelled,
  ): Promise<Reply | undefined> {
    const card: Card = { ...show, id: `ask${++this.count}` };
    return new Promise((done) => {
      const settle = (reply: Reply | undefined): void => {
        if (!this.waiting.delete(card.id)) return;
        this.chat.post({ kind: "answered", id: card.id });
        this.changed(this.waiting.size);
        done(reply);
      };
      this.waiting.set(card.id, { card, turn: about.turnId, item: about.itemId, approval, settle });
      cancelled(() => settle(undefined));
      this.chat.post({ kind: "ask", card });
      this.changed(this.waiting.size);
      void this.chat.point(`${card.title}?`);
    });
  }
}

function besides(subject: Subject): string[] {
  if (subject.kind !== "command") return [];
  const unsaved = subject.unsaved.length > 0 ? [`unsaved, saved first: ${visible(subject.unsaved.join(", "))}`] : [];
  return [`in ${visible(subject.cwd)}`, ...unsaved];
}

function content(subject: Subject): string {
  if (subject.kind === "command") return visible(subject.command);
  return visible(subject.kind === "edit" ? subject.diff : JSON.stringify(subject, null, 2));
}
