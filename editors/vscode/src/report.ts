// The report for a bug report: the server removes keys, prompts and texts; the user reads it first.
import { commands, window, workspace } from "vscode";
import * as say from "./say.ts";
import type { Server } from "./server.ts";

/** Opens the report as a new document, which is saved where the user chooses. */
export async function report(server: Server): Promise<void> {
  const found = await server.request("interline/debug", {});
  const content = `${JSON.stringify(found, null, 2)}\n`;
  const document = await workspace.openTextDocument({ language: "json", content });
  await window.showTextDocument(document);
  const words = "the report has no keys, prompts or texts of files, but paths. "
    + "Read it before you share it.";
  if (await say.info(words, "Save As…")) {
    await window.showTextDocument(document);
    await commands.executeCommand("workbench.action.files.saveAs");
  }
}
