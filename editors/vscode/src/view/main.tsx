// The chat view. Messages come in batches and are drawn once a frame; of a text that streams only
// the end is rendered again: a flood of deltas blocks nothing.
import "@vscode/codicons/dist/codicon.css";
import "../../media/view.css";
import { render } from "preact";
import type { ToView } from "../messages.ts";
import { App } from "./app.tsx";
import { post } from "./host.ts";
import { redraw } from "./items.tsx";
import { Store } from "./store.ts";

/** ms after which a view is drawn that gets no frames, because it is hidden. */
const HIDDEN = 100;

const store = new Store(() => performance.now());
const root = document.getElementById("root")!;
let drawn = -1, waits = false;

function draw(): void {
  if (!waits) return;
  waits = false;
  if (store.version !== drawn) {
    drawn = store.version;
    render(<App store={store} />, root);
  }
  for (const item of store.changed) redraw(item);
  store.changed.clear();
}

window.addEventListener("message", ({ data, origin }: MessageEvent<ToView[]>) => {
  if (origin !== window.origin) return;
  for (const message of data) store.take(message);
  if (waits) return;
  waits = true;
  requestAnimationFrame(draw);
  setTimeout(draw, HIDDEN);
});
waits = true;
draw();
post({ kind: "ready" });
