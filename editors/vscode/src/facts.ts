// What is shown of a session in a tooltip, in the view and in the status bar. Pure.
import type { State } from "./messages.ts";

/** The model without its provider. */
export const model = ({ model }: Pick<State, "model">): string =>
  model.split("/").slice(1).join("/");

/** Context, tokens, cost and trust, a line for each that is known. */
export function facts({ context, tokens, cost, trusted }: State): string[] {
  const number = (value: number): string => value.toLocaleString("en");
  const lines = [
    context && `Context: ${number(context.used)} of ${number(context.window)} tokens `
      + `(${percent(context)}%)`,
    tokens && `Session: ${number(tokens)} tokens`,
    cost && `Cost: $${cost.toFixed(cost < 0.1 ? 4 : 2)}`,
    trusted !== undefined
      && (trusted ? "Folder: trusted" : "Folder: not trusted; every edit asks"),
  ];
  return lines.filter((line) => typeof line === "string");
}

/** How much of the model's window is used. */
export const percent = ({ used, window }: { used: number; window: number }): number =>
  Math.min(100, Math.round(used / Math.max(1, window) * 100));
