// Marks of changes in editors: coloured lines, a bar beside them, and the text that was there
// before. VS Code has no lines of its own between lines, so that is at the end of the line and, as
// a whole, in the hover.
import {
  MarkdownString, OverviewRulerLane, Range, ThemeColor, Uri, window, type DecorationOptions,
  type DecorationRenderOptions, type Disposable, type TextEditor,
} from "vscode";
import { range } from "./edit.ts";
import { lines, proposedLines, removedLines, wholeLines } from "./hunks.ts";
import { visible } from "./messages.ts";
import type { Hunk } from "./protocol.ts";

/** Characters of a removed line that are shown at the end of a line; lines in a hover. */
const WIDTH = 100, HOVER = 200;

type Kind = "added" | "changed" | "removed" | "proposed";
/** Bars beside the lines: pictures have no theme colours, so these are read on light and dark. */
const BARS: Record<Kind, string> = {
  added: "<rect x='6' width='4' height='16' fill='%232ea043'/>",
  changed: "<rect x='6' width='4' height='16' fill='%231b81a8'/>",
  removed: "<path d='M5 0l8 5l-8 5z' fill='%23f85149'/>",
  proposed: "<path d='M6 1h4v6h-4zM6 9h4v6h-4z' fill='%232ea043'/>",
};

function look(kind: Kind): DecorationRenderOptions {
  const picture = `<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'>${BARS[kind]}</svg>`;
  const gutter = kind === "changed" ? "modified" : kind === "removed" ? "deleted" : "added";
  return {
    isWholeLine: true,
    backgroundColor: kind === "removed" || kind === "proposed" ? undefined
      : new ThemeColor("diffEditor.insertedLineBackground"),
    gutterIconPath: Uri.parse(`data:image/svg+xml;utf8,${picture}`),
    overviewRulerColor: new ThemeColor(`editorGutter.${gutter}Background`),
    overviewRulerLane: OverviewRulerLane.Left,
  };
}

export class Marks {
  private readonly kinds = (["added", "changed", "removed", "proposed"] as const)
    .map((kind) => ({ kind, type: window.createTextEditorDecorationType(look(kind)) }));
  private readonly parts = window.createTextEditorDecorationType({
    backgroundColor: new ThemeColor("diffEditor.insertedTextBackground"),
  });

  constructor(subscriptions: Disposable[]) {
    subscriptions.push(this.parts, ...this.kinds.map(({ type }) => type));
  }

  show(editor: TextEditor, hunks: Hunk[]): void {
    const marked = hunks.map((hunk) => ({ kind: kindOf(hunk), option: mark(editor, hunk) }));
    for (const { kind, type } of this.kinds) {
      const ours = marked.filter((each) => each.kind === kind);
      editor.setDecorations(type, ours.map(({ option }) => option));
    }
    const parts = hunks.filter((hunk) => kindOf(hunk) === "changed" && hunk.after);
    editor.setDecorations(this.parts, parts.map((hunk) => range(hunk.range)));
  }
}

function kindOf(hunk: Hunk): Kind {
  if (hunk.state === "proposed") return "proposed";
  if (!wholeLines(hunk)) return "changed";
  return hunk.after === "" ? "removed" : hunk.before === "" ? "added" : "changed";
}

function mark({ document }: TextEditor, hunk: Hunk): DecorationOptions {
  const bound = (at: number): number => Math.min(at, document.lineCount - 1);
  const text = (at: number): string => document.lineAt(bound(at)).text;
  const [first, last] = lines(hunk).map(bound) as [number, number];
  const place = new Range(first, 0, last, text(last).length);
  const proposed = hunk.state === "proposed";
  const other = proposed ? proposedLines(hunk, text) : removedLines(hunk, text);
  if (other.length === 0 && !proposed) return { range: place };
  const shown = other.slice(0, HOVER).map((line) => `${proposed ? "+" : "-"}${visible(line)}`);
  if (other.length > HOVER) shown.push(`… ${other.length - HOVER} more lines`);
  const about = proposed ? "proposed, not applied" : "before this change";
  const hoverMessage = new MarkdownString(`Interline: ${about}`);
  hoverMessage.appendCodeblock(shown.join("\n"), "diff");
  const line = other.find((each) => each.trim()) ?? (proposed ? "(remove)" : "");
  const cut = visible(line.trim()).slice(0, WIDTH);
  const count = other.length > 1 ? `${other.length} lines: ` : "";
  // Spaces in a row would be shown as one.
  const contentText = `${proposed ? "+" : "−"} ${count}${cut}`.replaceAll(" ", "\u00a0");
  const resource = proposed ? "added" : "deleted";
  const color = new ThemeColor(`gitDecoration.${resource}ResourceForeground`);
  const after = { contentText, color, margin: "0 0 0 2em", fontStyle: "italic" };
  return { range: place, hoverMessage, renderOptions: { after } };
}
