// `interline/approval/request` and `interline/question/request`: cards in the chat view that show
// exactly what is asked. They never take the keys away from where the user types.
import type { CancellationToken } from "vscode";
import type { Chat } from "./chat.ts";
import { prose, STILL, type Card, type ToView } from "./messages.ts";
import type * as wire from "./protocol.ts";
import * as say from "./say.ts";

type Token = Pick<CancellationToken, "onCancellationRequested">;
interface Waiting { card: Card; approval: boolean; settle: (answer?: string) => void }

export class Asks {
  readonly waiting = new Map<string, Waiting>();
  /** When a card came or went, or the view was shown for them. */
  private moved = 0;

  /** `changed`: told when something begins or ceases to wait. */
  constructor(private readonly chat: Chat, private readonly changed: () => void) {
    chat.said.event((said) => {
      for (const { card, settle } of [...this.waiting.values()]) {
        if (said.kind === "ready") chat.direct({ kind: "ask", card });
        if (said.kind === "answer" && said.id === card.id) settle(said.answer);
      }
    });
  }

  readonly approval = async (params: wire.AskApproval, token: Token) => {
    const { itemId, title, about, content: body, subject, choices, hash } = params;
    const buttons = choices.map(({ id, label }) => ({ answer: id, label }));
    const show = { title, about, body, diff: subject.kind === "edit", buttons };
    // Without an answer it counts as rejected.
    const choice = await this.ask(itemId, show, token, true) ?? "rejectOnce";
    return { choice, hash } satisfies wire.ApprovalResult;
  };

  readonly question = async (params: wire.QuestionRequest, token: Token) => {
    const { itemId, question, options } = params;
    const buttons = options.map((option) => ({ answer: option, label: option }));
    buttons.push({ answer: "", label: "No answer" });
    const freeText = params.freeText || options.length === 0;
    const show = { title: "Question", about: question, body: "", buttons, freeText };
    const answer = await this.ask(itemId, show, token, false);
    if (answer) this.chat.note(prose(`${question}\n→ ${answer}`));
    const outcome = answer ? "answered" : answer === undefined ? "cancelled" : "declined";
    return { outcome, answer } satisfies wire.QuestionAnswer;
  };

  /** Answers the only approval that waits, or the one of an item. */
  decide(kind: wire.ChoiceKind, item?: string): void {
    if (kind !== "rejectOnce" && !item && this.waiting.size > 0 && !this.readable()) {
      void say.info("read the request first, then approve it.");
      return void this.chat.reveal();
    }
    const open = [...this.waiting].filter(([id, { approval }]) => approval && id === (item ?? id));
    if (open.length === 1) return open[0]![1].settle(kind);
    void say.info(open.length === 0 ? "nothing needs an answer."
      : `${open.length} requests are open: answer them in the chat.`);
  }

  /** Whether the user can have read it: it is shown, and was before they reached for a key. */
  private readable(): boolean {
    const before = Date.now() - this.moved >= STILL;
    if (!this.chat.visible) this.moved = Date.now();
    return this.chat.visible && before;
  }

  /** Withdraws all cards: their answers are no longer needed. */
  drop(): void {
    for (const { settle } of [...this.waiting.values()]) settle();
  }

  private ask(item: string, show: Omit<Card, "id">, token: Token, approval: boolean) {
    const card = { ...show, id: `ask-${item}` };
    return new Promise<string | undefined>((done) => {
      const settle = (answer?: string): void => {
        if (!this.waiting.delete(item)) return;
        this.told({ kind: "answered", id: card.id });
        done(answer);
      };
      this.waiting.set(item, { card, approval, settle });
      token.onCancellationRequested(() => settle());
      this.told({ kind: "ask", card });
      void this.chat.point(`${show.title}?`);
    });
  }

  private told(message: ToView): void {
    this.moved = Date.now();
    this.chat.direct(message);
    this.changed();
  }
}
