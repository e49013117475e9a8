// Where prompts are written: the field, what is attached, the list that completes `@` and `/`,
// prompts that wait, and what the session runs with.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Attachment, Offer, State } from "../messages.ts";
import { editor, post } from "./host.ts";
import { Offers } from "./offers.tsx";
import { Icon, IconButton } from "./parts.tsx";
import { Recall } from "./recall.ts";
import type { Store } from "./store.ts";
import { Tools } from "./toolbar.tsx";

/** The field grows to this many lines. Bytes of a picture, at most. */
const LINES = 8, PICTURE = 5_000_000;

const ICONS: Record<Attachment["kind"], string> = {
  file: "file", selection: "selection", symbol: "symbol-method", problems: "warning", diff: "diff",
  terminal: "terminal", image: "file-media",
};

interface Kept { draft?: string; prompts?: string[] }
const kept = (): Kept => (editor.getState() ?? {}) as Kept;
const recall = new Recall(kept().prompts ?? []);
let asked = 0;

export function Composer({ store }: { store: Store }) {
  const { busy, restored, state, completed } = store;
  const field = useRef<HTMLTextAreaElement>(null);
  const [attached, setAttached] = useState<Attachment[]>([]);
  const [chosen, setChosen] = useState(0);
  const [, again] = useState({});
  const offers = completed?.n === asked ? completed.offers : [];
  const changed = (): void => {
    fit(field.current!);
    editor.setState({ ...kept(), draft: field.current!.value });
  };
  const put = (text: string): void => {
    field.current!.value = text;
    changed();
  };
  const complete = (): void => {
    const { value, selectionStart: offset } = field.current!;
    setChosen(0);
    again({});
    asked += 1;
    const wants = /(^|\s)@[^\s@]*$|^\/\S*$/.test(value.slice(0, offset));
    if (wants) post({ kind: "complete", n: asked, text: value, offset });
  };
  const attach = (...more: Attachment[]): void => setAttached((all) => {
    const known = (it: Attachment): boolean =>
      it.kind !== "image" && all.some(({ kind, label }) => kind === it.kind && label === it.label);
    return [...all, ...more.filter((each) => !known(each))];
  });
  const take = ({ insert = "", attach: attachment, command }: Offer): void => {
    const it = field.current!, start = completed?.start ?? 0;
    it.setRangeText(insert, start, it.selectionStart, "end");
    changed();
    if (attachment) attach(attachment);
    if (command) post({ kind: "run", command });
    complete();
    it.focus();
  };
  const send = (steer = false): void => {
    const text = field.current!.value;
    if (!text.trim() && attached.length === 0) return;
    post({ kind: "send", text, attachments: attached, steer });
    recall.add(text);
    editor.setState({ prompts: recall.prompts });
    setAttached([]);
    put("");
    complete();
  };
  useEffect(() => put(kept().draft ?? ""), []);
  useEffect(() => {
    if (restored.length === 0) return;
    put([field.current!.value, ...restored.splice(0)].filter(Boolean).join("\n"));
  });
  useEffect(() => attach(...store.attached.splice(0)), [store.attached.length]);
  useEffect(() => {
    // Who comes here by keys wants to write; who clicks on something keeps it.
    const focus = (): void => {
      if (document.activeElement === document.body) field.current!.focus();
    };
    window.addEventListener("focus", focus);
    return () => window.removeEventListener("focus", focus);
  }, []);
  const key = (event: KeyboardEvent): void => {
    const it = field.current!, { key } = event;
    if (event.isComposing) return;
    if (offers.length > 0 && completes(event)) return;
    if (key === "Enter" && !event.shiftKey) send();
    else if (key === "Enter" && (event.ctrlKey || event.metaKey)) send(true);
    else if (key === "ArrowUp" || key === "ArrowDown") {
      const text = recall.step(key === "ArrowUp" ? -1 : 1, it.value, it.selectionStart);
      if (text === undefined) return;
      put(text);
    } else return;
    event.preventDefault();
  };
  const completes = (event: KeyboardEvent): boolean => {
    const { key } = event, step = key === "ArrowDown" ? 1 : key === "ArrowUp" ? -1 : 0;
    if (step) setChosen((chosen + step + offers.length) % offers.length);
    else if (key === "Tab" || (key === "Enter" && !event.shiftKey)) take(offers[chosen]!);
    else if (key === "Escape") {
      asked += 1;
      again({});
    } else return false;
    event.preventDefault();
    return true;
  };
  const images = (files: Iterable<File>): boolean => {
    const found = [...files].filter(({ type, size }) =>
      type.startsWith("image/") && size <= PICTURE);
    for (const file of found) void picture(file).then((image) => attach(image));
    return found.length > 0;
  };
  return <form id="form" onSubmit={(event) => {
    event.preventDefault();
    send();
  }} onDragOver={(event) => event.preventDefault()} onDrop={(event) => {
    event.preventDefault();
    const { files, ...data } = dropped(event);
    if (!images(files) && data.uris.length > 0) post({ kind: "dropped", uris: data.uris });
  }}>
    <Queue state={state} />
    <div class="field">
      {offers.length > 0 && <Offers offers={offers} chosen={chosen} take={take} />}
      <Attached attached={attached} state={state} attach={attach}
        remove={(at) => setAttached((all) => all.filter((_, place) => place !== at))} />
      <textarea id="text" ref={field} rows={1} aria-label="Prompt" aria-autocomplete="list"
        aria-controls={offers.length > 0 ? "offers" : undefined}
        aria-activedescendant={offers.length > 0 ? `offer${chosen}` : undefined}
        placeholder="Ask, @ for context, / for commands"
        onInput={() => {
          changed();
          complete();
        }} onKeyDown={key} onBlur={() => offers.length > 0 && setChosen(0)}
        onPaste={(event) => {
          if (images(event.clipboardData?.files ?? [])) event.preventDefault();
        }} />
      <Tools state={state} busy={busy} send={send} images={images} />
    </div>
  </form>;
}

function fit(it: HTMLTextAreaElement): void {
  it.style.height = "auto";
  const line = parseFloat(getComputedStyle(it).lineHeight) || 18;
  it.style.height = `${Math.min(it.scrollHeight, LINES * line + 12)}px`;
}

function dropped({ dataTransfer }: DragEvent): { files: File[]; uris: string[] } {
  const uris = (dataTransfer?.getData("text/uri-list") ?? "").split(/\r?\n/);
  return { files: [...dataTransfer?.files ?? []], uris: uris.filter((it) => /^[a-z-]+:/.test(it)) };
}

async function picture(file: File): Promise<Attachment> {
  const url = await new Promise<string>((done, fail) => {
    const reader = new FileReader();
    reader.onload = () => done(reader.result as string);
    reader.onerror = () => fail(reader.error);
    reader.readAsDataURL(file);
  });
  const data = url.slice(url.indexOf(",") + 1), label = file.name || "image";
  return { kind: "image", label, mimeType: file.type, data };
}

function Attached({ attached, state, attach, remove }: {
  attached: Attachment[]; state: State | undefined; attach: (it: Attachment) => void;
  remove: (at: number) => void;
}) {
  const active = state?.active, offered = active && !attached.some(({ label, kind }) =>
    label === active.label && kind === active.kind);
  if (attached.length === 0 && !offered) return null;
  return <div class="chips">
    {attached.map(({ kind, label, data, mimeType }, at) => <span class="chip" title={label}>
      {data ? <img src={`data:${mimeType};base64,${data}`} alt="" /> : <Icon name={ICONS[kind]} />}
      <span class="label">{label}</span>
      <IconButton icon="close" label={`Remove ${label}`} onClick={() => remove(at)} />
    </span>)}
    {offered && <button type="button" class="chip ghost" title={`Attach ${active.label}`}
      onClick={() => attach(active)}>
      <Icon name="add" /><span class="label">{active.label}</span>
    </button>}
  </div>;
}

/** Prompts that wait for their turn. */
function Queue({ state }: { state: State | undefined }) {
  if (!state?.queue.length) return null;
  return <ul id="queue" aria-label="Queued prompts">
    {state.queue.map(({ turn, text }) => <li key={turn}>
      <Icon name="clock" label="queued: runs after this turn" />
      <span class="label">{text}</span>
      <IconButton icon="edit" label="Edit" onClick={() => post({ kind: "editQueued", turn })} />
      <IconButton icon="debug-step-over" label="Send now: steers the running turn"
        onClick={() => post({ kind: "steerQueued", turn })} />
      <IconButton icon="trash" label="Remove" onClick={() => post({ kind: "dequeue", turn })} />
    </li>)}
  </ul>;
}
