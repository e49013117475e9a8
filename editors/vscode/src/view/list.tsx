// The list of items, in groups: what is out of sight is neither compared nor laid out again.
import { Component } from "preact";
import { ItemView } from "./items.tsx";
import type { Item } from "./store.ts";

/** Items of a group, and groups at the end that are always laid out. */
const GROUP = 20, NEAR = 2;

/** `waiting`: the tool calls whose card is shown, so that their row is not. */
export function List({ items, waiting }: { items: Item[]; waiting: Set<string> }) {
  const groups: Item[][] = [];
  for (let at = 0; at < items.length; at += GROUP) groups.push(items.slice(at, at + GROUP));
  return <>
    {groups.map((group, at) => <Group key={group[0]!.key} items={group} waiting={waiting}
      far={at < groups.length - NEAR} />)}
  </>;
}

interface Props { items: Item[]; waiting: Set<string>; far: boolean }

const hides = (waiting: Set<string>, { body }: Item): boolean =>
  body.kind === "tool" && waiting.has(`ask-${body.tool.id}`);

class Group extends Component<Props> {
  /** What was drawn: the items' keys and versions, and which of them are hidden. */
  private drawn = "";

  private print({ items, waiting, far }: Props): string {
    const state = (item: Item): string =>
      `${item.key}.${item.version}${hides(waiting, item) ? "h" : ""}`;
    return `${far} ${items.map(state).join(" ")}`;
  }

  override shouldComponentUpdate(next: Props) {
    return this.print(next) !== this.drawn;
  }

  override render(props: Props) {
    this.drawn = this.print(props);
    const { items, waiting, far } = props;
    return <div class={`group${far ? " far" : ""}`}>
      {items.map((item) => <ItemView key={item.key} item={item} version={item.version}
        hidden={hides(waiting, item)} />)}
    </div>;
  }
}
