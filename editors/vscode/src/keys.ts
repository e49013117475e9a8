// Keys of providers: kept in the editor's secret store, handed to the server at each start.
import { window, type ExtensionContext } from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import type { Quiet } from "./quiet.ts";
import * as say from "./say.ts";
import type { Server } from "./server.ts";
import * as settings from "./settings.ts";

const BUILT_IN = ["anthropic", "openai", "gemini"];
/** Which providers have a key; the store cannot be listed. */
const NAMES = "interline.keys";

const slot = (provider: string): string => `interline.key.${provider}`;

/** The providers that a key can be set for. */
export function providers(): string[] {
  return [...new Set([...BUILT_IN, ...Object.keys(settings.scopes().user["providers"] ?? {})])];
}

export async function ask(context: ExtensionContext, server: Server): Promise<void> {
  const provider = await window.showQuickPick(providers(), { placeHolder: "Choose a provider" });
  if (!provider) return;
  const prompt = say.plain(`${provider} API key (leave empty to remove it)`);
  const given = await window.showInputBox({ password: true, ignoreFocusOut: true, prompt });
  if (given === undefined) return;
  await store(context, server, provider, given.trim());
}

/** Asks the provider for one word with a key: why it was refused, or undefined. */
async function refused(
  server: Server, quiet: Quiet, provider: string, secret: string,
): Promise<string | undefined> {
  const { models = [] } = await server.request("interline/status", {});
  const model = models.find((each) => each.startsWith(`${provider}/`));
  if (!model) return undefined;
  await server.request("interline/auth/set", { provider, secret });
  const session = { title: "Key test", model, detail: "none" };
  const asked = quiet.ask(session, [{ type: "text", text: "Answer with the word OK." }]);
  return asked.then(() => undefined, async (error) => {
    // Anything else, such as a network that is down, says nothing about the key.
    if (error?.data?.kind !== "auth") return undefined;
    await server.request("interline/auth/set", { provider, secret: "" });
    return `${error.message}`;
  });
}

/** Tests a key that was given in the view, and stores it unless the provider refuses it. */
export async function test(
  context: ExtensionContext, server: Server, quiet: Quiet, provider: string, secret: string,
): Promise<string | undefined> {
  const why = await refused(server, quiet, provider, secret);
  if (why === undefined) await store(context, server, provider, secret);
  return why;
}

/** Stores a key, or removes it if it is empty. */
export async function store(
  context: ExtensionContext, server: Server, provider: string, secret: string,
): Promise<void> {
  const { secrets, globalState } = context;
  // A provider whose key was forgotten stays in the list: it has none there.
  await globalState.update(NAMES, [...new Set(globalState.get<string[]>(NAMES)).add(provider)]);
  await (secret ? secrets.store(slot(provider), secret) : secrets.delete(slot(provider)));
  await server.request("interline/auth/set", { provider, secret });
  void say.info(`the ${provider} API key is ${secret ? "stored" : "removed"}.`);
}

export async function hand(context: ExtensionContext, client: LanguageClient): Promise<void> {
  for (const provider of context.globalState.get<string[]>(NAMES, [])) {
    const secret = await context.secrets.get(slot(provider));
    if (secret) await client.sendRequest("interline/auth/set", { provider, secret });
  }
}
