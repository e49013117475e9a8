// Small parts that the rest of the view is made of.
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { visible } from "../messages.ts";

export function Icon({ name, label, spin }: { name: string; label?: string; spin?: boolean }) {
  const look = `codicon codicon-${name}${spin ? " codicon-modifier-spin" : ""}`;
  return label ? <span class={look} role="img" aria-label={label} title={label} />
    : <span class={look} aria-hidden="true" />;
}

type Button = JSX.IntrinsicElements["button"] & { children?: ComponentChildren };

/** A button that is only an icon; `label` is its name and its tooltip. */
export function IconButton({ icon, label, ...rest }: { icon: string; label: string } & Button) {
  return <button type="button" class="icon" title={label} aria-label={label} {...rest}>
    <Icon name={icon} />
  </button>;
}

/** Time that something took, in words as short as they can be. */
export function duration(ms: number): string {
  const seconds = ms / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}

/** What is unfolded, by what it belongs to: it stays so while it is far out of sight. */
const unfolded = new Set<unknown>();

export function useOpen(of: unknown): [open: boolean, set: (open: boolean) => void] {
  const [open, setOpen] = useState(unfolded.has(of));
  return [open, (now) => {
    if (now) unfolded.add(of);
    else unfolded.delete(of);
    setOpen(now);
  }];
}

/** A sentence in which names between backticks are code. */
export function Words({ text }: { text: string }) {
  const parts = visible(text).split(/`([^`\n]+)`/);
  return <>{parts.map((part, at) => at % 2 === 1 ? <code>{part}</code> : part)}</>;
}
