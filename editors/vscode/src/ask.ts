// Asking from the editor: an input box, about the selection or about what is reported there.
import { languages, window, type TextEditor } from "vscode";
import { wire } from "./context.ts";
import type { Diagnostics } from "./diagnostics.ts";
import type { Input, WireRange } from "./protocol.ts";
import * as say from "./say.ts";
import type { Sessions } from "./sessions.ts";

interface Place { uri?: string; range?: WireRange; text?: string }

export async function ask(sessions: Sessions, given?: Place): Promise<void> {
  const editor = window.activeTextEditor;
  const about = editor && selected(editor);
  const text = given?.text ?? await window.showInputBox({
    prompt: about ? "Ask Interline about the selection" : "Ask Interline", ignoreFocusOut: true,
  });
  if (text?.trim()) await sessions.ask(text, about);
}

/** `interline.fix` and `interline.explain`, of a code action or at the cursor. */
export async function at(
  sessions: Sessions, diagnostics: Diagnostics, command: "interline.fix" | "interline.explain", given?: Place,
): Promise<void> {
  if (given?.uri) return sessions.forward(command, given);
  const editor = window.activeTextEditor;
  if (!editor) return void say.info("open a file and put the cursor at the place.");
  const { document, selection } = editor;
  const range = selection.isEmpty ? document.lineAt(selection.active.line).range : selection;
  const place = { uri: document.uri.toString(), range: wire(range) };
  if (command === "interline.explain") return sessions.forward(command, place);
  const found = languages.getDiagnostics(document.uri).filter((each) => each.range.intersection(range));
  if (found.length === 0) return void say.info("nothing is reported at the cursor.");
  await sessions.forward(command, { ...place, diagnostics: diagnostics.wire(found) } as Place);
}

function selected({ document, selection }: TextEditor): Input | undefined {
  if (selection.isEmpty || document.uri.scheme !== "file") return undefined;
  return { type: "resource", uri: document.uri.toString(), range: wire(selection), version: document.version };
}
