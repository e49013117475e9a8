// Virtual documents for reading: the next prompt, the status.
import { EventEmitter, Uri, window, workspace, type Disposable, type TextDocumentContentProvider } from "vscode";
import type { PromptPreview } from "./protocol.ts";

const SCHEME = "interline";

export class Pages implements TextDocumentContentProvider, Disposable {
  private readonly texts = new Map<string, string>();
  private readonly changed = new EventEmitter<Uri>();
  readonly onDidChange = this.changed.event;
  private readonly registration = workspace.registerTextDocumentContentProvider(SCHEME, this);

  provideTextDocumentContent(uri: Uri): string {
    return this.texts.get(uri.path) ?? "This page is gone. Run its command again.\n";
  }

  async show(name: string, text: string): Promise<void> {
    const uri = Uri.from({ scheme: SCHEME, path: `/${name}` });
    this.texts.set(uri.path, text);
    this.changed.fire(uri);
    await window.showTextDocument(await workspace.openTextDocument(uri), { preview: true });
  }

  dispose(): void {
    this.registration.dispose();
  }
}

/** A preview in Markdown. */
export function markdown({ segments, tokens, problems }: PromptPreview): string {
  const lines = [`# The next prompt: ${segments.length} segments, ${tokens.exact ? "" : "about "}${tokens.count} tokens`, ""];
  for (const segment of segments) {
    const size = segment.included ? `${segment.bytes} bytes` : "absent";
    lines.push(`## ${segment.id} (${segment.slot}, ${segment.trust}, ${size})`, `${segment.source}: ${segment.reason}`, "");
    if (segment.text) lines.push(segment.text, "");
  }
  for (const problem of problems ?? []) lines.push(`> Not used: ${problem.source}: ${problem.reason}`);
  return lines.join("\n");
}
