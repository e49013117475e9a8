// Tells the server what other language servers report.
import { languages, workspace, type Diagnostic, type Uri } from "vscode";
import { Gathered } from "./gathered.ts";
import type { Server } from "./server.ts";

/** How many reports of a document are told. */
const MOST = 500;

export class Diagnostics extends Gathered {
  private readonly waiting = new Map<string, Uri>();

  constructor(private readonly server: Server) {
    super(() => this.tell());
    this.subscriptions.push(languages.onDidChangeDiagnostics(({ uris }) => this.add(uris)));
  }

  /** A server that has just started knows none. */
  all(): void {
    this.add(languages.getDiagnostics().filter(([, found]) => found.length > 0).map(([uri]) => uri));
    this.flush();
  }

  wire(found: Diagnostic[]): unknown[] {
    return this.server.client?.code2ProtocolConverter.asDiagnosticsSync(found.slice(0, MOST)) ?? [];
  }

  private tell(): void {
    for (const [key, uri] of this.waiting) {
      const version = workspace.textDocuments.find((each) => each.uri.toString() === key)?.version;
      this.server.notify("interline/diagnostics/didChange", { uri: key, version, diagnostics: this.wire(languages.getDiagnostics(uri)) });
    }
    this.waiting.clear();
  }

  private add(uris: readonly Uri[]): void {
    for (const uri of uris) if (uri.scheme === "file") this.waiting.set(uri.toString(), uri);
    this.later();
  }
}
