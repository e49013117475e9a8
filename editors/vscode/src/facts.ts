// What is shown of a session in a tooltip, in the view and in the status bar. Pure.
import type { State } from "./messages.ts";

/** The model without its provider. */
export const model = ({ model }: Pick<State, "model">): string =>
  model.split("/").slice(1).join("/");

/** Context, tokens, cost and trust, a line for each that is known. */
export function facts({ used, tokens, cost, trusted }: State): string[] {
  const lines = [
    used !== undefined && `Context: ${used.toLocaleString("en")} tokens at the last request`,
    tokens && `Session: ${tokens.toLocaleString("en")} tokens`,
    cost && `Cost: $${cost.toFixed(cost < 0.1 ? 4 : 2)}`,
    trusted !== undefined
      && (trusted ? "Folder: trusted" : "Folder: not trusted; every edit asks"),
  ];
  return lines.filter((line) => typeof line === "string");
}

/** Thousands as people read them. */
export function short(tokens: number): string {
  if (tokens < 1000) return `${tokens}`;
  return tokens < 1_000_000 ? `${(tokens / 1000).toFixed(tokens < 10_000 ? 1 : 0)}k`
    : `${(tokens / 1_000_000).toFixed(1)}M`;
}
