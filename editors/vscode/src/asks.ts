// `interline/approval/request` and `interline/question/request`: cards in the chat view that show
// exactly what is asked. They never take the keys away from where the user types.
import type { Chat } from "./chat.ts";
import { STILL, visible, type Card } from "./messages.ts";
import * as say from "./say.ts";
import type { ApprovalRequest, ApprovalResult, ChoiceKind, QuestionAnswer, QuestionRequest, Subject } from "./protocol.ts";

type Cancelled = (then: () => void) => void;
interface Reply { button?: string; text?: string }
type Waiting = { about: ApprovalRequest | QuestionRequest; card: Card; settle: (reply?: Reply) => void };

export class Asks {
  private readonly waiting = new Map<string, Waiting>();
  private readonly chat: Chat;
  private readonly changed: (waiting: number) => void;
  private count = 0;
  /** When a card came or went, or the view was shown for them. */
  private moved = 0;

  /** `changed`: told when something begins or ceases to wait. */
  constructor(chat: Chat, changed: (waiting: number) => void) {
    [this.chat, this.changed] = [chat, changed];
    chat.onSaid((said) => said.kind === "answer" && this.waiting.get(said.id)?.settle(said));
    chat.onEmptied(() => this.waiting.forEach(({ card }) => chat.post({ kind: "ask", card })));
  }

  async approval(params: ApprovalRequest, cancelled: Cancelled): Promise<ApprovalResult> {
    const { subject, choices, remember, hash } = params;
    const lasting = (kind: ChoiceKind): string => kind === "allowSession" && remember ? `: ${visible(remember)}` : "";
    const reply = await this.ask(params, cancelled, {
      title: visible(params.title),
      about: [visible(params.reason), ...besides(subject)].join("\n"),
      body: content(subject),
      diff: subject.kind === "edit",
      buttons: choices.map(({ id, label, kind }) => ({ id, label: label + lasting(kind), main: kind === "allowOnce" })),
      freeText: false,
    });
    // Without an answer it counts as rejected.
    return { choice: reply?.button ?? chosen(params, "rejectOnce"), hash };
  }

  async question(params: QuestionRequest, cancelled: Cancelled): Promise<QuestionAnswer> {
    const options = params.options.map((option, at) => ({ id: String(at), label: visible(option), main: false }));
    const reply = await this.ask(params, cancelled, {
      title: "Question", about: visible(params.question), body: "", diff: false,
      buttons: [...options, { id: "none", label: "No answer", main: false }],
      freeText: params.freeText || options.length === 0,
    });
    if (!reply) return { outcome: "cancelled" };
    const answer = params.options[Number(reply.button)] ?? reply.text?.trim();
    if (!answer) return { outcome: "declined" };
    this.chat.note(`${visible(params.question)}\n→ ${visible(answer)}`);
    return { outcome: "answered", answer };
  }

  /** Answers the only approval that waits, or the one of an item. */
  decide(kind: ChoiceKind, item?: string): void {
    if (kind !== "rejectOnce" && !item && this.waiting.size > 0 && !this.readable()) {
      void say.info("read what is asked, then allow it.");
      return void this.chat.reveal();
    }
    const open = [...this.waiting.values()].filter(({ about }) => "choices" in about && (!item || about.itemId === item));
    const about = open[0]?.about as ApprovalRequest | undefined;
    if (open.length === 1 && about) return open[0]!.settle({ button: chosen(about, kind) });
    void say.info(`${open.length || "nothing"} ${open.length ? "things wait: answer in the chat." : "waits for an answer."}`);
  }

  /** Whether the user can have read what waits: it is shown, and was before they reached for a key. */
  private readable(): boolean {
    const before = Date.now() - this.moved >= STILL;
    if (!this.chat.visible) this.moved = Date.now();
    return this.chat.visible && before;
  }

  /** Takes cards back: of an item, of a turn, or all. */
  drop(of: { item?: string; turn?: string } = {}): void {
    for (const { about, settle } of [...this.waiting.values()]) {
      if ((!of.item || about.itemId === of.item) && (!of.turn || about.turnId === of.turn)) settle();
    }
  }

  private ask(about: Waiting["about"], cancelled: Cancelled, show: Omit<Card, "id">): Promise<Reply | undefined> {
    const id = `ask${++this.count}`, card = { ...show, id };
    return new Promise((done) => {
      const settle = (reply?: Reply): void => {
        if (!this.waiting.delete(id)) return;
        this.moved = Date.now();
        this.chat.post({ kind: "answered", id });
        this.changed(this.waiting.size);
        done(reply);
      };
      this.moved = Date.now();
      this.waiting.set(id, { about, card, settle });
      cancelled(settle);
      this.chat.post({ kind: "ask", card });
      this.changed(this.waiting.size);
      void this.chat.point(`${show.title}?`);
    });
  }
}

function chosen({ choices }: ApprovalRequest, kind: ChoiceKind): string {
  return choices.find((choice) => choice.kind === kind)?.id ?? "reject";
}

function besides(subject: Subject): string[] {
  if (subject.kind !== "command") return [];
  return [`in ${visible(subject.cwd)}`, ...subject.unsaved.slice(0, 1).map(() => `unsaved, saved first: ${visible(subject.unsaved.join(", "))}`)];
}

function content(subject: Subject): string {
  if (subject.kind === "command") return visible(subject.command);
  return visible(subject.kind === "edit" ? subject.diff : JSON.stringify(subject, null, 2));
}
