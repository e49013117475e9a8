// What the editor shows and what other language servers report: told as it changes, and before a
// prompt, with the versions that the server must have before it takes the prompt up.
import { languages, Uri, window, workspace, type Disposable, type Range } from "vscode";
import { gathered } from "./gathered.ts";
import type { EditorContext, WireRange } from "./protocol.ts";
import type { Server } from "./server.ts";

/** ms for which it is gathered; how many diagnostics of a document are sent. */
const PAUSE = 200, MOST = 500;

export function now() {
  const editors = window.visibleTextEditors.map((editor) => ({
    uri: `${editor.document.uri}`,
    version: editor.document.version,
    active: editor === window.activeTextEditor,
    selections: editor.selections.map(wire),
    visibleRange: editor.visibleRanges[0] && wire(editor.visibleRanges[0]),
  }));
  const ours = workspace.textDocuments.filter(({ uri }) => uri.scheme === "file");
  const versions = Object.fromEntries<number>(ours.map((each) => [`${each.uri}`, each.version]));
  const shown = editors.filter(({ uri }) => uri in versions);
  return { editors: shown, versions } satisfies EditorContext;
}

export function wire({ start, end }: Range): WireRange {
  return { start, end };
}

/** `all`: a server that has just started knows nothing. */
export function follow(server: Server, subscriptions: Disposable[]) {
  const reported = new Set<string>();
  const { later, flush } = gathered(PAUSE, () => {
    const { editors, versions } = now(), openUris = Object.keys(versions);
    server.notify("interline/context/didChange", { editors, openUris });
    for (const uri of reported) {
      const found = languages.getDiagnostics(Uri.parse(uri)).slice(0, MOST);
      const diagnostics = server.client?.code2ProtocolConverter.asDiagnosticsSync(found) ?? [];
      const version = versions[uri];
      server.notify("interline/diagnostics/didChange", { uri, version, diagnostics });
    }
    reported.clear();
  });
  const add = (uris: readonly Uri[]): void => {
    for (const uri of uris) if (uri.scheme === "file") reported.add(`${uri}`);
    later();
  };
  subscriptions.push(
    window.onDidChangeActiveTextEditor(later),
    window.onDidChangeVisibleTextEditors(later),
    window.onDidChangeTextEditorSelection(later),
    window.onDidChangeTextEditorVisibleRanges(later),
    languages.onDidChangeDiagnostics(({ uris }) => add(uris)),
  );
  return { flush, all: () => add(languages.getDiagnostics().map(([uri]) => uri)) };
}
