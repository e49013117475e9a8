// The view: the conversation, what waits, the plan, and where prompts are written.
import { useLayoutEffect } from "preact/hooks";
import { Cards } from "./cards.tsx";
import { Composer } from "./composer.tsx";
import { post } from "./host.ts";
import { List } from "./list.tsx";
import { Icon, IconButton } from "./parts.tsx";
import { PlanList } from "./plan.tsx";
import { Start } from "./start.tsx";
import { usePlace } from "./scroll.ts";
import type { Item, Store } from "./store.ts";
import { TabRow } from "./tabs.tsx";

export function App({ store }: { store: Store }) {
  const { items, cards, plan, prompts, moved, busy } = store;
  const { log, list, away, toEnd } = usePlace();
  // Before anything is painted: later, it would undo a scroll that came in between.
  useLayoutEffect(toEnd, [prompts]);
  const works = busy && cards.length === 0 && !moves(items.at(-1));
  const waiting = new Set(cards.map(({ id }) => id));
  return <>
    <TabRow tabs={store.state?.tabs ?? []} />
    <div class="place">
      <main id="log" tabIndex={0} aria-label="Conversation" ref={log}
        onClick={follow} onKeyDown={walk}>
        <div id="list" role="log" ref={list}>
          {items.some(({ body }) => body.kind === "turn") ? null : <Start store={store} />}
          <List items={items} waiting={waiting} />
          {works && <div class="working note">
            <Icon name="loading" spin /> Working…
          </div>}
        </div>
      </main>
      {away && <IconButton icon="arrow-down" label="Go to the end" id="end" onClick={toEnd} />}
    </div>
    <PlanList plan={plan} />
    <Cards cards={cards} moved={moved} />
    <Composer store={store} />
  </>;
}

/** Whether an item shows by itself that something happens. */
const moves = (item: Item | undefined): boolean => item?.body.kind === "retry"
  || (item?.body.kind === "tool" && item.body.tool.status === "running");

/** Links to files open them in the editor. */
function follow(event: MouseEvent): void {
  const link = (event.target as HTMLElement).closest<HTMLElement>("a[data-path]");
  if (!link) return;
  event.preventDefault();
  const { path, line, column } = link.dataset;
  post({
    kind: "open", path: path!, ...line && { line: Number(line) },
    ...column && { column: Number(column) },
  });
}

/** Arrow keys move between items; Escape goes back to where prompts are written. */
function walk(event: KeyboardEvent): void {
  const target = event.target as HTMLElement;
  if (event.key === "Escape") return document.getElementById("text")?.focus();
  const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  if (!step || event.ctrlKey || event.altKey || target.closest("pre, input, textarea")) return;
  const all = [...document.querySelectorAll<HTMLElement>("#list .item:not([hidden])")];
  const at = all.indexOf(target.closest<HTMLElement>(".item")!);
  const next = at < 0 ? all.at(-1) : all[at + step];
  if (!next) return;
  event.preventDefault();
  // What opens is what takes the keys.
  (next.matches("details") ? next.querySelector("summary")!
    : next.querySelector<HTMLElement>("button.toggle") ?? next).focus();
}
