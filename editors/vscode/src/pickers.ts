// Pickers for the model, the mode and the agent: each says what is current.
import { QuickPickItemKind, window, workspace, type QuickPickItem } from "vscode";
import * as say from "./say.ts";
import type { Server } from "./server.ts";

const MODES: Record<string, string> = {
  agent: "Reads, edits and runs commands",
  ask: "Reads and answers; changes nothing",
  plan: "Reads and writes a plan; changes nothing",
};
/** A recording for `interline demo`, which is no model. */
const DEMO = "replay/@demo";

interface Row extends QuickPickItem { value?: string }

/** The rows of a picker: the current one first, models by their provider. */
export function rows(key: string, offers: string[], current: string): Row[] {
  const mark = (value: string): string => value === current ? "$(check) " : "";
  if (key !== "model") {
    return offers.map((value) =>
      ({ value, label: `${mark(value)}${value || "no agent"}`, description: MODES[value] ?? "" }));
  }
  const models = offers.filter((value) => value !== DEMO || value === current);
  const provider = (value: string): string => value.split("/", 1)[0]!;
  const [own] = [provider(current)];
  const groups = [...new Set(models.map(provider))].sort((a, b) =>
    Number(b === own) - Number(a === own));
  return groups.flatMap((group): Row[] => [
    { label: group, kind: QuickPickItemKind.Separator },
    ...models.filter((value) => provider(value) === group).map((value) => ({
      value, label: `${mark(value)}${value.slice(group.length + 1)}`, description: group,
    })),
  ]);
}

export async function pick(
  server: Server, key: "mode" | "model" | "agent", current: string,
): Promise<string | undefined> {
  const status = await server.request("interline/status", {});
  const agents = workspace.getConfiguration("interline").get<object>("agents", {}) ?? {};
  const offers = key === "agent" ? ["", ...Object.keys(agents)] : status[`${key}s`] ?? [];
  const placeHolder = say.plain(`Current ${key}: ${current || "none"}`);
  const chosen = await window.showQuickPick(rows(key, offers, current), { placeHolder });
  return chosen?.value;
}
