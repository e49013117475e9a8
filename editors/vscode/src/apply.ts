// *Apply* on the code of an answer: the differences that it makes in its file are shown, and are
// applied, as one undo step, when the user says so.
import {
  commands, EventEmitter, Range, Uri, window, workspace, WorkspaceEdit, type Disposable,
  type TextDocument,
} from "vscode";
import { openDocument } from "./edit.ts";
import type { FromView } from "./messages.ts";
import { found, insert } from "./places.ts";
import * as say from "./say.ts";
import type { Sessions } from "./sessions.ts";
import { placed } from "./snippet.ts";

/** Documents with a file's text as it would be; and an empty one, for a file that is new. */
const SCHEME = "interline-apply";

export class Apply {
  /** The code by the document that shows it in place. */
  private readonly codes = new Map<string, string>();
  private readonly texts = new Map<string, string>();
  private readonly changed = new EventEmitter<Uri>();

  constructor(private readonly sessions: Sessions, subscriptions: Disposable[]) {
    subscriptions.push(workspace.registerTextDocumentContentProvider(SCHEME, {
      onDidChange: this.changed.event,
      provideTextDocumentContent: (uri) => this.texts.get(`${uri}`) ?? "",
    }));
  }

  /** Shows what the code changes in the file that it names, or in the active one. */
  async show({ text: code, path }: FromView & { kind: "apply" }): Promise<void> {
    const { document: active } = window.activeTextEditor ?? {};
    const file = path ? await found(path) ?? this.fresh(path)
      : active?.uri.scheme === "file" ? active.uri : undefined;
    if (!file) return void say.info("open the file that this code is for, then apply it.");
    const document = await existing(file), text = placed(document?.getText() ?? "", code);
    if (text === undefined) return this.unplaced(file, code);
    if (text === document?.getText()) return void say.info("the file has this code already.");
    const shown = file.with({ scheme: SCHEME }), empty = shown.with({ query: "new" });
    this.codes.set(`${shown}`, code);
    this.texts.set(`${shown}`, text);
    this.changed.fire(shown);
    const title = `${workspace.asRelativePath(file)} (apply?)`;
    await commands.executeCommand("vscode.diff", document ? file : empty, shown, title);
    const words = `apply the code to ${workspace.asRelativePath(file)}?`;
    const choice = await say.info(words, "Apply", "Discard");
    if (choice === "Apply") await this.apply(shown);
    if (choice === "Discard") await close(shown);
  }

  /** Applies what a document shows: by default the one of the active tab. */
  async apply(shown = proposal()): Promise<void> {
    const code = this.codes.get(`${shown}`);
    if (!shown || code === undefined) return;
    const file = shown.with({ scheme: "file" }), document = await existing(file);
    // The user may have typed since: the code is placed in the current text.
    const old = document?.getText() ?? "", text = placed(old, code);
    if (text === undefined) return void say.info("the file has changed: apply the code again.");
    const edit = new WorkspaceEdit(), [from, to, put] = change(old, text);
    if (document) {
      const place = new Range(document.positionAt(from), document.positionAt(to));
      edit.replace(file, place, put);
    } else edit.createFile(file, { contents: Buffer.from(text) });
    const done = await workspace.applyEdit(edit);
    if (!done) return void say.warn("the editor did not apply the code.");
    await close(shown);
    this.codes.delete(`${shown}`);
    await window.showTextDocument(await workspace.openTextDocument(file));
  }

  async discard(): Promise<void> {
    const shown = proposal();
    if (shown) await close(shown);
  }

  /** The file of a path that is nowhere yet. */
  private fresh(path: string): Uri | undefined {
    const folder = this.sessions.folder();
    return folder && !path.split("/").includes("..") ? Uri.joinPath(folder, path) : undefined;
  }

  /** Code whose place is not known: the agent finds it, or the user. */
  private async unplaced(file: Uri, code: string): Promise<void> {
    const name = workspace.asRelativePath(file);
    const words = `it is not clear where in ${name} this code belongs.`;
    const choice = await say.info(words, "Let the Agent Apply It", "Insert at Cursor");
    const ticks = [...code.matchAll(/`+/g)].map(([it]) => it.length + 1);
    const fence = "`".repeat(Math.max(3, ...ticks));
    const prompt = `Apply this code to ${name}:\n\n${fence}\n${code}\n${fence}`;
    if (choice === "Insert at Cursor") await insert(code);
    else if (choice) await this.sessions.ask(prompt, { type: "resource", uri: `${file}` });
  }
}

async function existing(file: Uri): Promise<TextDocument | undefined> {
  return openDocument(`${file}`)
    ?? workspace.openTextDocument(file).then((it) => it, () => undefined);
}

/** What differs: from where to where of the old text, and what takes its place. */
function change(old: string, text: string): [from: number, to: number, put: string] {
  let from = 0, end = 0;
  const most = Math.min(old.length, text.length);
  while (from < most && old[from] === text[from]) from += 1;
  while (end < most - from && old.at(-1 - end) === text.at(-1 - end)) end += 1;
  return [from, old.length - end, text.slice(from, text.length - end)];
}

/** The document of the active tab, if it shows what code would change. */
function proposal(): Uri | undefined {
  const input = window.tabGroups.activeTabGroup.activeTab?.input;
  const { modified } = (input ?? {}) as { modified?: Uri };
  return modified?.scheme === SCHEME ? modified : undefined;
}

async function close(shown: Uri): Promise<void> {
  const tabs = window.tabGroups.all.flatMap((group) => group.tabs).filter(({ input }) =>
    `${(input as { modified?: Uri } | undefined)?.modified}` === `${shown}`);
  await window.tabGroups.close(tabs);
}
