// What the editor shows: visible editors, selections, and the versions that the server must have
// before it takes a prompt up.
import { window, workspace, type Disposable, type Range } from "vscode";
import type { EditorContext, EditorView } from "./protocol.ts";
import type { Server } from "./server.ts";

/** How long the user's movements are gathered, in ms. */
const PAUSE = 200;

export function now(): EditorContext {
  const versions: Record<string, number> = {};
  for (const document of workspace.textDocuments) {
    if (document.uri.scheme === "file") versions[document.uri.toString()] = document.version;
  }
  return { editors: views(), versions, openUris: Object.keys(versions) };
}

function views(): EditorView[] {
  return window.visibleTextEditors.filter((editor) => editor.document.uri.scheme === "file").map((editor) => {
    const [shown] = editor.visibleRanges;
    return {
      uri: editor.document.uri.toString(),
      version: editor.document.version,
      active: editor === window.activeTextEditor,
      selections: editor.selections.map(wire),
      ...(shown ? { visibleRange: wire(shown) } : {}),
    };
  });
}

export function wire({ start, end }: Range): { start: { line: number; character: number }; end: { line: number; character: number } } {
  return {
    start: { line: start.line, character: start.character },
    end: { line: end.line, character: end.character },
  };
}

/** Tells the server where the user is, outside of prompts. */
export class Context implements Disposable {
  private timer: NodeJS.Timeout | undefined;
  private readonly server: Server;
  private readonly subscriptions: Disposable[];

  constructor(server: Server) {
    this.server = server;
    const later = (): void => {
      this.timer ??= setTimeout(() => this.flush(), PAUSE);
    };
    this.subscriptions = [
      window.onDidChangeActiveTextEditor(later),
      window.onDidChangeVisibleTextEditors(later),
      window.onDidChangeTextEditorSelection(later),
      window.onDidChangeTextEditorVisibleRanges(later),
    ];
  }

  flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const { editors, openUris } = now();
    this.server.notify("interline/context/didChange", { editors, openUris });
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.subscriptions.forEach((each) => each.dispose());
  }
}
