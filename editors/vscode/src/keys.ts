// Keys of providers: kept in the editor's secret store, handed to the server at each start.
import { window, type ExtensionContext } from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import * as say from "./say.ts";
import type { Server } from "./server.ts";
import * as settings from "./settings.ts";

const BUILT_IN = ["anthropic", "openai", "gemini"];
/** Which providers have a key; the store cannot be listed. */
const NAMES = "interline.keys";

export class Keys {
  constructor(private readonly context: ExtensionContext, private readonly server: Server) {
    server.prepare.push((client) => this.hand(client));
  }

  async ask(): Promise<void> {
    const own = Object.keys((settings.scopes().user["providers"] as object | undefined) ?? {});
    const provider = await window.showQuickPick([...new Set([...BUILT_IN, ...own])], {
      placeHolder: "Whose key is it?",
    });
    if (!provider) return;
    const secret = await window.showInputBox({
      password: true, ignoreFocusOut: true, prompt: say.plain(`The key of ${provider}; empty: forget it`),
    });
    if (secret === undefined) return;
    const value = secret.trim(), others = this.names().filter((name) => name !== provider);
    await (value ? this.context.secrets.store(slot(provider), value) : this.context.secrets.delete(slot(provider)));
    await this.context.globalState.update(NAMES, value ? [...others, provider] : others);
    await this.server.request("interline/auth/set", { provider, secret: value });
    void say.info(`the key of ${provider} is ${value ? "set" : "forgotten"}.`);
  }

  private async hand(client: LanguageClient): Promise<void> {
    for (const provider of this.names()) {
      const secret = await this.context.secrets.get(slot(provider));
      if (secret) await client.sendRequest("interline/auth/set", { provider, secret });
    }
  }

  private names(): string[] {
    return this.context.globalState.get<string[]>(NAMES, []);
  }
}

function slot(provider: string): string {
  return `interline.key.${provider}`;
}
