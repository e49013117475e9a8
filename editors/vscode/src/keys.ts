// Keys of providers: kept in the editor's secret store, handed to the server at each start.
import { window, type ExtensionContext } from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import { PROVIDERS } from "./messages.ts";
import type { TestedAuth } from "./protocol.ts";
import * as say from "./say.ts";
import type { Server } from "./server.ts";
import * as settings from "./settings.ts";

const BUILT_IN = ["anthropic", "openai", "gemini"];
/** Which providers have a key; the store cannot be listed. */
const NAMES = "interline.keys";

const named = (provider: string): string => PROVIDERS[provider] ?? provider;
const slot = (provider: string): string => `interline.key.${provider}`;

/** The providers that a key can be set for. */
export function providers(): string[] {
  return [...new Set([...BUILT_IN, ...Object.keys(settings.scopes().user["providers"] ?? {})])];
}

export async function ask(context: ExtensionContext, server: Server): Promise<void> {
  const provider = await window.showQuickPick(providers(), { placeHolder: "Choose a provider" });
  if (!provider) return;
  const prompt = say.plain(`${named(provider)} API key (leave empty to remove it)`);
  const given = await window.showInputBox({ password: true, ignoreFocusOut: true, prompt });
  if (given === undefined) return;
  await store(context, server, provider, given.trim());
}

/**
 * Tests a key that was given in the view, and stores it unless the provider refuses it: then it
 * gives the reason. A network that is down says nothing about the key.
 */
export async function test(
  context: ExtensionContext, server: Server, provider: string, secret: string,
): Promise<string | undefined> {
  const asked = server.request("interline/auth/test", { provider, secret });
  const { outcome, error } = await asked.catch((error): Partial<TestedAuth> => {
    // A provider without a model can have a key.
    if (error?.data?.kind !== "noModel") throw error;
    return {};
  });
  if (outcome === "refused") return error?.message ?? "the provider refused it";
  await store(context, server, provider, secret);
  if (error) void say.warn(`the key was stored without a test: ${error.message}`);
  return undefined;
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
  void say.info(`the ${named(provider)} API key is ${secret ? "stored" : "removed"}.`);
}

export async function hand(context: ExtensionContext, client: LanguageClient): Promise<void> {
  for (const provider of context.globalState.get<string[]>(NAMES, [])) {
    const secret = await context.secrets.get(slot(provider));
    if (secret) await client.sendRequest("interline/auth/set", { provider, secret });
  }
}
