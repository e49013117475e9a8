// Messages of the editor: everything that is shown in one goes through here.
import { window } from "vscode";
import { visible } from "./messages.ts";

type Show = (text: string, ...buttons: string[]) => Thenable<string | undefined>;

/** The editor makes `[label](command:…)` a link that runs it: no words of others become one. */
export function plain(text: string): string {
  return visible(text).replaceAll("](", "] (");
}

function safely(show: Show): Show {
  return (text, ...buttons) => show(`Interline: ${plain(text)}`, ...buttons);
}

export const info = safely(window.showInformationMessage);
export const warn = safely(window.showWarningMessage);
export const fail = safely(window.showErrorMessage);
