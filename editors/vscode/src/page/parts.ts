// The parts of the next request, as the page of the prompt shows them. Pure.
import type { PromptPreview, SegmentRow } from "../protocol.ts";

/** Whether the provider has a part from the last request, or what keeps it from that. */
export type Cached = "cached" | "changed" | "new";
/** A segment that is sent; `share` is its part of the largest, from 0 to 1. */
export interface Shown { row: SegmentRow; cached: Cached; share: number }
export interface Parts {
  sent: Shown[];
  absent: SegmentRow[];
  /** Bytes of the request, and those that the last one sent alike. */
  bytes: number;
  same: number;
}

/** A new epoch sends the stable part again; within one, all of it was sent before. */
export function parts({ segments, request, epoch, changed }: PromptPreview): Parts {
  const begins = epoch.id === "next", { body, breakpoints } = request;
  const bytes = new TextEncoder().encode(body).length;
  // What a provider keeps ends at one of its breakpoints.
  const same = begins ? Math.max(0, ...breakpoints.filter((at) => at <= (changed?.byte ?? 0)))
    : breakpoints.at(-2) ?? breakpoints.at(-1) ?? 0;
  const sent = segments.filter(({ included }) => included);
  const most = Math.max(1, ...sent.map(({ tokens }) => tokens));
  const stable = sent.filter(({ slot }) => slot === "system");
  const at = changed ? stable.findIndex(({ id }) => id === changed.segmentId) : -1;
  const cached = (row: SegmentRow): Cached => {
    if (row.slot === "tail" || (begins && !changed)) return "new";
    if (!begins) return "cached";
    const place = stable.indexOf(row);
    return place === at ? "changed" : at >= 0 && place < at ? "cached" : "new";
  };
  return {
    bytes, same, absent: segments.filter(({ included }) => !included),
    sent: sent.map((row) => ({ row, cached: cached(row), share: row.tokens / most })),
  };
}

/** What differs from the session's last request, in words. */
export function since({ epoch, changed, pending, segments }: PromptPreview): string {
  if (epoch.id !== "next") {
    return pending.length > 0 ? "The stable part is as it was sent. What has changed since follows "
      + "the conversation:" : "Nothing has changed: the stable part is as it was sent.";
  }
  if (!changed) return "This session has sent no request yet: all of it is new.";
  const named = segments.find(({ id }) => id === changed.segmentId)?.title ?? changed.segmentId;
  return `The stable part is sent again (${epoch.reason}). It differs from the last request from `
    + `“${named}” on (byte ${changed.byte.toLocaleString("en")}).`;
}
