// What is sent at most some times a second, or at once where something waits for it.

/** Calls `send` within `pause` ms after the first `later`. */
export function gathered(pause: number, send: () => void) {
  let timer: NodeJS.Timeout | undefined;
  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    send();
  };
  return { flush, later: () => void (timer ??= setTimeout(flush, pause)) };
}
