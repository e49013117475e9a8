// Asking from the editor: an input box, about the selection if there is one.
import { window } from "vscode";
import { wire } from "./context.ts";
import type { Input } from "./protocol.ts";
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

/** The place of the cursor, for commands that are about it. */
export function cursor(): Place {
  const { document, selection } = window.activeTextEditor ?? {};
  return document && selection ? { uri: `${document.uri}`, range: wire(selection) } : {};
}
