// The rules that let commands run without asking, listed and removed.
import { window } from "vscode";
import * as say from "./say.ts";
import type { Server } from "./server.ts";

/** Shows the rules that last; the chosen one is removed. */
export async function rules(server: Server): Promise<void> {
  const found = await server.request("interline/rules/list", {});
  if (found.rules.length === 0) {
    return void say.info("no rules are stored; a command that asks may offer one.");
  }
  const offers = found.rules.map(({ id, rule, folder, since }) => ({
    id, label: rule, description: folder ?? "all trusted folders",
    detail: `since ${since.slice(0, 10)}`,
  }));
  const chosen = await window.showQuickPick(offers, { placeHolder: "Choose a rule to remove" });
  if (!chosen) return;
  await server.request("interline/rules/remove", { id: chosen.id });
  void say.info(`removed the rule ${chosen.label}; such commands ask again.`);
}
