// Starts a language server, as extensions for languages do. Test use only: one is made for the toy
// server that the tests of all editors share, and one for rust-analyzer.
import * as vscode from "vscode";
import { LanguageClient } from "vscode-languageclient/node";

let client;

export async function activate(context) {
  const { language, server } = context.extension.packageJSON;
  const start = async () => {
    const { command, args, env } = server;
    client = new LanguageClient(language, language, { command, args, options: { env: { ...process.env, ...env } } }, {
      documentSelector: [{ scheme: "file", language }],
      // Nothing is shown for a request that fails while keys come.
      revealOutputChannelOn: 4,
    });
    await client.start();
  };
  context.subscriptions.push(
    vscode.commands.registerCommand(`tests.${language}.stop`, () => client.stop()),
    vscode.commands.registerCommand(`tests.${language}.start`, start),
  );
  await start();
}

export const deactivate = () => client?.stop();
