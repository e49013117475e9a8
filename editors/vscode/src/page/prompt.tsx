// The page of the next prompt: its segments as a list, with size, source, trust and what is cached.
import "@vscode/codicons/dist/codicon.css";
import "../../media/view.css";
import "../../media/page.css";
import { render } from "preact";
import { useState } from "preact/hooks";
import { visible, type FromPage } from "../messages.ts";
import type { PreviewContext, PromptPreview, SegmentRow, ToolSpec, Trust } from "../protocol.ts";
import { Icon, IconButton } from "../view/parts.tsx";
import { parts, since, type Cached, type Shown } from "./parts.ts";

declare function acquireVsCodeApi(): { postMessage(message: FromPage): void };
const host = acquireVsCodeApi();

const TRUST: Record<Trust, string> = {
  own: "Interline's own text", user: "written by you", workspace: "from a trusted folder",
  untrusted: "unverified: sent as data, not as instructions",
};
const CACHED: Record<Cached, [icon: string, words: string]> = {
  cached: ["database", "Sent before: the provider can have it in its cache"],
  changed: ["diff-modified", "Changed since the last request"],
  new: ["arrow-up", "Sent again"],
};
const number = (value: number): string => value.toLocaleString("en");

function Page({ preview }: { preview: PromptPreview }) {
  const { request, tokens, tools, epoch, pending, problems = [], compaction, context } = preview;
  const { sent, absent, bytes, same } = parts(preview);
  const [all, setAll] = useState(false);
  const about = tokens.exact ? "" : "About ";
  const part = Math.round(same / Math.max(1, bytes) * 100);
  const groups = [["system", "Stable part"], ["tail", "With each prompt"]] as const;
  return <main id="prompt" class="page">
    <header>
      <h1>The next prompt</h1><span class="gap" />
      <IconButton icon="refresh" label="Refresh"
        onClick={() => host.postMessage({ kind: "refresh" })} />
    </header>
    <p>{about}<strong>{number(tokens.count)} tokens</strong>, {number(bytes)} bytes
      to {request.provider}, {tools.length} tools.{" "}
      {epoch.id === "next" ? "A new epoch begins" : `Epoch ${epoch.id}`} ({epoch.reason}).</p>
    <div class="bar" role="img" aria-label={`${part}% can be cached`}>
      <div class="cached" style={{ width: `${part}%` }} />
    </div>
    <p class="quiet">{part}% was sent before and can be read from the provider's cache.</p>
    {context && <Context {...context} />}
    {compaction && <p class="warns"><Icon name="fold" /> The conversation would be compacted first:
      {" "}{number(compaction.tokens)} of {number(compaction.threshold)} tokens.</p>}
    <section aria-label="Since the last request">
      <h2>Since the last request</h2>
      <p>{since(preview)}</p>
      {pending.map(({ about: what, source, text }) =>
        <Fold title={what} detail={source} text={text} icon="diff-modified" />)}
    </section>
    {problems.length > 0 && <section aria-label="Not used">
      <h2>Not used</h2>
      {problems.map(({ source, reason }) =>
        <p class="warns"><Icon name="warning" /> {visible(source)}: {visible(reason)}</p>)}
    </section>}
    {groups.map(([slot, title]) => <section aria-label={title}>
      <h2>{title}</h2>
      {sent.filter(({ row }) => row.slot === slot).map((each) => <Segment {...each} />)}
    </section>)}
    <section aria-label="Tools">
      <h2>Tools</h2>
      {tools.map((tool) => <Tool {...tool} />)}
    </section>
    <section aria-label="Absent">
      <h2>Absent</h2>
      <button type="button" id="absent" aria-expanded={all} onClick={() => setAll(!all)}>
        {all ? "Hide" : "Show"} {absent.length} absent segments
      </button>
      {all && <ul class="absent">{absent.map((row) => <Absent {...row} />)}</ul>}
    </section>
    <section aria-label="Request">
      <h2>Request</h2>
      <Fold title="The request as it is sent" detail={`${number(bytes)} bytes`} icon="json"
        text={pretty(request.body)} />
    </section>
  </main>;
}

const FILLS = ["system", "tools", "conversation", "prompt"] as const;

/** What fills the model's window. */
function Context(context: PreviewContext) {
  const { window: size } = context, used = FILLS.reduce((sum, each) => sum + context[each], 0);
  return <section aria-label="Context">
    <h2>Context</h2>
    <div class="bar fills" aria-hidden="true">
      {FILLS.map((each) =>
        <div class={`fill-${each}`} style={{ width: `${context[each] / size * 100}%` }} />)}
    </div>
    <p>{number(used)} of {number(size)} tokens: {FILLS.map((each) => <span class="fill">
      <span class={`dot fill-${each}`} /> {each} {number(context[each])}
    </span>)}</p>
  </section>;
}

function Segment({ row, cached, share }: Shown) {
  const { id, title, tokens, bytes, source, trust, reason, text, layer } = row;
  const [icon, words] = CACHED[cached];
  return <details class="segment" data-id={id}>
    <summary>
      <Icon name="chevron-right" /><Icon name={icon} label={words} />
      <span class="name">{title}</span>
      <span class={`trust ${trust}`} title={TRUST[trust]}>{trust}</span>
      <span class="source" title={source}>{visible(source)}</span>
      <span class="size">
        <span class="share" style={{ width: `${Math.max(2, share * 100)}%` }} />
      </span>
      <span class="tokens">{number(tokens)}</span>
    </summary>
    <p class="quiet">
      {`${visible(reason)} · ${number(bytes)} bytes · layer ${layer} · ${TRUST[trust]}`}
    </p>
    <pre tabIndex={0}>{visible(text ?? "").trimEnd()}</pre>
  </details>;
}

function Tool({ name, description, input_schema: schema }: ToolSpec) {
  return <Fold title={name} detail={description.split("\n", 1)[0]!} icon="tools"
    text={`${description}\n\n${JSON.stringify(schema, null, 2)}`} />;
}

function Fold({ title, detail, text, icon }: {
  title: string; detail: string; text: string; icon: string;
}) {
  return <details class="segment">
    <summary><Icon name="chevron-right" /><Icon name={icon} />
      <span class="name">{visible(title)}</span>
      <span class="source" title={detail}>{visible(detail)}</span>
    </summary>
    <pre tabIndex={0}>{visible(text).trimEnd()}</pre>
  </details>;
}

function Absent({ title, source, reason }: SegmentRow) {
  return <li><span class="name">{title}</span> <span class="quiet">{visible(reason)}
    ({visible(source)})</span></li>;
}

function pretty(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}

const root = document.getElementById("root")!;
window.addEventListener("message", ({ data, origin }: MessageEvent<PromptPreview>) => {
  if (origin === window.origin) render(<Page preview={data} />, root);
});
host.postMessage({ kind: "ready" });
