// The conversation: one component for each kind of item. An item is drawn again only when it
// changed itself.
import { Component } from "preact";
import { useEffect, useState } from "preact/hooks";
import { prose, visible } from "../messages.ts";
import { post } from "./host.ts";
import { Counts, ToolRow } from "./tool.tsx";
import { duration, Icon, IconButton, useOpen, Words } from "./parts.tsx";
import type { Body, Item } from "./store.ts";
import { Text } from "./text.tsx";

type Of<K extends Body["kind"]> = Body & { kind: K };
interface Props { item: Item; version: number; hidden: boolean }

/** Draws an item again, where it is shown. */
const shown = new Map<Item, () => void>();
export const redraw = (item: Item): void => shown.get(item)?.();

export class ItemView extends Component<Props> {
  private drawn = -1;

  override componentDidMount() {
    const { item } = this.props;
    shown.set(item, () => {
      if (this.drawn !== item.version) this.forceUpdate();
    });
  }

  override componentWillUnmount() {
    shown.delete(this.props.item);
  }

  override shouldComponentUpdate({ item, hidden }: Props) {
    return item.version !== this.drawn || hidden !== this.props.hidden;
  }

  override render({ item, hidden }: Props) {
    this.drawn = item.version;
    return draw(item.body, hidden);
  }
}

function draw(body: Body, hidden: boolean) {
  switch (body.kind) {
    case "turn": return <Turn body={body} />;
    case "text": return <div class="item text" tabIndex={-1}><Text source={body.source} /></div>;
    case "thought": return <Thought body={body} />;
    case "tool": return <ToolRow {...body} hidden={hidden} />;
    case "note":
      return <div class={`item note${body.failed ? " error" : ""}`} tabIndex={-1}>
        <Words text={body.text} />
      </div>;
    case "error": return <Failure body={body} />;
    case "retry": return <Retry body={body} />;
    case "row": return <Action body={body} />;
    case "files": return <Files body={body} />;
  }
}

function Turn({ body: { id, text, chips, label } }: { body: Of<"turn"> }) {
  const act = (what: string) => () => post({ kind: "act", id: `${what} ${id}` });
  return <div class="item turn" tabIndex={-1}>
    <div class="head">
      <h2 class="who">{label ? `You, in ${label}` : "You"}</h2><span class="gap" />
      <span class="acts">
        <IconButton icon="edit" label="Edit and send again, in a copy of the session"
          onClick={act("edit")} />
        <IconButton icon="repo-forked" label="Fork the session before this prompt"
          onClick={act("fork")} />
        <IconButton icon="copy" label="Copy" onClick={() => post({ kind: "copy", text })} />
      </span>
    </div>
    <div class="prompt">
      {chips.length > 0 && <div class="chips">
        {chips.map((chip) => <span class="chip">{chip}</span>)}
      </div>}
      {prose(text)}
    </div>
  </div>;
}

function Thought({ body: { source, ms, live } }: { body: Of<"thought"> }) {
  const [open, setOpen] = useOpen(source);
  const known = ms !== undefined && ms >= 500;
  const words = live ? "Thinking…" : known ? `Thought for ${duration(ms)}` : "Thought";
  return <details class="item thought" tabIndex={-1} open={open}
    onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
    <summary><Icon name="chevron-right" />{words}</summary>
    {open && <div class="inner"><Text source={source} /></div>}
  </details>;
}

const REMEDIES = { setKey: "Set API Key", retry: "Try Again" };

function Failure({ body: { text, hint, remedy, turn } }: { body: Of<"error"> }) {
  const keyless = remedy === "setKey";
  const act = (): void => post(keyless ? { kind: "run", command: "interline.setKey" }
    : { kind: "act", id: `again ${turn}` });
  return <div class="item failure" role="alert" tabIndex={-1}>
    <Icon name="error" /><div>
      <div class="what"><Words text={text} /></div>
      {hint && !keyless && <div class="quiet"><Words text={hint} /></div>}
      {remedy && <button type="button" class="main" onClick={act}>{REMEDIES[remedy]}</button>}
      {hint && keyless && <details>
        <summary class="quiet"><Icon name="chevron-right" /> Other ways</summary>
        <Words text={hint} />
      </details>}
    </div>
  </div>;
}

/** One line that counts down until the request is sent again. */
function Retry({ body: { text, until } }: { body: Of<"retry"> }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, []);
  const left = Math.ceil((until - now) / 1000);
  return <div class="item note retry" tabIndex={-1}>
    <Icon name="loading" spin /> {text} {left > 0 ? `Retrying in ${left} s.` : "Retrying…"}
    {left > 0 && <>{" "}<button type="button" class="link" onClick={() => post({ kind: "retry" })}>
      Retry now
    </button></>}
  </div>;
}

function Action({ body: { id, text, label } }: { body: Of<"row"> }) {
  const act = (): void => post({ kind: "act", id });
  return <div class="item note" tabIndex={-1}>
    {label ? <>{text && `${visible(text)} `}<button type="button" onClick={act}>{label}</button></>
      : <button type="button" class="link" onClick={act}>{visible(text)}</button>}
  </div>;
}

function Files({ body: { turn, files } }: { body: Of<"files"> }) {
  const sum = (key: "added" | "removed"): number => files.reduce((all, it) => all + it[key], 0);
  const act = (what: string) => () => post({ kind: "act", id: `${what} ${turn}` });
  return <div class="item files" tabIndex={-1}>
    <div class="head">
      <span>{files.length === 1 ? "1 file changed" : `${files.length} files changed`}</span>
      <Counts added={sum("added")} removed={sum("removed")} />
      <span class="gap" />
      <button type="button" class="link" onClick={act("keep")}>Keep</button>
      <button type="button" class="link" onClick={act("undo")}>Undo</button>
    </div>
    {files.map(({ id, name, added, removed }) =>
      <button type="button" class="link file" title={name}
        onClick={() => post({ kind: "act", id })}>
        {`Changed ${visible(name)} (`}<span class="plus">+{added}</span>
        {" "}<span class="minus">−{removed}</span>)
      </button>)}
  </div>;
}
