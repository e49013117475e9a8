// The first steps: the program's path, and whether there is a key for a model.
import { ConfigurationTarget, window, workspace } from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import * as settings from "./settings.ts";

/** Asks for the program's path, and stores it where this machine's settings are, also remotely. */
export async function choosePath(): Promise<void> {
  const { path } = settings.server();
  const chosen = await window.showInputBox({
    prompt: "Path of the program interline on this machine", value: path, ignoreFocusOut: true,
    placeHolder: "/home/you/.cargo/bin/interline",
  });
  if (chosen === undefined) return;
  const configuration = workspace.getConfiguration("interline");
  await configuration.update("server.path", chosen.trim(), ConfigurationTarget.Global);
}

/** Whether no model can be asked yet, because there is no key. Sends no request to a provider. */
export async function keyless(client: LanguageClient): Promise<boolean> {
  const asked = client.sendRequest("interline/prompt/preview", {});
  return asked.then(() => false, (error) => error?.data?.kind === "noModel");
}
