// Questions of the extension itself: each has a session of its own, which no view shows and which
// is deleted when it is answered.
import type { CancellationToken } from "vscode";
import type { Input, NewSession, TurnEnded, TurnEvent } from "./protocol.ts";
import type { Server } from "./server.ts";

interface Waiting { text: string; settle: (turn: TurnEnded) => void }

export class Quiet {
  private readonly waiting = new Map<string, Waiting>();

  constructor(private readonly server: Server) {}

  /** Whether a session is one of these. */
  has({ sessionId }: { sessionId: string }): boolean {
    return this.waiting.has(sessionId);
  }

  readonly event = ({ sessionId, event }: TurnEvent): void => {
    const asked = this.waiting.get(sessionId);
    if (asked && event.type === "text") asked.text += event.text;
  };

  readonly ended = (turn: TurnEnded): void => this.waiting.get(turn.sessionId)?.settle(turn);

  /** The answer to a prompt; nothing is changed for it. */
  async ask(session: NewSession, input: Input[], token?: CancellationToken): Promise<string> {
    const params = { ...session, mode: "ask" } as const;
    const { sessionId } = await this.server.request("interline/session/new", params);
    token?.onCancellationRequested(() =>
      void this.server.request("interline/turn/cancel", { sessionId }).catch(() => undefined));
    const asked: Waiting = { text: "", settle: () => undefined };
    this.waiting.set(sessionId, asked);
    try {
      const ended = new Promise<TurnEnded>((settle) => (asked.settle = settle));
      await this.server.request("interline/turn/start", { sessionId, input });
      const { error } = await ended;
      if (error) throw Object.assign(new Error(error.message), { data: error });
      return asked.text;
    } finally {
      this.waiting.delete(sessionId);
      await this.server.request("interline/session/delete", { sessionId });
    }
  }
}
