// Pickers for the model, the mode and the agent: each says what is current.
import { commands, QuickPickItemKind, window, workspace, type QuickPickItem } from "vscode";
import type { ModelRow } from "./protocol.ts";
import * as say from "./say.ts";
import type { Server } from "./server.ts";

const MODES: Record<string, string> = {
  agent: "Reads, edits and runs commands",
  ask: "Reads and answers; changes nothing",
  plan: "Reads and writes a plan; changes nothing",
};
/** A recording for `interline demo`, which is no model. */
const DEMO = "replay/@demo";

interface Row extends QuickPickItem { value?: string; command?: string }

/**
 * The rows of a picker: the current one first, models by their provider. Models without a key are
 * left out (`keyless`), and the last row adds a key.
 */
export function rows(
  key: string, offers: string[], current: string, keyless: ModelRow[] = [],
): Row[] {
  const mark = (value: string): string => value === current ? "$(check) " : "";
  if (key !== "model") {
    return offers.map((value) =>
      ({ value, label: `${mark(value)}${value || "no agent"}`, description: MODES[value] ?? "" }));
  }
  const hidden = new Set([DEMO, ...keyless.map(({ name }) => name)]);
  const models = offers.filter((value) => !hidden.has(value) || value === current);
  const providers = [...new Set(keyless.map(({ provider }) => provider))].join(", ");
  const add: Row[] = providers ? [
    { label: "", kind: QuickPickItemKind.Separator },
    { label: "$(key) Add an API key…", description: providers, command: "interline.setKey" },
  ] : [];
  const provider = (value: string): string => value.split("/", 1)[0]!;
  const [own] = [provider(current)];
  const groups = [...new Set(models.map(provider))].sort((a, b) =>
    Number(b === own) - Number(a === own));
  return [...groups.flatMap((group): Row[] => [
    { label: group, kind: QuickPickItemKind.Separator },
    ...models.filter((value) => provider(value) === group).map((value) => ({
      value, label: `${mark(value)}${value.slice(group.length + 1)}`, description: group,
    })),
  ]), ...add];
}

export async function pick(
  server: Server, key: "mode" | "model" | "agent", current: string,
): Promise<string | undefined> {
  const status = await server.request("interline/status", {});
  const agents = workspace.getConfiguration("interline").get<object>("agents", {}) ?? {};
  const offers = key === "agent" ? ["", ...Object.keys(agents)] : status[`${key}s`] ?? [];
  const placeHolder = say.plain(`Current ${key}: ${current || "none"}`);
  const keyless = (status.modelDetails ?? []).filter(({ ready }) => !ready);
  const chosen = await window.showQuickPick(rows(key, offers, current, keyless), { placeHolder });
  if (chosen?.command) await commands.executeCommand(chosen.command);
  return chosen?.value;
}
