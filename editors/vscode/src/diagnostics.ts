// Tells the server what other language servers report.
import { languages, workspace, type Diagnostic, type Disposable, type Uri } from "vscode";
import type { Server } from "./server.ts";

/** How long reports are gathered, in ms, and how many of a document are told. */
const PAUSE = 150, MOST = 500;

export class Diagnostics implements Disposable {
  private readonly waiting = new Map<string, Uri>();
  private timer: NodeJS.Timeout | undefined;
  private readonly server: Server;
  private readonly subscription: Disposable;

  constructor(server: Server) {
    this.server = server;
    this.subscription = languages.onDidChangeDiagnostics(({ uris }) => this.add(uris));
  }

  /** A server that has just started knows none. */
  all(): void {
    this.add(languages.getDiagnostics().filter(([, found]) => found.length > 0).map(([uri]) => uri));
    this.flush();
  }

  flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (!this.server.client?.isRunning()) return;
    for (const [key, uri] of this.waiting) {
      const version = workspace.textDocuments.find((each) => each.uri.toString() === key)?.version;
      const diagnostics = this.wire(languages.getDiagnostics(uri).slice(0, MOST));
      this.server.notify("interline/diagnostics/didChange", { uri: key, version, diagnostics });
    }
    this.waiting.clear();
  }

  wire(found: Diagnostic[]): unknown[] {
    return this.server.client?.code2ProtocolConverter.asDiagnosticsSync(found) ?? [];
  }

  private add(uris: readonly Uri[]): void {
    for (const uri of uris) {
      if (uri.scheme === "file") this.waiting.set(uri.toString(), uri);
    }
    this.timer ??= setTimeout(() => this.flush(), PAUSE);
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.subscription.dispose();
  }
}
