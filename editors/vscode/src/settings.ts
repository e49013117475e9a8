// Settings by whose they are: the user's own scope may grant, a workspace's only narrow.
import { workspace, type ExtensionContext } from "vscode";

type Tree = { [key: string]: unknown };

/** Settings of the extension itself; all others are the server's, under the same names. */
const OWN = "interline.server.";

let names: string[] = [];
/** Those that a workspace has set so far. */
const told = new Set<string>();

export function learn(context: ExtensionContext): void {
  const contributed = context.extension.packageJSON.contributes.configuration.properties as object;
  names = Object.keys(contributed).filter((name) => !name.startsWith(OWN));
}

export function server(): { path: string; env: Record<string, string> } {
  const own = workspace.getConfiguration("interline.server");
  return { path: own.get("path", "interline"), env: own.get("env", {}) };
}

function put(tree: Tree, name: string, value: unknown): void {
  const keys = name.split(".").slice(1);
  const last = keys.pop()!;
  let at = tree;
  for (const key of keys) at = (at[key] ??= {}) as Tree;
  at[last] = value;
}

/** What the user set, and what the workspace did, each as the server's settings. */
export function scopes(): { user: Tree; client: Tree } {
  const user: Tree = {}, client: Tree = {};
  for (const name of names) {
    const found = workspace.getConfiguration().inspect(name);
    const nearer = found?.workspaceFolderValue ?? found?.workspaceValue;
    if (found?.globalValue !== undefined) put(user, name, found.globalValue);
    // The server lays changes over what it was told before: null takes a value back.
    if (nearer !== undefined) told.add(name);
    if (told.has(name)) put(client, name, nearer ?? null);
  }
  return { user, client };
}
