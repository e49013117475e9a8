// Messages of the editor: everything that is shown in one goes through here.
import { window } from "vscode";
import { visible } from "./messages.ts";

/** The editor makes `[label](command:…)` a link that runs the command: no words of others become one. */
export function plain(text: string): string {
  return visible(text).replaceAll("](", "] (");
}

type Answer = Thenable<string | undefined>;

export const info = (text: string, ...buttons: string[]): Answer => window.showInformationMessage(`Interline: ${plain(text)}`, ...buttons);
export const warn = (text: string, ...buttons: string[]): Answer => window.showWarningMessage(`Interline: ${plain(text)}`, ...buttons);
export const fail = (text: string, ...buttons: string[]): Answer => window.showErrorMessage(`Interline: ${plain(text)}`, ...buttons);
