// The page of the status: labelled rows in sections.
import "@vscode/codicons/dist/codicon.css";
import "../../media/view.css";
import "../../media/page.css";
import { render } from "preact";
import { visible, type FromPage, type Section, type StatusRow } from "../messages.ts";
import { Icon, IconButton } from "../view/parts.tsx";

declare function acquireVsCodeApi(): { postMessage(message: FromPage): void };
const host = acquireVsCodeApi();

const LEVELS = { ok: "pass", warning: "warning", error: "error" };

function Page({ sections }: { sections: Section[] }) {
  return <main id="status" class="page">
    <header>
      <h1>Status</h1><span class="gap" />
      <IconButton icon="report" label="Save a report for a bug report"
        onClick={() => host.postMessage({ kind: "report" })} />
      <IconButton icon="refresh" label="Refresh"
        onClick={() => host.postMessage({ kind: "refresh" })} />
    </header>
    {sections.map(({ title, rows, empty }) => <section aria-label={title}>
      <h2>{title}</h2>
      {rows.length === 0 ? <p class="quiet">{empty}</p>
        : <dl class="rows">{rows.map((row) => <Row {...row} />)}</dl>}
    </section>)}
  </main>;
}

function Row({ label, value, note, level }: StatusRow) {
  return <div>
    <dt>{visible(label)}</dt>
    <dd>
      {level && <Icon name={LEVELS[level]} label={level} />}
      {visible(value)}{note && <span class="quiet"> · {visible(note)}</span>}
    </dd>
  </div>;
}

const root = document.getElementById("root")!;
window.addEventListener("message", ({ data, origin }: MessageEvent<Section[]>) => {
  if (origin === window.origin) render(<Page sections={data} />, root);
});
host.postMessage({ kind: "ready" });
