// Virtual documents for reading: transcripts of sub-agents.
import { EventEmitter, Uri, window, workspace, type Disposable } from "vscode";

const SCHEME = "interline";

/** What shows a page. */
export function pages(subscriptions: Disposable[]) {
  const texts = new Map<string, string>(), changed = new EventEmitter<Uri>();
  subscriptions.push(workspace.registerTextDocumentContentProvider(SCHEME, {
    onDidChange: changed.event,
    // After the editor was started again nothing is known of the pages that are open.
    provideTextDocumentContent: ({ path }) => texts.get(path) ?? "Run this page's command again.\n",
  }));
  return async (name: string, content: string): Promise<void> => {
    const uri = Uri.from({ scheme: SCHEME, path: `/${name}` });
    texts.set(uri.path, content);
    changed.fire(uri);
    await window.showTextDocument(await workspace.openTextDocument(uri), { preview: true });
  };
}
