// The list of items, in groups: of what is far out of sight only the height is kept, so that a long
// conversation costs as much as what is near.
import { Component } from "preact";
import { ItemView } from "./items.tsx";
import type { Item } from "./store.ts";

/** Items of a group, and groups at the end that are always drawn. Pixels that are near. */
const GROUP = 20, NEAR = 2, MARGIN = "1500px";
/** Pixels of an item that was never drawn. */
const HEIGHT = 45;

/** `waiting`: the tool calls whose card is shown, so that their row is not. */
export function List({ items, waiting }: { items: Item[]; waiting: Set<string> }) {
  const groups: Item[][] = [];
  for (let at = 0; at < items.length; at += GROUP) groups.push(items.slice(at, at + GROUP));
  return <>
    {groups.map((group, at) => <Group key={group[0]!.key} items={group} waiting={waiting}
      last={at >= groups.length - NEAR} />)}
  </>;
}

interface Props { items: Item[]; waiting: Set<string>; last: boolean }
/** `height`: of a group that is not drawn. */
interface Drawn { height?: number }

const hides = (waiting: Set<string>, { body }: Item): boolean =>
  body.kind === "tool" && waiting.has(`ask-${body.tool.id}`);

/** Tells groups when they come near and when they are far. */
const groups = new Map<Element, Group>();
let observer: IntersectionObserver | undefined;

function observe(element: Element, group: Group): void {
  observer ??= new IntersectionObserver((entries) => {
    for (const { target, isIntersecting, boundingClientRect } of entries) {
      groups.get(target)?.moved(isIntersecting, boundingClientRect.height);
    }
  }, { root: document.getElementById("log"), rootMargin: `${MARGIN} 0px` });
  groups.set(element, group);
  observer.observe(element);
}

class Group extends Component<Props, Drawn> {
  /** What comes all at once, such as an earlier session, is drawn when it is near. */
  override state: Drawn = this.props.last ? {} : { height: this.props.items.length * HEIGHT };
  /** What was drawn: the items' keys and versions, and which of them are hidden. */
  private drawn = "";
  private element: HTMLDivElement | null = null;

  override componentDidMount() {
    observe(this.element!, this);
  }

  override componentDidUpdate({ last }: Props) {
    // It may have left long before it could go.
    if (!last || this.props.last) return;
    observer?.unobserve(this.element!);
    observer?.observe(this.element!);
  }

  override componentWillUnmount() {
    observer?.unobserve(this.element!);
    groups.delete(this.element!);
  }

  /** Where the keys are, nothing goes. */
  moved(near: boolean, height: number): void {
    const keeps = this.props.last || this.element!.contains(document.activeElement);
    if (near && this.state.height !== undefined) this.setState({ height: undefined });
    else if (!near && !keeps && height > 0 && this.state.height === undefined) {
      this.setState({ height });
    }
  }

  private print({ items, waiting, last }: Props, { height }: Drawn): string {
    const state = (item: Item): string =>
      `${item.key}.${item.version}${hides(waiting, item) ? "h" : ""}`;
    return height !== undefined && !last ? `${height}`
      : `${last} ${items.map(state).join(" ")}`;
  }

  override shouldComponentUpdate(next: Props, state: Drawn) {
    return this.print(next, state) !== this.drawn;
  }

  override render(props: Props, { height }: Drawn) {
    this.drawn = this.print(props, { height });
    const { items, waiting, last } = props, far = height !== undefined && !last;
    return <div class="group" ref={(it) => void (this.element = it ?? this.element)}
      style={far ? { height: `${height}px` } : { height: "" }}>
      {!far && items.map((item) => <ItemView key={item.key} item={item} version={item.version}
        hidden={hides(waiting, item)} />)}
    </div>;
  }
}
