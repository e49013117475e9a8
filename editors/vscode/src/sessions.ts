// Sessions and turns: one current session for each folder of the window, prompts, cancel.
import { randomUUID } from "node:crypto";
import { commands, Uri, window, workspace, type Memento } from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import type { Chat } from "./chat.ts";
import * as context from "./context.ts";
import type { ConfigureSession, Event, Input, OpenedSession, SessionInfo, TurnEnded, TurnStarted } from "./protocol.ts";
import type { Server } from "./server.ts";

/** What a session showed, as `interline/session/open` gives it. */
type Body = { kind: "event"; event: Event } | ({ kind: "started" } & TurnStarted) | ({ kind: "ended" } & TurnEnded);
interface Envelope { sessionId: string; turnId: string; body: Body }

/** Sessions of folders, as a window remembers them. */
const REMEMBERED = "interline.sessions";
/** Shown of a session that is opened again. */
const SHOWN = 50;

export class Sessions {
  private readonly current = new Map<string, Promise<SessionInfo>>();
  private readonly running = new Map<string, string>();
  private readonly server: Server;
  private readonly chat: Chat;
  private readonly memory: Memento;
  /** Told when turns begin or end. */
  private readonly changed: (running: number) => void;
  /** Sends what is gathered, so that the server knows it before a prompt. */
  private readonly flush: () => void;

  constructor(server: Server, chat: Chat, memory: Memento, changed: (running: number) => void, flush: () => void) {
    this.server = server;
    this.chat = chat;
    this.memory = memory;
    this.changed = changed;
    this.flush = flush;
    server.prepare.push((client) => this.resume(client));
    chat.folderOf = (session) => Object.entries(this.remembered()).find(([, id]) => id === session)?.[0];
  }

  started(params: TurnStarted): void {
    this.running.set(params.sessionId, params.turnId);
    this.changed(this.running.size);
    this.chat.started(params);
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
    const folder = this.folder(uri);
    const key = folder?.toString() ?? "";
    let session = this.current.get(key);
    if (!session) {
      session = this.server.request("interline/session/new", folder ? { cwd: key } : {});
      this.current.set(key, session);
      session.then((info) => this.remember(key, info.sessionId), () => this.current.delete(key));
    }
    return session;
  }

  async ask(text: string, place?: Input): Promise<void> {
    await this.chat.reveal();
    const { sessionId } = await this.of();
    this.flush();
    const input: Input[] = [{ type: "text", text }, ...(place ? [place] : [])];
    const { state } = await this.server.request("interline/turn/start", {
      sessionId, clientTurnId: randomUUID(), input, context: context.now(), whenBusy: "queue",
    });
    if (state !== "running") this.chat.note(state === "queued" ? "Queued: it starts after the present turn." : state);
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
    if (this.running.size === 0) return void window.showInformationMessage("Interline: nothing is running.");
    for (const sessionId of this.running.keys()) await this.server.request("interline/turn/cancel", { sessionId });
  }

  async begin(): Promise<void> {
    this.current.delete(this.folder()?.toString() ?? "");
    await this.of();
    this.chat.clear();
    this.chat.note("A new session.");
  }

  /** Lets the user choose one of the folder's sessions. */
  async choose(): Promise<void> {
    const folder = this.folder()?.toString();
    const { sessions } = await this.server.request("interline/session/list", { cwd: folder, limit: 100 });
    const rows = sessions.map((row) => ({
      label: row.title || row.sessionId, description: `${row.turns} turns, ${row.state}`, detail: row.updatedAt, row,
    }));
    const chosen = await window.showQuickPick(rows, { placeHolder: rows.length > 0 ? "Which session?" : "There are no sessions yet" });
    if (!chosen) return;
    const opened = await this.server.request("interline/session/open", { sessionId: chosen.row.sessionId, limit: SHOWN });
    this.chat.clear();
    this.replay(opened);
    if (opened.access === "readOnly") {
      this.chat.note("Another window writes this session; prompts of this one go to its own.");
    } else {
      this.remember(folder ?? "", opened.session.sessionId);
      this.current.set(folder ?? "", Promise.resolve(opened.session));
    }
    await commands.executeCommand("interline.chat.focus");
  }

  async configure(change: Omit<ConfigureSession, "sessionId">): Promise<void> {
    const { sessionId } = await this.of();
    const { mode, model } = await this.server.request("interline/session/configure", { sessionId, ...change });
    void window.showInformationMessage(`Interline: mode ${mode}, model ${model}`);
  }

  /** The server has started: the folders' sessions go on, and what was cut off is told. */
  private async resume(client: LanguageClient): Promise<void> {
    const cut = new Map(this.running);
    const again = this.current.size > 0;
    this.running.clear();
    this.current.clear();
    this.changed(0);
    for (const [folder, sessionId] of Object.entries(this.remembered())) {
      if (folder && !workspace.workspaceFolders?.some((each) => each.uri.toString() === folder)) continue;
      try {
        const opened = await client.sendRequest<OpenedSession>("interline/session/open", { sessionId, limit: SHOWN });
        // Another window has it: this one begins its own.
        if (opened.access === "readOnly") continue;
        this.current.set(folder, Promise.resolve(opened.session));
        this.replay(opened, again ? cut.get(sessionId) ?? "" : undefined);
        const last = (opened.items as Envelope[]).at(-1)?.body;
        if (last?.kind === "ended" && last.error) void this.chat.point(last.error.message);
      } catch (error) {
        client.outputChannel.warn(`session ${sessionId}: ${error}`);
        this.remember(folder, undefined);
      }
    }
  }

  /** Shows a session's past; `turn`: only how that turn ended, the rest is still shown. */
  private replay(opened: OpenedSession, turn?: string): void {
    for (const { turnId, sessionId, body } of opened.items as Envelope[]) {
      if (turn !== undefined && (turnId !== turn || body.kind !== "ended")) continue;
      if (body.kind === "started") this.chat.started({ ...body, sessionId, turnId });
      else if (body.kind === "ended") this.chat.ended(body);
      else this.chat.event({ event: body.event, turnId });
    }
  }

  private remembered(): Record<string, string> {
    return this.memory.get(REMEMBERED, {});
  }

  private remember(folder: string, session: string | undefined): void {
    const { [folder]: _, ...others } = this.remembered();
    void this.memory.update(REMEMBERED, session ? { ...others, [folder]: session } : others);
  }
}
