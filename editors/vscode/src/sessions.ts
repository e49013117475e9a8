// Sessions and turns: one current session for each folder of the window, prompts, cancel.
import { Uri, window, workspace, type Memento } from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import type { Chat } from "./chat.ts";
import * as context from "./context.ts";
import type * as wire from "./protocol.ts";
import * as say from "./say.ts";
import { tell, type Server } from "./server.ts";

/** The argument of commands. */
export interface Place { uri?: string; range?: wire.WireRange; text?: string }

/** Sessions of folders, as a window remembers them; and how much of one is shown again. */
const REMEMBERED = "interline.session ", SHOWN = 200;
/** Net changes of turns: the log has sums over their edits. */
const COUNTS = "interline.counts";
type Counts = [turn: string, files: wire.FileChange[]][];

export class Sessions {
  /** The turns that run, by session. */
  readonly running = new Map<string, wire.TurnStarted>();
  /** What was asked in vain: it is in the view's field, without its place. */
  private unsent: wire.Input[] = [];
  private readonly current = new Map<string, Promise<string>>();

  /**
   * `changed` is called when turns begin or end; `flush` sends what is gathered, so that the server
   * knows it before a prompt.
   */
  constructor(
    private readonly server: Server, private readonly chat: Chat, private readonly memory: Memento,
    private readonly changed: () => void, private readonly flush: () => void,
  ) {}

  readonly started = (turn: wire.TurnStarted): void => {
    this.running.set(turn.sessionId, turn);
    this.changed();
    this.chat.started(turn.turnId, turn.input, this.label(turn.sessionId));
  };

  readonly event = ({ event }: wire.TurnEvent): void => this.chat.event(event);

  readonly ended = (turn: wire.TurnEnded): void => {
    const { sessionId, turnId, error } = turn, began = this.running.get(sessionId);
    if (began?.turnId === turnId) this.running.delete(sessionId);
    this.changed();
    this.chat.ended(turn);
    if (error?.kind !== "auth" && error?.kind !== "noModel") return;
    this.giveBack(began?.input ?? []);
    void tell({ message: error.message, data: error });
  };

  /** Remembers what a turn's rows show. */
  counted(sessionId: string, turnId: string, files: wire.FileChange[]): void {
    const all = [...this.memory.get<Counts>(COUNTS, []), [`${sessionId} ${turnId}`, files]];
    void this.memory.update(COUNTS, all.slice(-SHOWN));
  }

  /** The folder that a command is about: the present editor's, else the first. */
  folder(uri = window.activeTextEditor?.document.uri): Uri | undefined {
    return ((uri && workspace.getWorkspaceFolder(uri)) ?? workspace.workspaceFolders?.[0])?.uri;
  }

  /** The folder's session; starts one if needed. */
  async of(uri?: Uri): Promise<string> {
    await this.server.ready();
    const cwd = `${this.folder(uri) ?? ""}`, known = this.current.get(cwd);
    if (known) return known;
    const session = this.fresh(cwd);
    this.current.set(cwd, session);
    session.catch(() => this.current.delete(cwd));
    return session;
  }

  private async fresh(cwd: string): Promise<string> {
    const params = cwd ? { cwd } : {};
    const { sessionId } = await this.server.request("interline/session/new", params);
    void this.memory.update(REMEMBERED + cwd, sessionId);
    return sessionId;
  }

  async ask(text: string, place?: wire.Input): Promise<void> {
    const again = !place && words(this.unsent) === text;
    const input = again ? this.unsent : [{ type: "text", text } as const, ...place ? [place] : []];
    await this.chat.reveal();
    try {
      const sessionId = await this.of();
      this.flush();
      const params = { sessionId, input, context: context.now(), whenBusy: "queue" } as const;
      const { state } = await this.server.request("interline/turn/start", params);
      if (state === "queued") this.chat.note("Queued: runs after the current turn.");
    } catch (error) {
      this.giveBack(input);
      throw error;
    }
  }

  /** What was typed is not lost with the trouble. */
  private giveBack(input: wire.Input[]): void {
    this.unsent = input;
    this.chat.direct({ kind: "restore", text: words(input) });
  }

  /** Runs a command of the server in the folder's session. */
  async forward(command: string, given: Place = {}) {
    const sessionId = await this.of(given.uri ? Uri.parse(given.uri) : undefined);
    this.flush();
    return this.server.command(command, { ...given, sessionId });
  }

  /** Reverts a turn's changes, by default the last one's, or a revert, and shows the result. */
  async revert(given?: object, verb = "Reverted"): Promise<void> {
    await this.chat.reveal();
    const params = { sessionId: await this.of(), ...given };
    const { files, itemId } = await this.server.request("interline/turn/revert", params);
    for (const it of files) this.chat.file(it.deleted ? "Deleted" : verb, it, it.conflicts);
    const changed = files.some((it) => it.deleted || it.added + it.removed > 0);
    if (changed) this.offerRevert(params.sessionId, itemId, `${verb}.`, verb === "Reverted");
  }

  /** A revert can be reverted in turn: that restores the changes, and the next takes them back. */
  offerRevert(sessionId: string, itemId: string, text: string, restores = true): void {
    const [verb, label] = restores ? ["Restored", "Restore"] : ["Reverted", "Revert"];
    this.chat.row(itemId, text, () => this.revert({ sessionId, itemId }, verb), label);
  }

  /** The sessions of the window's folders, or of one file's folder. */
  async known(uri?: string): Promise<string[]> {
    if (!uri) return Promise.all(this.current.values());
    const session = this.current.get(`${this.folder(Uri.parse(uri)) ?? ""}`);
    return session ? [await session] : [];
  }

  async begin(): Promise<void> {
    this.current.delete(`${this.folder() ?? ""}`);
    await this.of();
    this.chat.clear();
    this.chat.note("New session.");
  }

  async configure(key: "mode" | "model", given?: string): Promise<void> {
    const offers = (await this.server.request("interline/status", {}))[`${key}s`] ?? [];
    const value = given ?? await window.showQuickPick(offers, { placeHolder: `Which ${key}?` });
    if (!value) return;
    const params = { sessionId: await this.of(), [key]: value };
    const { mode, model } = await this.server.request("interline/session/configure", params);
    void say.info(`mode ${mode}, model ${model}`);
  }

  /** The server has started: the folders' sessions continue, and interrupted turns are reported. */
  async resume(client: LanguageClient): Promise<void> {
    const cut = new Map(this.running), again = this.current.size > 0;
    this.running.clear();
    this.current.clear();
    this.changed();
    const folders = ["", ...(workspace.workspaceFolders ?? []).map(({ uri }) => `${uri}`)];
    for (const folder of folders) {
      const sessionId = this.memory.get<string>(REMEMBERED + folder);
      if (!sessionId) continue;
      const params = { sessionId, limit: SHOWN };
      try {
        const opened: wire.OpenedSession =
          await client.sendRequest("interline/session/open", params);
        // Another window has it: this one begins its own.
        if (opened.access === "readOnly") continue;
        this.current.set(folder, Promise.resolve(sessionId));
        const { items } = opened, turn = cut.get(sessionId)?.turnId;
        const end = items.findIndex(({ turnId, body }) => turnId === turn && body.kind === "ended");
        // What was there before the server ended is still shown.
        this.replay(!again ? items : end < 0 ? [] : items.slice(end), this.label(sessionId));
      } catch (error) {
        client.warn(`session ${sessionId}: ${error}`);
      }
    }
  }

  private replay(items: wire.Envelope[], label?: string): void {
    const counts = new Map(this.memory.get<Counts>(COUNTS, []));
    for (const { body, ...turn } of items) {
      if (body.kind === "started") this.chat.started(turn.turnId, body.input, label);
      else if (body.kind === "ended") {
        const files = counts.get(`${turn.sessionId} ${turn.turnId}`) ?? body.files;
        this.chat.ended({ ...turn, ...body, files });
      } else this.chat.event(body.event);
    }
    const last = items.at(-1)?.body;
    if (last?.kind === "ended" && last.error) void this.chat.point(last.error.message);
  }

  /** The name of a session's folder, in a window with more than one. */
  private label(session: string): string | undefined {
    const folders = workspace.workspaceFolders ?? [];
    const folder = folders.find(({ uri }) => this.memory.get(`${REMEMBERED}${uri}`) === session);
    return folders.length > 1 ? folder?.name : undefined;
  }
}

/** What was typed of a prompt. */
function words([first]: wire.Input[]): string {
  return first?.type === "text" ? first.text : "";
}
