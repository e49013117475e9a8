// Virtual documents for reading: the next prompt, the status.
import { EventEmitter, Uri, window, workspace, type Disposable } from "vscode";
import type { PromptPreview } from "./protocol.ts";

const SCHEME = "interline";

export function pages(subscriptions: Disposable[]): (name: string, text: string) => Promise<void> {
  const texts = new Map<string, string>(), changed = new EventEmitter<Uri>();
  subscriptions.push(workspace.registerTextDocumentContentProvider(SCHEME, {
    onDidChange: changed.event,
    // After the editor was started again nothing is known of the pages that are open.
    provideTextDocumentContent: ({ path }) => texts.get(path) ?? "Run this page's command again.\n",
  }));
  return async (name, text) => {
    const uri = Uri.from({ scheme: SCHEME, path: `/${name}` });
    texts.set(uri.path, text);
    changed.fire(uri);
    await window.showTextDocument(await workspace.openTextDocument(uri), { preview: true });
  };
}

/** A preview in Markdown. */
export function markdown({ segments, tokens, problems }: PromptPreview): string {
  const count = `${tokens.exact ? "" : "about "}${tokens.count} tokens`;
  const lines = [`# The next prompt: ${segments.length} segments, ${count}`, ""];
  for (const { id, slot, trust, included, bytes, source, reason, text } of segments) {
    lines.push(`## ${id} (${slot}, ${trust}, ${included ? `${bytes} bytes` : "absent"})`);
    lines.push(`${source}: ${reason}`, "", ...(text ? [text, ""] : []));
  }
  for (const { source, reason } of problems ?? []) lines.push(`> Not used: ${source}: ${reason}`);
  return lines.join("\n");
}
