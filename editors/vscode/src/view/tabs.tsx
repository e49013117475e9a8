// The open sessions of the folder, where there is more than one.
import type { Tab } from "../messages.ts";
import { post } from "./host.ts";
import { Icon, IconButton } from "./parts.tsx";

export function TabRow({ tabs }: { tabs: Tab[] }) {
  if (tabs.length < 2) return null;
  return <nav id="tabs" aria-label="Open sessions">
    <ul>{tabs.map((tab) => <One key={tab.id} {...tab} />)}</ul>
  </nav>;
}

function One({ id, title, current, running, unread }: Tab) {
  return <li class={current ? "current" : ""}>
    <button type="button" class="label" title={title} aria-current={current}
      onClick={() => current || post({ kind: "tab", id })}>
      {running ? <Icon name="loading" label="running" spin />
        : unread && <Icon name="circle-filled" label="not read" />}
      <span class="label">{title}</span>
    </button>
    <IconButton icon="close" label={`Close ${title}`}
      onClick={() => post({ kind: "closeTab", id })} />
  </li>;
}
