// The HTML of webviews: a page for a script in `dist`.
import { readFileSync } from "node:fs";
import { Uri, type Webview } from "vscode";

/** The page of a script in `dist`. */
export function page(root: Uri, webview: Webview, name: string): string {
  const html = readFileSync(Uri.joinPath(root, "media/view.html").fsPath, "utf8");
  return html.replaceAll("{source}", webview.cspSource).replaceAll("{name}", name)
    .replaceAll("{root}", `${webview.asWebviewUri(root)}`);
}
