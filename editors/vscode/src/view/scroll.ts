// The place in the conversation: it follows the end only while the end is in sight.
import { useEffect, useRef, useState } from "preact/hooks";

/** Pixels from the end that are still the end. */
const NEAR = 24;

export interface Place {
  log: { current: HTMLElement | null };
  list: { current: HTMLDivElement | null };
  /** Whether the end is out of sight. */
  away: boolean;
  toEnd(): void;
}

export function usePlace(): Place {
  const log = useRef<HTMLElement>(null), list = useRef<HTMLDivElement>(null);
  const follows = useRef(true), last = useRef(0);
  const [away, setAway] = useState(false);
  const settle = (): void => {
    const { current: it } = log;
    if (!it) return;
    if (follows.current) it.scrollTop = it.scrollHeight;
    last.current = it.scrollTop;
  };
  const toEnd = (): void => {
    follows.current = true;
    setAway(false);
    settle();
  };
  useEffect(() => {
    const it = log.current!;
    const scrolled = (): void => {
      const left = it.scrollHeight - it.clientHeight - it.scrollTop;
      // Growth alone also leaves the end behind: only a move upwards is the user's.
      if (left <= NEAR) follows.current = true;
      else if (it.scrollTop < last.current) follows.current = false;
      last.current = it.scrollTop;
      setAway(!follows.current);
    };
    const sizes = new ResizeObserver(settle);
    sizes.observe(it);
    sizes.observe(list.current!);
    it.addEventListener("scroll", scrolled, { passive: true });
    return () => {
      sizes.disconnect();
      it.removeEventListener("scroll", scrolled);
    };
  }, []);
  return { log, list, away, toEnd };
}
