// What the session runs with, below the field: mode, model, agent, tokens and cost; Stop and Send.
import { useRef } from "preact/hooks";
import { facts, model as named, percent } from "../facts.ts";
import type { State } from "../messages.ts";
import { post } from "./host.ts";
import { Icon, IconButton } from "./parts.tsx";

const run = (command: string) => () => post({ kind: "run", command });

export function Tools({ state, busy, send, images }: {
  state: State | undefined; busy: boolean; send: (steer?: boolean) => void;
  images: (files: Iterable<File>) => boolean;
}) {
  const files = useRef<HTMLInputElement>(null);
  const { mode = "", model = "", agent, agents } = state ?? {};
  return <div class="tools">
    <input ref={files} type="file" accept="image/*" multiple hidden aria-label="Pictures"
      onChange={({ currentTarget }) => {
        images(currentTarget.files ?? []);
        currentTarget.value = "";
      }} />
    <IconButton icon="attach" label="Attach a picture"
      onClick={() => files.current!.click()} />
    <Picker id="mode" what="Mode" value={mode || "Mode"} command="interline.mode" />
    {agents && <Picker id="agent" what="Agent" value={agent ?? "no agent"}
      command="interline.agent" />}
    <Picker id="model" what="Model" value={named({ model }) || "Model"}
      title={model} command="interline.model" />
    <span class="gap" />
    <Use state={state} />
    <IconButton icon="debug-stop" label="Stop" id="stop" hidden={!busy}
      onClick={() => post({ kind: "cancel" })} />
    <IconButton icon="send" id="send" onClick={() => send()}
      label={busy ? "Queue (Enter); Ctrl+Shift+Enter steers the running turn" : "Send (Enter)"} />
  </div>;
}

function Picker({ id, what, value, title = value, command }: {
  id: string; what: string; value: string; title?: string; command: string;
}) {
  return <button type="button" id={id} class="picker" title={`${what}: ${title}`}
    aria-label={`${what}: ${title}`} onClick={run(command)}>
    <span class="label">{value}</span><Icon name="chevron-down" />
  </button>;
}

/** How much is in the model's context; the rest is in the tooltip. */
function Use({ state }: { state: State | undefined }) {
  if (!state) return null;
  const { context, trusted } = state, lines = facts(state);
  if (lines.length === 0) return null;
  return <button type="button" id="use" class="picker" title={lines.join("\n")}
    aria-label={[...context ? [`${percent(context)}% of the context`] : [], ...lines].join(". ")}
    onClick={run("interline.showPrompt")}>
    {trusted === false && <Icon name="workspace-untrusted" />}
    {context && <><Ring part={percent(context)} /><span>{percent(context)}%</span></>}
  </button>;
}

/** How full something is; red where little is left. */
function Ring({ part }: { part: number }) {
  return <svg class={`ring${part > 85 ? " full" : ""}`} viewBox="0 0 16 16" aria-hidden="true">
    <circle cx="8" cy="8" r="6" pathLength="100" />
    <circle class="part" cx="8" cy="8" r="6" pathLength="100" stroke-dasharray={`${part} 100`} />
  </svg>;
}
