// Settings by whose they are: the user's own scope may grant, a workspace's only narrow.
import { extensions, workspace } from "vscode";

type Tree = { [key: string]: unknown };

/** Settings of the extension itself; all others are the server's, under the same names. */
export const OWN = ["interline.server.", "interline.notifications"];

export function server(): { path: string; env: Record<string, string> } {
  const own = workspace.getConfiguration("interline.server");
  return { path: own.get("path", "interline"), env: own.get("env", {}) };
}

/** What the user set, and what the workspace did, each as the server's settings. */
export function scopes(): { user: Tree; client: Tree } {
  const { contributes } = extensions.getExtension("interline.interline")!.packageJSON;
  const user: Tree = {}, client: Tree = {};
  const properties: Record<string, { scope: string }> = contributes.configuration.properties;
  for (const [name, { scope }] of Object.entries(properties)) {
    if (OWN.some((own) => name.startsWith(own))) continue;
    const found = workspace.getConfiguration().inspect(name), keys = name.split(".").slice(1);
    put(user, keys, found?.globalValue ?? null);
    // The server merges changes over earlier ones: null removes a value.
    const nearer = found?.workspaceFolderValue ?? found?.workspaceValue ?? null;
    if (scope === "window") put(client, keys, nearer);
  }
  return { user, client };
}

function put(tree: Tree, [key, ...rest]: string[], value: unknown): void {
  if (rest.length === 0) tree[key!] = value;
  else put((tree[key!] ??= {}) as Tree, rest, value);
}
