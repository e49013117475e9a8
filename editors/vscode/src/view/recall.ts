// Earlier prompts, which the arrow keys bring back as in a shell.

/** Prompts that are kept. */
const MOST = 50;

export class Recall {
  private at: number;
  /** What was being written when the first of them was brought back. */
  private draft = "";

  constructor(readonly prompts: string[]) {
    this.at = prompts.length;
  }

  add(text: string): void {
    if (text.trim() && this.prompts.at(-1) !== text) this.prompts.push(text);
    this.prompts.splice(0, this.prompts.length - MOST);
    this.at = this.prompts.length;
  }

  /** The text a step away, or undefined where the key moves in the text that is there. */
  step(by: 1 | -1, text: string, cursor: number): string | undefined {
    const shown = this.prompts[this.at];
    if (text !== (shown ?? this.draft)) this.at = this.prompts.length;
    const browses = this.at < this.prompts.length;
    const edge = !(by < 0 ? text.slice(0, cursor) : text.slice(cursor)).includes("\n");
    const next = this.at + by;
    if (!edge || next < 0 || next > this.prompts.length) return undefined;
    if (!browses && text.trim() && cursor > 0) return undefined;
    if (!browses) this.draft = text;
    this.at = next;
    return this.prompts[next] ?? this.draft;
  }
}
