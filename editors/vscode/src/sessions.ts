// Sessions and turns: one current session for each folder of the window, prompts, cancel.
import { randomUUID } from "node:crypto";
import { Uri, window, workspace, type Memento } from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import type { Chat } from "./chat.ts";
import * as context from "./context.ts";
import type { ConfigureSession, Event, Input, OpenedSession, SessionInfo, TurnEnded, TurnStarted } from "./protocol.ts";
import * as say from "./say.ts";
import type { Server } from "./server.ts";

/** What a session showed, as `interline/session/open` gives it. */
type Body = { kind: "event"; event: Event } | ({ kind: "started" } & TurnStarted) | ({ kind: "ended" } & TurnEnded);
interface Envelope { sessionId: string; turnId: string; body: Body }

/** Sessions of folders, as a window remembers them; and how much of one is shown again. */
const REMEMBERED = "interline.sessions", SHOWN = 200;

export class Sessions {
  private readonly current = new Map<string, Promise<SessionInfo>>();
  private readonly running = new Map<string, string>();

  /**
   * `changed` is told when turns begin or end; `flush` sends what is gathered, so that the server
   * knows it before a prompt.
   */
  constructor(
    private readonly server: Server, private readonly chat: Chat, private readonly memory: Memento,
    private readonly changed: (running: number) => void, private readonly flush: () => void,
  ) {
    server.prepare.push((client) => this.resume(client));
  }

  started({ sessionId, turnId, input }: Pick<TurnStarted, "sessionId" | "turnId" | "input">): void {
    this.running.set(sessionId, turnId);
    this.changed(this.running.size);
    const folder = Object.entries(this.remembered()).find(([, id]) => id === sessionId)?.[0];
    const folders = workspace.workspaceFolders ?? [];
    this.chat.started(turnId, input, folders.length > 1 ? folders.find((each) => each.uri.toString() === folder)?.name : undefined);
  }

  ended(params: TurnEnded): void {
    if (this.running.get(params.sessionId) === params.turnId) this.running.delete(params.sessionId);
    this.changed(this.running.size);
    this.chat.ended(params);
  }

  /** The folder that a command is about: the present editor's, else the first. */
  folder(uri = window.activeTextEditor?.document.uri): Uri | undefined {
    return (uri && workspace.getWorkspaceFolder(uri)?.uri) ?? workspace.workspaceFolders?.[0]?.uri;
  }

  /** The folder's session; begins one if there is none. */
  async of(uri?: Uri): Promise<SessionInfo> {
    await this.server.ready();
    const key = this.folder(uri)?.toString() ?? "";
    let session = this.current.get(key);
    if (!session) {
      session = this.server.request("interline/session/new", key ? { cwd: key } : {});
      this.current.set(key, session);
      session.then((info) => this.remember(key, info.sessionId), () => this.current.delete(key));
    }
    return session;
  }

  async ask(text: string, place?: Input): Promise<void> {
    await this.chat.reveal();
    try {
      const { sessionId } = await this.of();
      this.flush();
      const input: Input[] = [{ type: "text", text }, ...(place ? [place] : [])];
      const { state } = await this.server.request("interline/turn/start", {
        sessionId, clientTurnId: randomUUID(), input, context: context.now(), whenBusy: "queue",
      });
      if (state === "queued") this.chat.note("Queued: it starts after the present turn.");
    } catch (error) {
      // What was typed is not lost with the trouble.
      this.chat.restore(text);
      throw error;
    }
  }

  /** Runs a command of the server in the folder's session. */
  async forward(command: string, argument: { uri?: string } & object): Promise<void> {
    await this.chat.reveal();
    const { sessionId } = await this.of(argument.uri ? Uri.parse(argument.uri) : undefined);
    this.flush();
    const client = await this.server.ready();
    await client.sendRequest("workspace/executeCommand", { command, arguments: [{ ...argument, sessionId }] });
  }

  async cancel(): Promise<void> {
    if (this.running.size === 0) void say.info("nothing is running.");
    for (const sessionId of this.running.keys()) await this.server.request("interline/turn/cancel", { sessionId });
  }

  async begin(): Promise<void> {
    this.current.delete(this.folder()?.toString() ?? "");
    await this.of();
    this.chat.clear();
    this.chat.note("A new session.");
  }

  async configure(change: Omit<ConfigureSession, "sessionId">): Promise<void> {
    const { sessionId } = await this.of();
    const { mode, model } = await this.server.request("interline/session/configure", { sessionId, ...change });
    void say.info(`mode ${mode}, model ${model}`);
  }

  /** The server has started: the folders' sessions go on, and what was cut off is told. */
  private async resume(client: LanguageClient): Promise<void> {
    const cut = new Map(this.running), again = this.current.size > 0;
    this.running.clear();
    this.current.clear();
    for (const [folder, sessionId] of Object.entries(this.remembered())) {
      if (folder && !workspace.workspaceFolders?.some((each) => each.uri.toString() === folder)) continue;
      try {
        const opened = await client.sendRequest<OpenedSession>("interline/session/open", { sessionId, limit: SHOWN });
        // Another window has it: this one begins its own.
        if (opened.access === "readOnly") continue;
        this.current.set(folder, Promise.resolve(opened.session));
        this.replay(opened.items as Envelope[], again ? cut.get(sessionId) ?? "" : undefined);
      } catch (error) {
        client.outputChannel.warn(`session ${sessionId}: ${error}`);
        this.remember(folder, undefined);
      }
    }
    this.running.clear();
    this.changed(0);
  }

  /** Shows a session's past; `turn`: only from that turn's end on, the rest is still shown. */
  private replay(items: Envelope[], turn?: string): void {
    let shown = turn !== undefined;
    for (const { turnId, sessionId, body } of items) {
      if (shown &&= turnId !== turn || body.kind !== "ended") continue;
      if (body.kind === "started") this.started({ sessionId, turnId, input: body.input });
      else if (body.kind === "ended") this.chat.ended(body);
      else this.chat.event(turnId, body.event);
    }
    const last = items.at(-1)?.body;
    if (last?.kind === "ended" && last.error) void this.chat.point(last.error.message);
  }

  private remembered(): Record<string, string> {
    return this.memory.get(REMEMBERED, {});
  }

  private remember(folder: string, session: string | undefined): void {
    const { [folder]: _, ...others } = this.remembered();
    void this.memory.update(REMEMBERED, session ? { ...others, [folder]: session } : others);
  }
}
