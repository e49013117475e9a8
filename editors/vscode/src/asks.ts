// `interline/approval/request` and `interline/question/request`: cards in the chat view that show
// exactly what is asked. They never take the keys away from where the user types.
import type { CancellationToken } from "vscode";
import type { Chat } from "./chat.ts";
import { prose, STILL, type Card, type CardButton, type ToView } from "./messages.ts";
import type * as wire from "./protocol.ts";
import * as say from "./say.ts";

type Token = Pick<CancellationToken, "onCancellationRequested">;
/** What was chosen, and the words that go with a rejection. */
interface Answer { choice: string; feedback?: string }
interface Waiting {
  card: Card;
  approval: boolean;
  settle: (answer?: Answer) => void;
  open?: () => unknown;
}
export type Edit = wire.Subject & { kind: "edit" };
/** What cards need of the editor: differences, and the folder of a file that is to be trusted. */
export interface Proposals {
  open(item: string, edit: Edit): unknown;
  trust(uri: string): Promise<unknown>;
}

/** The answer that trusts the folder and allows; the server's reason that calls for it. */
const TRUST = "trustFolder", UNTRUSTED = "This folder is not trusted yet.";
/** Buttons in the order of a card, with their keys. */
const KEYS: Record<wire.ChoiceKind, string> = {
  allowOnce: "Y", allowSession: "S", allowFolder: "F", allowAlways: "A", rejectOnce: "N",
};
const ORDER = Object.keys(KEYS) as wire.ChoiceKind[];

function buttons({ choices, remember }: wire.AskApproval, trusts: boolean): CardButton[] {
  const sorted = choices.toSorted((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind));
  const found = sorted.map(({ id, label, kind, rule }): CardButton => {
    const reject = kind === "rejectOnce", button = { answer: id, key: KEYS[kind] };
    const allows = kind === "allowSession" ? remember : rule && `\`${rule}\`, in the sandbox`;
    const scope = allows && { tooltip: `Allows ${allows}.` };
    const words = reject ? `${label}…` : label;
    const how = { primary: kind === "allowOnce", reason: reject };
    return { ...button, label: words, ...how, ...scope };
  });
  const trust: CardButton = {
    answer: TRUST, label: "Trust this folder", key: "T",
    tooltip: "Allows this, and edits in the folder without asking.",
  };
  if (trusts) found.splice(-1, 0, trust);
  return found;
}

/** The words of a card: each fact once. What a button remembers is in its tooltip. */
function shows({ title, about, content, subject, remember }: wire.AskApproval) {
  const lines = about.split("\n").filter((line) => !remember || !line.includes(remember));
  const command = subject.kind === "command";
  const named = command ? subject.background ? "Run in the background?" : "Run this command?"
    : title;
  return { title: named, about: lines.join("\n"), body: content, diff: subject.kind === "edit" };
}

export class Asks {
  readonly waiting = new Map<string, Waiting>();
  /** When a card came or went, or the view was shown for them. */
  private moved = 0;

  /** `changed`: told when something begins or ceases to wait. */
  constructor(
    private readonly chat: Chat, private readonly changed: () => void,
    private readonly proposals: Proposals,
    /** In which session something is asked, where that is not the one that is shown. */
    private readonly elsewhere: (sessionId: string) => string | undefined = () => undefined,
  ) {
    chat.said.event((said) => {
      for (const { card, settle, open } of [...this.waiting.values()]) {
        if (said.kind === "ready") chat.direct({ kind: "ask", card });
        if (!("id" in said) || said.id !== card.id) continue;
        if (said.kind === "openDiff") void open?.();
        if (said.kind !== "answer") continue;
        settle({ choice: said.answer, ...said.feedback && { feedback: said.feedback } });
      }
    });
  }

  readonly approval = async (
    params: wire.AskApproval, token: Token,
  ): Promise<wire.ApprovalResult> => {
    const { itemId, subject, hash } = params, edit = subject.kind === "edit" ? subject : undefined;
    const trusts = edit !== undefined && params.reason === UNTRUSTED;
    const opens = edit !== undefined && (edit.files ?? []).length < 2;
    const words = shows(params), where = this.elsewhere(params.sessionId);
    const about = where ? `In the session “${where}”.\n${words.about}` : words.about;
    const card = { ...words, about, buttons: buttons(params, trusts), opens };
    const open = (): unknown => opens && this.proposals.open(itemId, edit);
    // Without an answer it counts as rejected.
    const answer = await this.ask(itemId, card, token, true, open);
    const { choice = "rejectOnce", feedback } = answer ?? {};
    if (choice !== TRUST) return { choice, hash, ...feedback && { feedback } };
    await this.proposals.trust(edit!.uri);
    return { choice: "allowOnce", hash };
  };

  readonly question = async (params: wire.QuestionRequest, token: Token) => {
    const { itemId, question, options } = params;
    const offered = options.map((option, at) =>
      ({ answer: option, label: option, ...at < 9 && { key: `${at + 1}` } }));
    const buttons = [...offered, { answer: "", label: "No answer" }];
    const freeText = params.freeText || options.length === 0;
    const show = {
      title: "Question", about: question, body: "", buttons, freeText, question: true,
    };
    const { choice: answer } = await this.ask(itemId, show, token, false) ?? {};
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
    if (open.length === 1) return open[0]![1].settle({ choice: kind });
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

  private ask(
    item: string, show: Omit<Card, "id">, token: Token, approval: boolean, open?: () => unknown,
  ) {
    const card = { ...show, id: `ask-${item}` };
    return new Promise<Answer | undefined>((done) => {
      const settle = (answer?: Answer): void => {
        if (!this.waiting.delete(item)) return;
        this.told({ kind: "answered", id: card.id });
        done(answer);
      };
      this.waiting.set(item, { card, approval, settle, open });
      token.onCancellationRequested(() => settle());
      this.told({ kind: "ask", card });
      void this.chat.point(show.question ? show.about : `${show.title} ${firstLine(show)}`.trim());
    });
  }

  private told(message: ToView): void {
    this.moved = Date.now();
    this.chat.direct(message);
    this.changed();
  }
}

/** What a message says of a card: a command, not a diff. */
function firstLine({ body, diff }: Omit<Card, "id">): string {
  return diff ? "" : body.split("\n", 1)[0]!;
}
