// Sessions and turns: one current session for each folder of the window, prompts, cancel.
import { Uri, window, workspace, type Memento } from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import type { Chat } from "./chat.ts";
import { active } from "./complete.ts";
import * as context from "./context.ts";
import type { Attachment, Queued, Tab } from "./messages.ts";
import { pick } from "./pickers.ts";
import { input as parts } from "./prompts.ts";
import type * as wire from "./protocol.ts";
import * as say from "./say.ts";
import { tell, type Server } from "./server.ts";
import { Tabs } from "./tabs.ts";

/** The argument of commands. */
export interface Place { uri?: string; range?: wire.WireRange; text?: string }

/** Sessions of folders, as a window remembers them; and how much of one is shown again. */
const REMEMBERED = "interline.session ", OPEN = "interline.tabs ", SHOWN = 1000, LISTED = 100;
/** Net changes of turns, and how many of them: the log has sums over their edits. */
const COUNTS = "interline.counts", COUNTED = 200;
/** What the prompt of an inline edit says besides the user's words. */
const CHANGE: wire.Segment = {
  id: "inline-edit", title: "Inline edit", slot: "tail",
  body: "The user asks for this change in the editor, at the attached place. Edit the file there, "
    + "and elsewhere only where the change needs it. Then answer in one sentence.",
};
type Counts = [turn: string, files: wire.FileChange[]][];
/** Failures after which the same prompt can succeed. */
const PASSING: wire.FailureKind[] = ["network", "overloaded", "rateLimited"];

/** What is known of a session beside its conversation. */
interface Facts {
  model?: string;
  mode?: string;
  agent?: string | null;
  title?: string | null;
  tokens?: number;
  cost?: number | null;
  context?: wire.ContextUse | null;
}
type Prompt = Pick<wire.TurnStarted, "sessionId" | "turnId" | "input">;
interface Waiting extends Queued { input: wire.Input[] }

export class Sessions {
  /** The turns that run, by session. */
  readonly running = new Map<string, wire.TurnStarted>();
  /** What was asked in vain: it is in the view's field, without its place. */
  private unsent: wire.Input[] = [];
  private readonly current = new Map<string, Promise<string>>();
  /** The sessions that are shown, by folder; those in tabs; and of which something is not read. */
  private readonly shown = new Map<string, string>();
  private readonly tabs = new Tabs();
  private readonly unread = new Set<string>();
  /** The last event of each session that was shown when it was opened. */
  private readonly replayed = new Map<string, number>();
  private readonly facts = new Map<string, Facts>();
  /** Prompts that wait behind a running turn, by session. */
  private readonly queues = new Map<string, Waiting[]>();
  /** Turns whose prompt has come back; what steers and was shown already. */
  private readonly prompted = new Set<string>();
  private readonly steers: string[] = [];
  private trust: Record<string, boolean> = {};

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
    this.unqueue(turn.sessionId, turn.turnId);
    this.changed();
    if (!this.shows(turn)) return;
    this.prompted.delete(turn.turnId);
    this.show(turn);
  };

  /** Whether what a session sends is shown now: it may be in another tab, or known already. */
  private shows({ sessionId, seq }: { sessionId: string; seq: number }): boolean {
    return this.visible(sessionId) && seq > (this.replayed.get(sessionId) ?? -1);
  }

  private visible(sessionId: string): boolean {
    return [...this.shown.values()].includes(sessionId);
  }

  /** The title of a session that is in another tab. */
  elsewhere(sessionId: string): string | undefined {
    const inTab = this.tabs.of(this.cwd()).includes(sessionId) && !this.visible(sessionId);
    return inTab ? this.facts.get(sessionId)?.title ?? undefined : undefined;
  }

  /** The sessions that are shown, as one word. */
  get key(): string {
    return [...this.shown.values()].join(" ");
  }

  /** Whether a turn runs in a session that is shown. */
  get busy(): boolean {
    return [...this.running.keys()].some((id) => this.visible(id));
  }

  /** A prompt, with what its buttons do. */
  private show({ sessionId, turnId, input }: Prompt): void {
    this.chat.acts.set(`fork ${turnId}`, () => this.fork(sessionId, turnId));
    this.chat.acts.set(`edit ${turnId}`, () => this.edit(sessionId, turnId, input));
    this.chat.started(turnId, input, this.label(sessionId));
  }

  readonly event = (turn: wire.TurnEvent): void => {
    if (this.shows(turn)) this.take(turn);
  };

  private take({ sessionId, turnId, event }: Omit<wire.TurnEvent, "seq">): void {
    if (event.type === "userMessage") return this.heard(sessionId, turnId, event.input);
    // A sub-agent's request has none.
    if (event.type === "usage" && event.context) this.learn(sessionId, { context: event.context });
    this.chat.event(event);
  }

  /** The first input of a turn is its prompt, which is shown; later ones steer it. */
  private heard(sessionId: string, turnId: string, input: wire.Input[]): void {
    const at = this.steers.indexOf(words(input));
    if (!this.prompted.has(turnId)) this.prompted.add(turnId);
    else if (at >= 0) this.steers.splice(at, 1);
    else this.show({ sessionId, turnId, input });
  }

  readonly ended = (turn: wire.TurnEnded): void => {
    const { sessionId, turnId, error } = turn, began = this.running.get(sessionId);
    if (began?.turnId === turnId) this.running.delete(sessionId);
    const shows = this.shows(turn);
    if (!shows && this.tabs.of(this.cwd()).includes(sessionId)) this.unread.add(sessionId);
    this.unqueue(sessionId, turnId);
    this.changed();
    const again = began && error && PASSING.includes(error.kind);
    if (again) this.chat.acts.set(`again ${turnId}`, () => this.start(sessionId, began.input));
    const stopped = turn.stopReason === "maxSteps" || turn.stopReason === "maxTokens";
    const more = (): unknown => this.start(sessionId, [{ type: "text", text: "Continue." }]);
    if (shows) this.chat.ended(turn, Boolean(again), stopped ? more : undefined);
    const title = this.facts.get(sessionId)?.title || words(began?.input ?? []).slice(0, 60);
    void this.chat.away(`${error ? "the turn failed" : "the turn has ended"}: ${title}`);
    if (error?.kind !== "auth" && error?.kind !== "noModel") return;
    this.giveBack(began?.input ?? []);
    void tell({ message: error.message, data: error });
  };

  /** A session's title, model, mode or cost changed. */
  readonly turned = ({ sessionId, state: _, ...facts }: wire.SessionChange): void => {
    this.learn(sessionId, facts);
  };

  private learn(sessionId: string, facts: Facts): void {
    this.facts.set(sessionId, { ...this.facts.get(sessionId), ...facts });
    void this.tell();
  }

  /** Settings, folders or trust changed. */
  async checked(): Promise<void> {
    this.status(await this.server.request("interline/status", {}));
  }

  readonly status = ({ trust = {} }: wire.Status): void => {
    this.trust = trust;
    void this.tell();
  };

  /** Shows the facts of the folder's session. */
  async tell(): Promise<void> {
    const folder = this.folder(), session = await this.current.get(`${folder ?? ""}`);
    const facts = this.facts.get(session ?? "") ?? {};
    const settings = workspace.getConfiguration("interline");
    const agents = Object.keys(settings.get<object>("agents", {}) ?? {}).length > 0;
    const open = this.tabs.of(this.cwd()), tabs = open.length < 2 ? [] : open.map((id): Tab => ({
      id, title: this.facts.get(id)?.title || "New session", current: id === session,
      running: this.running.has(id), unread: this.unread.has(id),
    }));
    this.chat.state({
      tabs,
      model: facts.model ?? settings.get("model", ""), mode: facts.mode ?? settings.get("mode", ""),
      title: facts.title ?? "", ...facts.agent && { agent: facts.agent }, agents,
      ...facts.context && { context: facts.context },
      ...facts.tokens && { tokens: facts.tokens }, ...facts.cost && { cost: facts.cost },
      ...folder && folder.fsPath in this.trust && { trusted: this.trust[folder.fsPath] },
      queue: (this.queues.get(session ?? "") ?? []).map(({ turn, text }) => ({ turn, text })),
      active: active(),
    });
  }

  /** Remembers what a turn's rows show. */
  counted(sessionId: string, turnId: string, files: wire.FileChange[]): void {
    const all = [...this.memory.get<Counts>(COUNTS, []), [`${sessionId} ${turnId}`, files]];
    void this.memory.update(COUNTS, all.slice(-COUNTED));
  }

  /** The folder that a command is about: the present editor's, else the first. */
  folder(uri = window.activeTextEditor?.document.uri): Uri | undefined {
    return ((uri && workspace.getWorkspaceFolder(uri)) ?? workspace.workspaceFolders?.[0])?.uri;
  }

  private readonly cwd = (uri?: Uri): string => `${this.folder(uri) ?? ""}`;

  /** The folder's session; starts one if needed. */
  async of(uri?: Uri): Promise<string> {
    await this.server.ready();
    const cwd = this.cwd(uri), known = this.current.get(cwd);
    if (known) return known;
    return this.fresh(cwd);
  }

  private fresh(cwd: string, tab = false): Promise<string> {
    const session = this.created(cwd, tab);
    this.current.set(cwd, session);
    session.catch(() => this.current.delete(cwd));
    return session;
  }

  private async created(cwd: string, tab: boolean): Promise<string> {
    const params = cwd ? { cwd } : {};
    const session = await this.server.request("interline/session/new", params);
    this.place(cwd, session.sessionId, tab);
    this.learn(session.sessionId, session);
    return session.sessionId;
  }

  /** Shows a session: in a tab of its own where the one before it has one, or still works. */
  private place(cwd: string, id: string, tab = false): void {
    const old = this.shown.get(cwd), stays = tab || this.running.has(old ?? "");
    this.shown.set(cwd, id);
    this.unread.delete(id);
    this.tabs.put(cwd, id, stays ? undefined : old);
    void this.memory.update(REMEMBERED + cwd, id);
    void this.memory.update(OPEN + cwd, this.tabs.of(cwd));
    this.changed();
  }

  /** Closes a tab; its session stays in the history. */
  async close(id: string): Promise<void> {
    const cwd = this.cwd(), next = this.tabs.close(cwd, id);
    void this.memory.update(OPEN + cwd, this.tabs.of(cwd));
    if (this.shown.get(cwd) === id && next) await this.open(next);
    else await this.tell();
  }

  /** Sends a request that failed again at once, instead of after its wait. */
  async retry(): Promise<void> {
    for (const sessionId of [...this.running.keys()].filter((id) => this.visible(id))) {
      await this.server.request("interline/turn/retry", { sessionId });
    }
  }

  /** Stops the turns of the sessions that are shown. */
  async cancel(): Promise<void> {
    for (const sessionId of [...this.running.keys()].filter((id) => this.visible(id))) {
      await this.server.request("interline/turn/cancel", { sessionId });
    }
  }

  /** What the view's field asks, with what is attached to it. */
  async send(text: string, attachments: Attachment[] = [], steer = false): Promise<void> {
    const again = attachments.length === 0 && words(this.unsent) === text;
    const read = async (): Promise<wire.Input[]> =>
      parts(text, attachments, await this.commands(/^\/\S+/.exec(text.trim())?.[0]));
    const input = again ? this.unsent : await read().catch((error) => {
      this.giveBack([{ type: "text", text }]);
      throw error;
    });
    await this.put(input, steer);
  }

  /** The skills and prompts that begin with a word. */
  private async commands(text: string | undefined): Promise<wire.Completion[]> {
    if (!text) return [];
    const params = { sessionId: await this.of(), text, offset: text.length };
    return (await this.server.request("interline/input/complete", params)).items;
  }

  async ask(text: string, place?: wire.Input): Promise<void> {
    const again = !place && words(this.unsent) === text;
    const typed = { type: "text", text } as const;
    await this.put(again ? this.unsent : [typed, ...place ? [place] : []]);
  }

  /** A change that is asked for in the editor: the view stays as it is. Gives the turn. */
  async change(text: string, place: wire.Input & { type: "resource" }): Promise<string> {
    const sessionId = await this.of(Uri.parse(place.uri));
    return this.start(sessionId, [{ type: "text", text }, place], [CHANGE]);
  }

  private async put(input: wire.Input[], steer = false): Promise<void> {
    await this.chat.reveal();
    try {
      const sessionId = await this.of(), turn = this.running.get(sessionId);
      if (steer && turn) return await this.steer(sessionId, turn.turnId, input);
      await this.start(sessionId, input);
    } catch (error) {
      this.giveBack(input);
      throw error;
    }
  }

  private async start(
    sessionId: string, input: wire.Input[], segments?: wire.Segment[],
  ): Promise<string> {
    this.flush();
    const how = { context: context.now(), whenBusy: "queue", ...segments && { segments } } as const;
    const params = { sessionId, input, ...how };
    const { state, turnId } = await this.server.request("interline/turn/start", params);
    if (state !== "queued") return turnId;
    const waiting = { turn: turnId, text: words(input), input };
    this.queues.set(sessionId, [...this.queues.get(sessionId) ?? [], waiting]);
    await this.tell();
    return turnId;
  }

  private async steer(sessionId: string, turnId: string, input: wire.Input[]): Promise<void> {
    await this.server.request("interline/turn/steer", { sessionId, turnId, input });
    this.steers.push(words(input));
    this.chat.started(turnId, input, this.label(sessionId));
  }

  private unqueue(sessionId: string, turn: string): void {
    const left = (this.queues.get(sessionId) ?? []).filter((each) => each.turn !== turn);
    this.queues.set(sessionId, left);
    void this.tell();
  }

  /** Takes a prompt out of the queue: for good, for the turn that runs, or back into the field. */
  async dequeue(turn: string, what: "dequeue" | "steerQueued" | "editQueued"): Promise<void> {
    const found = [...this.queues].find(([, all]) => all.some((each) => each.turn === turn));
    if (!found) return;
    const [sessionId] = found, params = { sessionId, turnId: turn };
    const { input } = await this.server.request("interline/turn/dequeue", params);
    this.unqueue(sessionId, turn);
    const running = this.running.get(sessionId);
    if (what === "editQueued") this.giveBack(input);
    else if (what === "steerQueued" && running) await this.steer(sessionId, running.turnId, input);
    else if (what === "steerQueued") await this.start(sessionId, input);
  }

  /** What was typed is not lost with the trouble. */
  private giveBack(input: wire.Input[]): void {
    this.unsent = input;
    this.chat.direct({ kind: "restore", text: words(input) });
  }

  /** What the next request of the folder's session sends. */
  async preview(): Promise<wire.PromptPreview> {
    const sessionId = await this.of();
    this.flush();
    const params = { sessionId, context: context.now(), since: "last", text: "all" };
    return this.server.request("interline/prompt/preview", params);
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

  /** `tab`: the current session stays in its tab. */
  async begin(tab = false): Promise<void> {
    await this.server.ready();
    await this.fresh(this.cwd(), tab);
    this.chat.clear();
    await this.tell();
  }

  /** Opens an earlier session in place of the folder's current one, or in a tab of its own. */
  async open(sessionId: string, tab = false): Promise<void> {
    const params = { sessionId, limit: SHOWN }, cwd = this.cwd();
    // What comes after the answer must find the view as the answer makes it.
    await this.chat.reveal();
    const opened = await this.server.request("interline/session/open", params);
    if (opened.access === "readOnly") {
      const fork = await say.info("another window has this session open.", "Open a Copy");
      return fork ? this.fork(sessionId) : undefined;
    }
    this.current.set(cwd, Promise.resolve(sessionId));
    this.place(cwd, sessionId, tab);
    this.replayed.set(sessionId, opened.seq);
    this.chat.clear();
    this.replay(opened.items);
    this.learn(sessionId, opened.session);
  }

  /** A session with the conversation before a turn, or with all of it. */
  async fork(session?: string, turnId?: string): Promise<void> {
    const from = session ?? await this.of(), params = { sessionId: from, ...turnId && { turnId } };
    const { sessionId } = await this.server.request("interline/session/fork", params);
    await this.open(sessionId);
  }

  /** To send a prompt again: a fork before it, and its words in the field. */
  private async edit(sessionId: string, turnId: string, input: wire.Input[]): Promise<void> {
    await this.fork(sessionId, turnId);
    this.giveBack(input);
  }

  async compact(): Promise<void> {
    await this.server.request("interline/session/compact", { sessionId: await this.of() });
  }

  async configure(key: "mode" | "model" | "agent", given?: string): Promise<void> {
    const sessionId = await this.of(), facts = this.facts.get(sessionId);
    const value = given ?? await pick(this.server, key, facts?.[key] ?? "");
    if (value === undefined) return;
    const params = { sessionId, [key]: value };
    const session = await this.server.request("interline/session/configure", params);
    this.learn(sessionId, session);
    void say.info(`mode ${session.mode}, model ${session.model}`);
  }

  /** The server has started: the folders' sessions continue, and interrupted turns are reported. */
  async resume(client: LanguageClient): Promise<void> {
    const cut = new Map(this.running), again = this.current.size > 0;
    this.running.clear();
    this.current.clear();
    this.queues.clear();
    this.shown.clear();
    this.replayed.clear();
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
        this.tabs.set(folder, this.memory.get<string[]>(OPEN + folder, []));
        this.place(folder, sessionId);
        this.replayed.set(sessionId, opened.seq);
        const { items } = opened, turn = cut.get(sessionId)?.turnId;
        const end = items.findIndex(({ turnId, body }) => turnId === turn && body.kind === "ended");
        // What was there before the server ended is still shown.
        this.replay(!again ? items : end < 0 ? [] : items.slice(end));
        this.learn(sessionId, opened.session);
      } catch (error) {
        client.warn(`session ${sessionId}: ${error}`);
      }
    }
    await this.named().catch((error) => client.warn(`titles: ${error}`));
  }

  /** The titles of the sessions in tabs; those that are gone have none. */
  private async named(): Promise<void> {
    const cwd = this.cwd(), open = this.tabs.of(cwd), folder = this.folder()?.fsPath;
    if (open.length < 2) return;
    const { sessions } = await this.server.client!.sendRequest<wire.SessionList>(
      "interline/session/list", { cwd: folder, limit: LISTED });
    const known = new Map(sessions.map(({ sessionId, title }) => [sessionId, title]));
    this.tabs.set(cwd, open.filter((id) => known.has(id) || this.visible(id)));
    for (const id of open) {
      if (known.has(id)) this.facts.set(id, { title: known.get(id), ...this.facts.get(id) });
    }
    await this.tell();
  }

  private replay(items: wire.Envelope[]): void {
    const counts = new Map(this.memory.get<Counts>(COUNTS, []));
    for (const { body, ...turn } of items) {
      if (body.kind === "started") {
        this.prompted.delete(turn.turnId);
        this.show({ ...turn, input: body.input });
      } else if (body.kind === "ended") {
        const files = counts.get(`${turn.sessionId} ${turn.turnId}`) ?? body.files;
        this.chat.ended({ ...turn, ...body, files });
      } else this.take({ ...turn, event: body.event });
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
