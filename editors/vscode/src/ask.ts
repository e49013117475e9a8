// Asking from the editor: an input box, about the selection or about what is reported there.
import { languages, window } from "vscode";
import { wire } from "./context.ts";
import type { Input } from "./protocol.ts";
import * as say from "./say.ts";
import type { Place, Sessions } from "./sessions.ts";

export async function ask(sessions: Sessions, given?: Place): Promise<void> {
  const { document, selection } = window.activeTextEditor ?? {};
  const selects = document?.uri.scheme === "file" && selection && !selection.isEmpty;
  const about: Input | undefined = selects ? {
    type: "resource", uri: `${document.uri}`, range: wire(selection), version: document.version,
  } : undefined;
  const prompt = about ? "Ask Interline about the selection" : "Ask Interline";
  const text = given?.text ?? await window.showInputBox({ prompt, ignoreFocusOut: true });
  if (text?.trim()) await sessions.ask(text, about);
}

/** `interline.fix` and `interline.explain`, of a code action or at the cursor. */
export async function at(sessions: Sessions, command: string, given?: Place): Promise<void> {
  if (given?.uri) return sessions.forward(command, given);
  const { document, selection } = window.activeTextEditor ?? {};
  if (!document || !selection) return void say.info("open a file and put the cursor at the place.");
  const range = selection.isEmpty ? document.lineAt(selection.active.line).range : selection;
  const reported = languages.getDiagnostics(document.uri);
  if (command === "interline.fix" && !reported.some((each) => each.range.intersection(range))) {
    return void say.info("nothing is reported at the cursor.");
  }
  await sessions.forward(command, { uri: `${document.uri}`, range: wire(range) });
}
