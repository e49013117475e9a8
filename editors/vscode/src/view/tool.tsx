// A tool call: one line with its state, and what it did behind it. A running command shows the
// last lines of its output.
import { useEffect, useState } from "preact/hooks";
import { visible, type Tool } from "../messages.ts";
import type { ToolStatus } from "../protocol.ts";
import { Diff } from "./diff.tsx";
import { post } from "./host.ts";
import { duration, Icon, useOpen } from "./parts.tsx";

/** Lines of a running command's output that are shown. */
const LAST = 5;
/** Durations below this many ms are not shown. */
const BRIEF = 100;

const LOOKS: Record<ToolStatus, [icon: string, label: string, spin?: boolean]> = {
  pending: ["circle-large-outline", "not started"],
  running: ["loading", "running", true],
  awaitingApproval: ["question", "waits for your answer"],
  awaitingSave: ["save", "waits until files are saved"],
  completed: ["check", "completed"],
  failed: ["error", "failed"],
  rejected: ["circle-slash", "rejected"],
  cancelled: ["circle-slash", "cancelled"],
};

interface Shown { tool: Tool; live: string; began?: number; hidden: boolean }

export function ToolRow({ tool, live, began, hidden }: Shown) {
  const { status, body } = tool, running = status === "running";
  const [open, setOpen] = useOpen(tool.id);
  const output = body && !running ? body : live;
  const tail = running && !open && live ? lastLines(live) : "";
  const kept = status === "cancelled" && live && body ? `${live.trimEnd()}\n\n${body}` : output;
  const toggle = (event: MouseEvent): void => {
    // A link in the line is no part of the button that the line is.
    if (kept && !(event.target as HTMLElement).closest("a")) setOpen(!open);
  };
  return <div class="item tool" data-status={status} hidden={hidden} tabIndex={-1}>
    <div class={`line${kept ? " opens" : ""}`} onClick={toggle}>
      {kept ? <button type="button" class="toggle" aria-expanded={open}
        aria-label={`Details: ${visible(tool.title)}`}><Icon name="chevron-right" /></button>
        : <span class="toggle" />}
      <Row tool={tool} began={running ? began : undefined} />
    </div>
    {open && kept && <Details tool={tool} text={kept} />}
    {tail && <pre class="live" aria-label="Last lines of the output">{visible(tail)}</pre>}
  </div>;
}

function Details({ tool: { id, diff, child }, text }: { tool: Tool; text: string }) {
  return <>
    {child && <button type="button" class="link"
      onClick={() => post({ kind: "act", id: `child ${id}` })}>Open transcript</button>}
    {diff ? <Diff text={text} /> : <pre tabIndex={0}>{visible(text).trimEnd()}</pre>}
  </>;
}

function Row({ tool, began }: { tool: Tool; began?: number }) {
  const { status, added, removed } = tool, [icon, label, spin] = LOOKS[status];
  return <>
    <span class="state"><Icon name={icon} label={label} spin={spin} /></span>
    <span class="name"><Title tool={tool} /></span>
    {added !== undefined && <Counts added={added} removed={removed ?? 0} />}
    {began !== undefined ? <Clock began={began} />
      : tool.ms !== undefined && tool.ms >= BRIEF && <span class="time">
        {duration(tool.ms)}
      </span>}
  </>;
}

export function Counts({ added, removed }: { added: number; removed: number }) {
  return <span class="counts">
    <span class="plus">+{added}</span> <span class="minus">−{removed}</span>
  </span>;
}

/** The title, with its path as a link. */
function Title({ tool: { title, path } }: { tool: Tool }) {
  const shown = visible(title), at = path ? shown.indexOf(path) : -1;
  if (!path || at < 0) return <>{shown}</>;
  return <>
    {shown.slice(0, at)}
    <a class="file" href="#" data-path={path} title={path}>{path}</a>
    {shown.slice(at + path.length)}
  </>;
}

/** Seconds since it began. */
function Clock({ began }: { began: number }) {
  const [now, setNow] = useState(performance.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(performance.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  const seconds = Math.floor(Math.max(0, now - began) / 1000);
  return <span class="time">{seconds > 0 ? `${seconds} s` : ""}</span>;
}

export function lastLines(text: string): string {
  return text.trimEnd().split("\n").slice(-LAST).join("\n");
}
