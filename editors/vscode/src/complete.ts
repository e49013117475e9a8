// What completes `@` and `/` in the view's field: things of the editor, and what the server lists.
import {
  commands, Uri, window, workspace, type SymbolInformation, type WorkspaceFolder,
} from "vscode";
import { wire } from "./context.ts";
import type { Attachment, Offer } from "./messages.ts";
import { gitDiff, problems } from "./prompts.ts";
import type { Completion } from "./protocol.ts";
import type { Server } from "./server.ts";
import { terminal } from "./terminal.ts";

/** Lines of a list, and symbols among them. */
const MOST = 50, SYMBOLS = 8;
/** Files that are found by a part of their name, and folders without any. */
const NAMED = 20, BUILT = "**/{node_modules,.git,target,dist,out,build}/**";
const ICONS: Record<string, string> = {
  file: "file", folder: "folder", skill: "lightbulb", mcpPrompt: "plug", argument: "symbol-field",
  value: "symbol-constant",
};
/** Commands of the view itself. */
const OWN: [name: string, command: string, detail: string][] = [
  ["new", "interline.newSession", "Start a session"],
  ["history", "interline.history", "Open an earlier session"],
  ["compact", "interline.compact", "Replace the older part of the conversation by a summary"],
  ["model", "interline.model", "Choose the model"],
  ["mode", "interline.mode", "Choose what the agent may do"],
  ["revert", "interline.revert", "Revert the last turn"],
  ["export", "interline.export", "Export the conversation as Markdown"],
  ["prompt", "interline.showPrompt", "Show what the next prompt sends"],
];

export interface Found { start: number; offers: Offer[] }

/** What the text before the cursor asks to complete. */
export function wanted(text: string, offset: number) {
  const before = text.slice(0, offset);
  const [, mark, word] = /(?:^|\s)([@])([^\s@]*)$|^$/.exec(before) ?? [];
  if (mark) return { kind: "@" as const, word: word!, start: offset - word!.length - 1 };
  const [, slash] = /^\/(\S*)$/.exec(before) ?? [];
  return slash === undefined ? undefined : { kind: "/" as const, word: slash, start: 0 };
}

/** Gives what it finds as it finds it, the quickest first: language servers may take long. */
export async function* complete(
  server: Server, sessionId: string, folder: Uri | undefined, text: string, offset: number,
): AsyncGenerator<Found> {
  const asked = wanted(text, offset);
  if (!asked) return;
  const params = { sessionId, text, offset };
  const { items } = await server.request("interline/input/complete", params);
  if (asked.kind === "/") return yield { start: 0, offers: slash(asked.word, items) };
  const { start, word } = asked, listed = items.flatMap((item) => file(item, folder));
  const offers = [...await editor(word), ...listed.slice(0, MOST)];
  yield { start, offers: [...offers] };
  for (const find of [() => named(word, listed), () => symbols(word)]) {
    const found = await find();
    offers.push(...found);
    if (found.length > 0) yield { start, offers: [...offers] };
  }
}

function slash(word: string, items: Completion[]): Offer[] {
  const own = OWN.filter(([name]) => name.startsWith(word)).map(([name, command, detail]): Offer =>
    ({ label: `/${name}`, icon: "terminal", detail, command, insert: "" }));
  const listed = items.map(({ label = "", kind = "", detail }): Offer =>
    ({ label: `/${label}`, icon: ICONS[kind] ?? "symbol-misc", detail, insert: `/${label} ` }));
  return [...listed, ...own];
}

function file({ label = "", kind = "" }: Completion, folder: Uri | undefined): Offer[] {
  if (!folder) return [];
  const name = label.replace(/\/$/, ""), uri = `${Uri.joinPath(folder, name)}`;
  // A folder is gone through; a file is taken.
  return [{
    label, icon: ICONS[kind] ?? "file",
    ...kind === "folder" ? { insert: `@${name}/` }
      : { attach: { kind: "file", label: name, uri }, insert: "" },
  }];
}

/** Files with the word anywhere in their name: the server completes paths from their start. */
async function named(word: string, known: Offer[]): Promise<Offer[]> {
  if (word.length < 2 || /[/[\]{}*?]/.test(word)) return [];
  const found = await workspace.findFiles(`**/*${word}*`, BUILT, NAMED);
  const offers = found.map((uri): Offer => {
    const label = workspace.asRelativePath(uri);
    return { label, icon: "file", attach: { kind: "file", label, uri: `${uri}` }, insert: "" };
  });
  return offers.filter(({ label }) => !known.some((each) => each.label === label));
}

/** The selection, the problems, what Git has changed, what a terminal ran: where there are any. */
async function editor(word: string): Promise<Offer[]> {
  const fits = (name: string): boolean => name.startsWith(word.toLowerCase());
  const offers: Offer[] = [];
  const add = (attach: Attachment, icon: string, detail: string): void =>
    void offers.push({ label: attach.kind, icon, detail, attach, insert: "" });
  const chosen = fits("selection") ? selection() : undefined;
  if (chosen) add(chosen, "selection", chosen.label);
  if (fits("problems") && problems()) {
    add({ kind: "problems", label: "Problems" }, "warning", "What the editor reports");
  }
  if (fits("diff") && await gitDiff()) {
    add({ kind: "diff", label: "Git changes" }, "diff", "Changes since the last commit");
  }
  const ran = fits("terminal") ? terminal() : undefined;
  if (ran) add({ kind: "terminal", label: `Terminal: ${ran.command}` }, "terminal", ran.command);
  return offers;
}

/** The selection of the active editor, or the whole file for a suggestion. */
export function selection(): Attachment | undefined {
  const { document, selection: at } = window.activeTextEditor ?? {};
  if (document?.uri.scheme !== "file" || !at || at.isEmpty) return undefined;
  const name = workspace.asRelativePath(document.uri), last = at.end.line + 1;
  const lines = `${at.start.line + 1}${last > at.start.line + 1 ? `-${last}` : ""}`;
  const label = `${name}:${lines}`;
  return { kind: "selection", label, uri: `${document.uri}`, range: wire(at) };
}

export function active(): Attachment | undefined {
  const chosen = selection();
  if (chosen) return chosen;
  const uri = window.activeTextEditor?.document.uri;
  if (uri?.scheme !== "file") return undefined;
  return { kind: "file", label: workspace.asRelativePath(uri), uri: `${uri}` };
}

async function symbols(word: string): Promise<Offer[]> {
  if (word.length < 2) return [];
  const find = commands.executeCommand<SymbolInformation[]>(
    "vscode.executeWorkspaceSymbolProvider", word);
  const inside = ({ location }: SymbolInformation): WorkspaceFolder | undefined =>
    workspace.getWorkspaceFolder(location.uri);
  const found = (await find ?? []).filter(inside).slice(0, SYMBOLS);
  return found.map(({ name, location: { uri, range } }) => {
    const detail = `${workspace.asRelativePath(uri)}:${range.start.line + 1}`;
    const attach: Attachment = { kind: "symbol", label: name, uri: `${uri}`, range: wire(range) };
    return { label: name, icon: "symbol-method", detail, attach, insert: "" };
  });
}
