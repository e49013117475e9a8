// Cards: what waits for the user's answer, with exactly what would happen.
import { useEffect, useRef, useState } from "preact/hooks";
import { STILL, visible, type Card, type CardButton } from "../messages.ts";
import { Diff } from "./diff.tsx";
import { post } from "./host.ts";
import { Icon, Words } from "./parts.tsx";

/** When the cards came to rest: what is clicked before was meant for another. */
let rests = 0;

/** `moved` counts the cards that came or went. */
export function Cards({ cards, moved }: { cards: Card[]; moved: number }) {
  const [still, setStill] = useState(true), seen = useRef(0);
  // In the same step as the cards themselves: no click comes between.
  if (seen.current !== moved) [seen.current, rests] = [moved, Infinity];
  useEffect(() => {
    if (moved === 0) return;
    setStill(false);
    const timer = setTimeout(() => {
      rests = performance.now();
      setStill(true);
    }, STILL);
    return () => clearTimeout(timer);
  }, [moved]);
  const waits = !still || rests === Infinity;
  return <section id="cards" aria-label="Waiting for your answer" aria-live="assertive"
    {...waits && { "aria-disabled": "true" }}>
    {cards.map((card) => <One key={card.id} card={card} />)}
  </section>;
}

function One({ card }: { card: Card }) {
  const { id, title, about, body, diff, buttons, freeText, opens, question } = card;
  const [rejects, setRejects] = useState<CardButton>();
  // Beside an answer in own words is the button for none.
  const none = freeText ? buttons.find(({ answer }) => answer === "") : undefined;
  const offered = buttons.filter((button) => button !== none);
  const own = useRef<HTMLTextAreaElement>(null);
  const answer = (answer: string, at: number, feedback?: string): void => {
    // When it was clicked, not when a busy view gets to it.
    if (at > rests) post({ kind: "answer", id, answer, ...feedback && { feedback } });
  };
  const press = (button: CardButton, at: number): void => {
    if (at <= rests) return;
    if (button.reason) setRejects(button);
    else answer(button.answer, at);
  };
  useEffect(() => {
    if (rejects) own.current?.focus();
  }, [rejects]);
  const keys = (event: KeyboardEvent): void => {
    if ((event.target as HTMLElement).tagName === "TEXTAREA") return;
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    const key = event.key.toUpperCase(), button = buttons.find((each) => each.key === key);
    if (!button) return;
    event.preventDefault();
    press(button, event.timeStamp);
  };
  const words = (): string => own.current?.value.trim() ?? "";
  return <div class={`card${question ? " question" : ""}`} id={id} role="group" aria-label={title}
    onKeyDown={keys} tabIndex={-1}>
    <strong class="title">
      <Icon name={question ? "comment-discussion" : "shield"} /> {visible(title)}
    </strong>
    {about && <div class={question ? "asked" : "about"}><Words text={about} /></div>}
    {body && (diff ? <Diff text={body} />
      : <pre tabIndex={0}>{visible(body).trimEnd()}</pre>)}
    {rejects ? <Reason own={own} send={(at) => answer(rejects.answer, at, words())}
      back={() => setRejects(undefined)} /> : <div class="buttons">
      {offered.map((button) => <Choice button={button} press={press} />)}
      {opens && <button type="button" class="link" onClick={() => post({ kind: "openDiff", id })}>
        Open diff
      </button>}
    </div>}
    {freeText && <div class="own">
      <textarea ref={own} rows={2} aria-label="Your answer" placeholder="Answer in your own words"
        onKeyDown={(event) => {
          if (!sends(event) || !words()) return;
          answer(words(), event.timeStamp);
        }} />
      <button type="button" onClick={(event) => words() && answer(words(), event.timeStamp)}>
        Answer
      </button>
      {none && <Choice button={none} press={press} />}
    </div>}
  </div>;
}

function Choice({ button, press }: {
  button: CardButton; press: (button: CardButton, at: number) => void;
}) {
  const { label, key, tooltip, primary, answer } = button;
  const look = primary ? "main" : answer ? "" : "link";
  return <button type="button" class={look} title={tooltip} data-key={key}
    aria-keyshortcuts={key} onClick={({ timeStamp }) => press(button, timeStamp)}>
    {visible(label)}
  </button>;
}

/** Words that go with a rejection. */
function Reason({ own, send, back }: {
  own: { current: HTMLTextAreaElement | null }; send: (at: number) => void; back: () => void;
}) {
  return <div class="own reason">
    <textarea ref={own} rows={2} aria-label="Why, or what to do instead"
      placeholder="What should it do instead? Enter rejects, also without words."
      onKeyDown={(event) => {
        if (event.key === "Escape") return back();
        if (sends(event)) send(event.timeStamp);
      }} />
    <button type="button" class="main" onClick={({ timeStamp }) => send(timeStamp)}>Reject</button>
    <button type="button" onClick={back}>Back</button>
  </div>;
}

function sends(event: KeyboardEvent): boolean {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return false;
  event.preventDefault();
  return true;
}
