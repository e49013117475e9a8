// What an empty conversation shows: three prompts to begin with, or what is missing for one.
import { useRef } from "preact/hooks";
import { PROVIDERS, type Attachment, type Setup } from "../messages.ts";
import { post } from "./host.ts";
import { Icon } from "./parts.tsx";
import type { Store } from "./store.ts";

export function Start({ store: { setup, state } }: { store: Store }) {
  if (setup?.missing) return <Missing words={setup.missing} />;
  if (setup?.keyless) return <Key {...setup} />;
  return setup ? <Examples active={state?.active} /> : null;
}

function Missing({ words }: { words: string }) {
  return <section class="start" aria-label="The server is missing">
    <h2><Icon name="debug-disconnect" /> Interline's server is not running</h2>
    <p>{words.slice(0, 1).toUpperCase() + words.slice(1)}</p>
    <p class="quiet">It is the program <code>interline</code> on the machine that runs your
      extensions, which may be a remote one. Build it with <code>cargo install --path .</code></p>
    <div class="buttons">
      <button type="button" class="main" id="setPath"
        onClick={() => post({ kind: "run", command: "interline.setPath" })}>Set Path…</button>
      <button type="button"
        onClick={() => post({ kind: "run", command: "interline.restart" })}>Try Again</button>
    </div>
  </section>;
}

function Key({ providers, trial }: Setup) {
  const provider = useRef<HTMLSelectElement>(null), secret = useRef<HTMLInputElement>(null);
  const save = (event: SubmitEvent): void => {
    event.preventDefault();
    const given = secret.current!.value.trim();
    if (given) post({ kind: "key", provider: provider.current!.value, secret: given });
  };
  return <section class="start" aria-label="Add an API key">
    <h2><Icon name="key" /> Add an API key to start</h2>
    <form id="key" onSubmit={save}>
      <label>Provider
        <select ref={provider}>
          {providers.map((name) => <option value={name}>{PROVIDERS[name] ?? name}</option>)}
        </select>
      </label>
      <label>API key
        <input ref={secret} type="password" autocomplete="off" spellcheck={false} />
      </label>
      <button class="main" disabled={trial?.testing === true}>
        {trial?.testing ? <><Icon name="loading" spin /> Testing…</> : "Test and Save"}
      </button>
    </form>
    {trial?.refused && <p class="note error" role="alert">
      <Icon name="error" /> {trial.refused}</p>}
    <p class="quiet">The key is kept in VS Code's secret store. Keys in the environment and of
      {" "}<code>interline login</code> are used too. A model on your own machine is a provider in
      the setting <code>interline.providers</code>; it may need no key.</p>
  </section>;
}

/** Prompts to begin with, about the file that is open. */
function prompts(active: Attachment | undefined): string[] {
  const name = active?.label.replace(/:\d+(-\d+)?$/, "");
  return name ? [`Explain ${name}`, `Find bugs in ${name}`, `Write tests for ${name}`]
    : ["Explain this project", "Find a bug worth fixing", "Summarise what changed recently"];
}

function Examples({ active }: { active: Attachment | undefined }) {
  const attachments = active ? [active] : [];
  return <section class="start" aria-label="Start">
    <h2><Icon name="sparkle" /> Ask about your code, or say what to change</h2>
    <p class="quiet">Edits land in your open files, each as one undo step, also while you type.</p>
    <ul>{prompts(active).map((text) => <li>
      <button type="button" class="example"
        onClick={() => post({ kind: "send", text, attachments })}>{text}</button>
    </li>)}</ul>
    <button type="button" class="link"
      onClick={() => post({ kind: "run", command: "interline.walkthrough" })}>
      Open the walkthrough
    </button>
  </section>;
}
