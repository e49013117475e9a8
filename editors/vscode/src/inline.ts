// Inline edits: an input box asks what should change in the selection, and the edits land there as
// all edits do, marked for review. The chat view need not be shown.
import {
  CodeAction, CodeActionKind, CodeActionTriggerKind, CodeLens, EventEmitter, languages, ThemeColor,
  window, workspace, type Disposable, type TextDocument,
} from "vscode";
import { changed, map } from "./changes.ts";
import type { Chat } from "./chat.ts";
import { wire } from "./context.ts";
import { range } from "./edit.ts";
import type { TurnEnded, WireRange } from "./protocol.ts";
import * as say from "./say.ts";
import type { Place, Sessions } from "./sessions.ts";

/** Characters of a prompt that are shown above its place. */
const WIDTH = 60;

/** An edit that is being made. */
interface Running { turn: string; uri: string; range: WireRange; text: string }

export class Inline {
  private running: Running[] = [];
  private readonly lenses = new EventEmitter<void>();
  private readonly mark = window.createTextEditorDecorationType({
    isWholeLine: true, backgroundColor: new ThemeColor("editor.rangeHighlightBackground"),
  });

  constructor(
    private readonly sessions: Sessions, private readonly chat: Chat, subscriptions: Disposable[],
  ) {
    subscriptions.push(
      this.lenses, this.mark,
      languages.registerCodeLensProvider({ scheme: "file" }, {
        onDidChangeCodeLenses: this.lenses.event,
        provideCodeLenses: (document) => this.lensesOf(document),
      }),
      languages.registerCodeActionsProvider({ scheme: "file" }, {
        provideCodeActions(document, { isEmpty, start, end }, { triggerKind }) {
          // A selection alone shows no light bulb: only who opens it is offered this.
          if (isEmpty || triggerKind !== CodeActionTriggerKind.Invoke || !offered()) return [];
          const action = new CodeAction("Interline: edit this…", CodeActionKind.RefactorRewrite);
          const given = { uri: `${document.uri}`, range: { start, end } };
          const { title } = action;
          return [Object.assign(action, {
            command: { title, command: "interline.edit", arguments: [given] },
          })];
        },
      }, { providedCodeActionKinds: [CodeActionKind.RefactorRewrite] }),
      workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
        const edits = contentChanges.map((each) => changed(0, each));
        for (const each of this.running.filter(({ uri }) => uri === `${document.uri}`)) {
          each.range = edits.reduce((at, edit) => map(at, edit) ?? at, each.range);
        }
      }),
      window.onDidChangeVisibleTextEditors(() => this.show()),
    );
  }

  /** Asks what should change in the selection, or on the cursor's line. */
  async ask(given: Place = {}): Promise<void> {
    const editor = window.activeTextEditor;
    if (editor?.document.uri.scheme !== "file") return void say.info("open a file to edit it.");
    const { document, selection } = editor, line = document.lineAt(selection.active.line).range;
    const place = given.range ?? wire(selection.isEmpty ? line : selection);
    const text = given.text ?? await window.showInputBox({
      prompt: "What should change here?", placeHolder: "Handle an empty list", ignoreFocusOut: true,
    });
    if (!text?.trim()) return;
    const uri = `${document.uri}`, { version } = document;
    const turn = await this.sessions.change(text, { type: "resource", uri, range: place, version });
    this.running.push({ turn, uri, range: place, text });
    this.show();
  }

  /** An edit is done; the user learns it where nothing has changed. */
  readonly ended = ({ turnId, error, files, stopReason }: TurnEnded): void => {
    const done = this.running.find(({ turn }) => turn === turnId);
    if (!done) return;
    this.running = this.running.filter((each) => each !== done);
    this.show();
    if (files.length > 0 || stopReason === "cancelled") return;
    const words = error ? `the edit failed: ${error.message}` : "nothing was changed.";
    void say.info(words, "Show Chat").then((show) => show ? this.chat.reveal() : undefined);
  };

  private show(): void {
    for (const editor of window.visibleTextEditors) {
      const here = this.running.filter(({ uri }) => uri === `${editor.document.uri}`);
      editor.setDecorations(this.mark, here.map((each) => range(each.range)));
    }
    this.lenses.fire();
  }

  private lensesOf(document: TextDocument): CodeLens[] {
    return this.running.filter(({ uri }) => uri === `${document.uri}`).flatMap((each) => {
      const { text } = each, at = range(each.range);
      const short = text.length > WIDTH ? `${text.slice(0, WIDTH)}…` : text;
      return [
        new CodeLens(at, {
          title: `$(loading~spin) Editing: ${say.plain(short)}`, command: "interline.chat",
        }),
        new CodeLens(at, { title: "Stop", command: "interline.cancel" }),
      ];
    });
  }
}

const offered = (): boolean => workspace.getConfiguration("interline").get("codeActions", true);
