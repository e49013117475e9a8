// Where prompts are written.
import { useEffect, useRef } from "preact/hooks";
import { post } from "./host.ts";
import { IconButton } from "./parts.tsx";

/** The field grows to this many lines. */
const LINES = 8;

export function Composer({ busy, restored }: { busy: boolean; restored: string[] }) {
  const field = useRef<HTMLTextAreaElement>(null);
  const fit = (): void => {
    const it = field.current!;
    it.style.height = "auto";
    const line = parseFloat(getComputedStyle(it).lineHeight) || 18;
    it.style.height = `${Math.min(it.scrollHeight, LINES * line + 12)}px`;
  };
  const given = restored.length;
  useEffect(() => {
    const it = field.current!;
    for (const text of restored.splice(0)) it.value = [it.value, text].filter(Boolean).join("\n");
    fit();
  }, [given]);
  useEffect(() => {
    // Who comes here by keys wants to write; who clicks on something keeps it.
    const focus = (): void => {
      if (document.activeElement === document.body) field.current!.focus();
    };
    window.addEventListener("focus", focus);
    return () => window.removeEventListener("focus", focus);
  }, []);
  const send = (): void => {
    const it = field.current!;
    if (it.value.trim()) post({ kind: "send", text: it.value });
    it.value = "";
    fit();
  };
  return <form id="form" onSubmit={(event) => {
    event.preventDefault();
    send();
  }}>
    <div class="field">
      <textarea id="text" ref={field} rows={1} aria-label="Prompt" placeholder="Ask Interline"
        onInput={fit} onKeyDown={(event) => {
          if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          send();
        }} />
      <div class="tools">
        <span class="gap" />
        <IconButton icon="debug-stop" label="Stop" id="stop" hidden={!busy}
          onClick={() => post({ kind: "cancel" })} />
        <IconButton icon="send" label="Send (Enter)" id="send" onClick={send} />
      </div>
    </div>
  </form>;
}
