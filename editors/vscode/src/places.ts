// What links and buttons of the chat view do in the editor: open a file at a line, insert code.
import { env, Position, Selection, Uri, window, workspace } from "vscode";
import { isAbsolute } from "node:path";
import type { FromView } from "./messages.ts";
import * as say from "./say.ts";

/** Files with the end of a path that are looked at. */
const MOST = 20;

/** A file as the user knows it, by its URI or its path. */
export const name = (of: string): string =>
  workspace.asRelativePath(/^[a-z][a-z0-9+.-]+:/i.test(of) ? Uri.parse(of) : of);

/** The file that a path in an answer means: from the folders' roots, or by its end. */
export async function found(path: string): Promise<Uri | undefined> {
  const folders = workspace.workspaceFolders ?? [];
  const uris = isAbsolute(path) ? [Uri.file(path)]
    : folders.map(({ uri }) => Uri.joinPath(uri, path));
  for (const uri of uris) {
    if (await workspace.fs.stat(uri).then(() => true, () => false)) return uri;
    if (workspace.textDocuments.some((each) => `${each.uri}` === `${uri}`)) return uri;
  }
  const plain = path.replace(/^\.?\/+/, "").replace(/[[\]{}*?]/g, "?");
  if (!plain) return undefined;
  const [only, ...more] = await workspace.findFiles(`**/${plain}`, undefined, MOST);
  return more.length === 0 ? only : undefined;
}

export async function open({ path, line, column = 1 }: FromView & { kind: "open" }) {
  const uri = await found(path);
  if (!uri) return void say.info(`there is no file ${path} here.`);
  const at = line ? new Position(line - 1, Math.max(0, column - 1)) : undefined;
  const selection = at && new Selection(at, at);
  await window.showTextDocument(uri, { ...selection && { selection }, preview: true });
}

/** Puts code where the cursor is, in place of what is selected; one undo removes it. */
export async function insert(text: string): Promise<void> {
  const editor = window.activeTextEditor;
  if (!editor) return void say.info("open a file first: the code goes to its cursor.");
  await editor.edit((edit) => {
    for (const selection of editor.selections) edit.replace(selection, text);
  });
  await window.showTextDocument(editor.document, editor.viewColumn);
}

export const copy = (text: string): Thenable<void> => env.clipboard.writeText(text);
