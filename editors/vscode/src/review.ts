// Review by hunk: the agent's changes that are not yet reviewed, with marks, lenses and keys to
// keep or undo each of them.
import {
  CodeLens, commands, EventEmitter, languages, Range, Selection, StatusBarAlignment,
  TextEditorRevealType, Uri, window, workspace, type Disposable, type TextDocument,
} from "vscode";
import type { Chat } from "./chat.ts";
import { openDocument, range } from "./edit.ts";
import { gathered } from "./gathered.ts";
import { counts, follow, lines, present, touching } from "./hunks.ts";
import { Marks } from "./marks.ts";
import type * as wire from "./protocol.ts";
import * as say from "./say.ts";
import type { Server } from "./server.ts";
import type { Sessions } from "./sessions.ts";

/** ms for which typing is gathered before the hunks are listed again. */
const PAUSE = 150;
/** Documents with a file's text at the start of a turn. */
const START = "interline-start";

/** What commands are about: hunks, a place, or what the cursor is on. */
interface Given { hunkIds?: string[]; uri?: string; range?: wire.WireRange }
interface TurnDecision { sessionId: string; turnId: string; decision: wire.Decision }
interface Changes { sessionId: string; turnId: string; uri: string }

const amount = (count: number): string => `${count} ${count === 1 ? "change" : "changes"}`;
const named = (uri: string): string => `${Uri.parse(uri)}`;

export class Review {
  /** The hunks by file. Files whose hunks are gone stay: undoing may bring them back. */
  private readonly hunks = new Map<string, wire.Hunk[]>();
  /** Files to list again; the empty name: all. */
  private readonly stale = new Set<string>();
  private readonly lenses = new EventEmitter<void>();
  private readonly starts = new EventEmitter<Uri>();
  private readonly bar = window.createStatusBarItem("interline.review", StatusBarAlignment.Left);
  private readonly marks: Marks;
  private readonly batch = gathered(PAUSE, () => void this.refresh());
  private listing: Promise<void> = Promise.resolve();

  constructor(
    private readonly server: Server, private readonly sessions: Sessions,
    private readonly chat: Chat, subscriptions: Disposable[],
  ) {
    this.marks = new Marks(subscriptions);
    Object.assign(this.bar, { name: "Interline: Review", command: "interline.review" });
    subscriptions.push(
      this.bar, this.lenses, this.starts,
      languages.registerCodeLensProvider({ scheme: "file" }, {
        onDidChangeCodeLenses: this.lenses.event,
        provideCodeLenses: (document) => this.lensesOf(document),
      }),
      workspace.registerTextDocumentContentProvider(START, {
        onDidChange: this.starts.event,
        provideTextDocumentContent: (uri) => this.start(uri),
      }),
      workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
        const uri = `${document.uri}`, hunks = this.hunks.get(uri);
        if (!hunks || contentChanges.length === 0) return;
        this.hunks.set(uri, follow(hunks, contentChanges));
        this.later(uri);
      }),
      workspace.onDidChangeConfiguration(() => this.lenses.fire()),
      window.onDidChangeVisibleTextEditors(() => this.show()),
      window.onDidChangeActiveTextEditor(() => this.show()),
    );
  }

  /** Lists these files again, or everything. */
  later(...uris: string[]): void {
    for (const uri of uris.length > 0 ? uris.map(named) : [""]) this.stale.add(uri);
    this.batch.later();
  }

  readonly changed = ({ uris }: wire.ReviewChange): void => {
    for (const uri of uris) this.stale.add(named(uri));
    this.batch.later();
  };

  /** One listing after the other; resolved when what was asked for is there. */
  private refresh(): Promise<void> {
    const warn = (error: unknown): void => this.server.client?.warn(`review: ${error}`);
    return this.listing = this.listing.then(() => this.listAgain()).catch(warn);
  }

  private async listAgain(): Promise<void> {
    const uris = this.stale.has("") ? [""] : [...this.stale];
    this.stale.clear();
    for (const uri of uris) {
      const versions = new Map(workspace.textDocuments.map((it) => [`${it.uri}`, it.version]));
      const found: wire.Hunk[] = [];
      for (const sessionId of await this.sessions.known(uri)) {
        found.push(...await this.list(uri ? { sessionId, uri } : { sessionId }));
      }
      const files = uri ? [uri] : [...this.hunks.keys(), ...found.map((hunk) => named(hunk.uri))];
      for (const file of new Set(files)) {
        const document = openDocument(file);
        // Typed meanwhile: its own listing follows.
        if (document && document.version !== versions.get(file)) this.later(file);
        else this.hunks.set(file, found.filter((hunk) => named(hunk.uri) === file));
      }
    }
    this.show();
    this.lenses.fire();
  }

  private async list(params: wire.ListHunks): Promise<wire.Hunk[]> {
    const found: wire.Hunk[] = [];
    let cursor: string | null | undefined;
    do {
      const page = await this.server.request("interline/review/list", { ...params, cursor });
      found.push(...page.hunks);
      cursor = page.nextCursor;
    } while (cursor);
    return found;
  }

  private show(): void {
    for (const editor of window.visibleTextEditors) {
      const hunks = this.hunks.get(`${editor.document.uri}`);
      if (hunks) this.marks.show(editor, hunks);
    }
    const all = this.all().length, here = this.here().length;
    this.bar.text = `$(diff) ${amount(all)} to review`;
    if (all > 0) this.bar.show();
    else this.bar.hide();
    void commands.executeCommand("setContext", "interline.changes", all > 0);
    void commands.executeCommand("setContext", "interline.changesHere", here > 0);
  }

  private all(): wire.Hunk[] {
    return [...this.hunks.values()].flat();
  }

  /** The hunks of the active editor. */
  private here(): wire.Hunk[] {
    return this.hunks.get(`${window.activeTextEditor?.document.uri}`) ?? [];
  }

  private lensesOf(document: TextDocument): CodeLens[] {
    if (!workspace.getConfiguration("interline").get("codeActions", true)) return [];
    return (this.hunks.get(`${document.uri}`) ?? []).flatMap((hunk) => {
      const [line] = lines(hunk), place = new Range(line, 0, line, 0);
      const given = { hunkIds: [hunk.hunkId] };
      const undo = hunk.state === "proposed" ? "Reject" : "Undo";
      return [["Keep", "interline.keep"], [undo, "interline.rejectHunk"]]
        .map(([title, command]) => new CodeLens(place, {
          title: title!, command: command!, arguments: [given],
        }));
    });
  }

  /** Goes to the next change (1) or the previous one (-1), over the files. */
  async go(step: 1 | -1): Promise<void> {
    const editor = window.activeTextEditor, uri = `${editor?.document.uri}`;
    const files = [...this.hunks].filter(([file, { length }]) => length > 0 || file === uri)
      .map(([file]) => file).sort();
    const line = editor?.selection.active.line ?? -1;
    const ahead = this.here().filter((hunk) => (lines(hunk)[0] - line) * step > 0);
    // Hunks are listed in the order of the text.
    let target = ahead.at(step > 0 ? 0 : -1);
    for (let at = files.indexOf(uri), tries = 0; !target && tries < files.length; tries++) {
      at = (at + step + files.length) % files.length;
      target = this.hunks.get(files[at]!)!.at(step > 0 ? 0 : -1);
    }
    if (!target) return void say.info("there are no changes to review.");
    const { start } = range(target.range);
    const opened = workspace.openTextDocument(Uri.parse(target.uri));
    const document = await opened.then((it) => it, () => undefined);
    const words = "that file is proposed and does not exist yet: answer in the chat.";
    if (!document) return void say.info(words);
    const shown = await window.showTextDocument(document);
    shown.selection = new Selection(start, start);
    shown.revealRange(range(target.range), TextEditorRevealType.InCenterIfOutsideViewport);
  }

  /** Keeps or undoes one place: what is named, or what the cursor is on. */
  async decide(decision: wire.Decision, given: Given = {}): Promise<void> {
    this.batch.flush();
    await this.listing;
    const ids = given.hunkIds, { selection } = window.activeTextEditor ?? {};
    const place = given.range ?? selection;
    const hunks = given.uri ? this.hunks.get(named(given.uri)) ?? [] : this.here();
    const meant = ids ? this.all().filter(({ hunkId }) => ids.includes(hunkId))
      : place ? touching(hunks, place.start.line, place.end.line) : [];
    if (meant.length === 0) return void say.info("no change of the agent is on this line.");
    await this.decideAll(decision, meant);
  }

  /** All changes of the active editor, or of all files. */
  async decideMany(decision: wire.Decision, where: "file" | "all"): Promise<void> {
    this.batch.flush();
    await this.listing;
    await this.decideAll(decision, where === "file" ? this.here() : this.all());
  }

  /** All changes that one turn left. */
  async decideTurn({ sessionId, turnId, decision }: TurnDecision): Promise<void> {
    this.batch.flush();
    await this.listing;
    const left = await this.list({ sessionId, turnId });
    if (left.length === 0) return void say.info("nothing of that turn is left to decide.");
    await this.decideAll(decision, left);
  }

  private async decideAll(decision: wire.Decision, hunks: wire.Hunk[]): Promise<void> {
    const sessions = new Map<string, wire.HunkDecision[]>();
    for (const { uri, hunkId } of hunks) {
      const [sessionId] = await this.sessions.known(uri);
      if (!sessionId) continue;
      sessions.set(sessionId, [...sessions.get(sessionId) ?? [], { hunkId, decision }]);
    }
    for (const [sessionId, decisions] of sessions) {
      const params = { sessionId, decisions };
      const decided = await this.server.request("interline/review/decide", params);
      const left = decided.results.filter(({ status }) => status !== "done");
      const done = decided.results.length - left.length;
      const words = `Undid ${amount(done)}.`;
      if (decided.itemId && done > 0) this.sessions.offerRevert(sessionId, decided.itemId, words);
      if (left.length === 0) continue;
      const next = "Edit the text by hand, or keep it.";
      void say.warn(`${amount(left.length)} could not be decided: ${left[0]!.reason}. ${next}`);
    }
    this.later();
    this.batch.flush();
    await this.listing;
  }

  /** What the item of the status bar offers. */
  async menu(): Promise<void> {
    const offers = [
      { label: "Next Change", command: "interline.nextChange" },
      { label: "Keep All", command: "interline.keepAll" },
      { label: "Undo All", command: "interline.undoAll" },
    ];
    const chosen = await window.showQuickPick(offers, { placeHolder: this.bar.text.slice(8) });
    if (chosen) await commands.executeCommand(chosen.command);
  }

  /** Opens the differences between a file and its text at the start of the turn. */
  async open({ uri, ...turn }: Changes): Promise<void> {
    const file = Uri.parse(uri);
    const start = file.with({ scheme: START, query: JSON.stringify(turn) });
    this.starts.fire(start);
    const title = `${workspace.asRelativePath(file)} (since the start of the turn)`;
    await commands.executeCommand("vscode.diff", start, file, title);
  }

  /** The text at the start of a turn: the current one, with what was there before each change. */
  private async start(uri: Uri): Promise<string> {
    const file = uri.with({ scheme: "file", query: "" }), params = JSON.parse(uri.query);
    const found = await this.list({ ...params, uri: `${file}`, all: true });
    const document = await workspace.openTextDocument(file);
    return found.filter(present).reverse().reduce((text, hunk) => {
      const { start, end } = range(hunk.range);
      const [from, to] = [document.offsetAt(start), document.offsetAt(end)];
      return text.slice(0, from) + hunk.before + text.slice(to);
    }, document.getText());
  }

  /** The rows of a turn show its net changes: several edits of a line count once. */
  async ended({ sessionId, turnId, files }: wire.TurnEnded): Promise<void> {
    if (files.length === 0) return;
    const hunks = (await this.list({ sessionId, turnId, all: true })).filter(present).map((hunk) =>
      ({ uri: named(hunk.uri), ...counts(hunk) }));
    const net = files.map((file) => {
      const ours = hunks.filter(({ uri }) => uri === named(file.uri));
      const sum = (key: "added" | "removed"): number => ours.reduce((all, it) => all + it[key], 0);
      return ours.length === 0 ? file : { ...file, added: sum("added"), removed: sum("removed") };
    });
    this.chat.changed(sessionId, turnId, net);
    this.sessions.counted(sessionId, turnId, net);
  }
}
