// What is told to the server at most some times a second, and at once before a prompt.
import type { Disposable } from "vscode";

/** ms for which it is gathered. */
const PAUSE = 200;

export class Gathered implements Disposable {
  protected readonly subscriptions: Disposable[] = [];
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly send: () => void) {}

  protected later(): void {
    this.timer ??= setTimeout(() => this.flush(), PAUSE);
  }

  flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.send();
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.subscriptions.forEach((each) => each.dispose());
  }
}
