// What the editor shows: visible editors, selections, and the versions that the server must have
// before it takes a prompt up.
import { window, workspace, type Disposable, type Range } from "vscode";
import { Gathered } from "./gathered.ts";
import type { EditorContext, WireRange } from "./protocol.ts";
import type { Server } from "./server.ts";

export function now(): EditorContext {
  const documents = workspace.textDocuments.filter(({ uri }) => uri.scheme === "file");
  const editors = window.visibleTextEditors.filter(({ document }) => document.uri.scheme === "file").map((editor) => ({
    uri: editor.document.uri.toString(),
    version: editor.document.version,
    active: editor === window.activeTextEditor,
    selections: editor.selections.map(wire),
    visibleRange: editor.visibleRanges[0] && wire(editor.visibleRanges[0]),
  }));
  const versions = Object.fromEntries(documents.map(({ uri, version }) => [uri.toString(), version]));
  return { editors, versions, openUris: Object.keys(versions) };
}

export function wire({ start, end }: Range): WireRange {
  return {
    start: { line: start.line, character: start.character },
    end: { line: end.line, character: end.character },
  };
}

/** Tells the server where the user is, outside of prompts. */
export class Context extends Gathered {
  constructor(server: Server) {
    super(() => {
      const { editors, openUris } = now();
      server.notify("interline/context/didChange", { editors, openUris });
    });
    const later = (): void => this.later();
    const moves: Disposable[] = [
      window.onDidChangeActiveTextEditor(later), window.onDidChangeVisibleTextEditors(later),
      window.onDidChangeTextEditorSelection(later), window.onDidChangeTextEditorVisibleRanges(later),
    ];
    this.subscriptions.push(...moves);
  }
}
