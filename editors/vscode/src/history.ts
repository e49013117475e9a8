// Earlier sessions: a picker that searches, opens, renames and deletes; fork and export.
import { commands, ThemeIcon, window, workspace, type QuickPickItem, type Uri } from "vscode";
import type { SessionRow } from "./protocol.ts";
import * as say from "./say.ts";
import { tell, type Server } from "./server.ts";
import type { Sessions } from "./sessions.ts";

/** Sessions of a list, and ms for which typing is gathered before it is searched for. */
const MOST = 100, PAUSE = 150;
const RENAME = { iconPath: new ThemeIcon("edit"), tooltip: "Rename…" };
const TAB = { iconPath: new ThemeIcon("empty-window"), tooltip: "Open in a Tab" };
const DELETE = { iconPath: new ThemeIcon("trash"), tooltip: "Delete" };

interface Row extends QuickPickItem { sessionId: string; title: string }

/** A time as people say it. */
export function ago(then: string, now: Date): string {
  const date = new Date(then), days = midnight(now) - midnight(date);
  const time = date.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" });
  if (days === 0) return `today ${time}`;
  if (days === 1) return `yesterday ${time}`;
  return date.toLocaleDateString(undefined, { day: "numeric", month: "short", year: "numeric" });
}

const midnight = (date: Date): number =>
  Math.round(new Date(date).setHours(0, 0, 0, 0) / 86_400_000);

function row(session: SessionRow, current: string | undefined): Row {
  const { sessionId, title, updatedAt, turns, state } = session;
  const count = `${turns} ${turns === 1 ? "turn" : "turns"}`;
  const states = [state === "running" || state === "interrupted" ? state : ""].filter(Boolean);
  const here = sessionId === current;
  return {
    sessionId, title,
    label: `${here ? "$(check) " : ""}${say.plain(title) || "Untitled"}`,
    description: [ago(updatedAt, new Date()), count, ...states].join(" · "), alwaysShow: true,
    buttons: here ? [RENAME] : [TAB, RENAME, DELETE],
  };
}

/** Offers the folder's sessions; what is typed is searched for in titles and prompts. */
export async function history(server: Server, sessions: Sessions): Promise<void> {
  const cwd = sessions.folder()?.fsPath, [current] = await sessions.known(active());
  const pick = window.createQuickPick<Row>();
  pick.placeholder = "Search titles and prompts";
  let asked = 0, timer: NodeJS.Timeout | undefined;
  const list = async (): Promise<void> => {
    const n = ++asked;
    pick.busy = true;
    const params = { cwd, query: pick.value || undefined, limit: MOST };
    const { sessions: found } = await server.request("interline/session/list", params);
    if (n !== asked) return;
    // What was started and never used is nothing to return to.
    pick.items = found.filter(({ turns }) => turns > 0).map((each) => row(each, current));
    pick.busy = false;
  };
  const again = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => void list().catch(tell), PAUSE);
  };
  pick.onDidChangeValue(again);
  pick.onDidTriggerItemButton(async ({ item, button }) => {
    if (button === TAB) {
      pick.hide();
      return void sessions.open(item.sessionId, true).catch(tell);
    }
    if (button === RENAME) return void rename(server, item.sessionId, item.title).catch(tell);
    await remove(server, sessions, item).then(list, tell);
  });
  pick.onDidAccept(() => {
    const [chosen] = pick.selectedItems;
    pick.hide();
    if (chosen) void sessions.open(chosen.sessionId).catch(tell);
  });
  pick.onDidHide(() => pick.dispose());
  pick.show();
  await list();
}

const active = (): string | undefined => {
  const uri: Uri | undefined = window.activeTextEditor?.document.uri;
  return uri ? `${uri}` : undefined;
};

export async function rename(server: Server, sessionId: string, old = ""): Promise<void> {
  const title = await window.showInputBox({ prompt: "Title of the session", value: old });
  if (title?.trim()) await server.request("interline/session/rename", { sessionId, title });
}

async function remove(server: Server, sessions: Sessions, row: Row): Promise<void> {
  const { sessionId, title } = row;
  const words = `delete the session “${title}”? This cannot be undone.`;
  if (!await say.warn(words, "Delete")) return;
  await server.request("interline/session/delete", { sessionId });
  await sessions.close(sessionId);
}

/** Opens the conversation as a Markdown document. */
export async function exported(server: Server, sessionId: string): Promise<void> {
  const content = await transcript(server, sessionId);
  const document = await workspace.openTextDocument({ language: "markdown", content });
  await window.showTextDocument(document);
}

export async function transcript(server: Server, sessionId: string): Promise<string> {
  const params = { sessionId, format: "markdown" };
  return (await server.request("interline/session/export", params)).text;
}

/** Deletes the current session, and begins another. */
export async function removeCurrent(server: Server, sessionId: string): Promise<void> {
  if (!await say.warn("delete this session? This cannot be undone.", "Delete")) return;
  await commands.executeCommand("interline.newSession");
  await server.request("interline/session/delete", { sessionId });
}
