// The sessions that a window has open for a folder, in their order. Pure.

export class Tabs {
  private readonly open = new Map<string, string[]>();

  of(folder: string): string[] {
    return this.open.get(folder) ?? [];
  }

  set(folder: string, ids: string[]): void {
    this.open.set(folder, [...new Set(ids)]);
  }

  /** Shows a session: in a tab of its own, or in place of `old`. */
  put(folder: string, id: string, old?: string): void {
    const ids = this.of(folder);
    if (ids.includes(id)) return;
    const at = old === undefined ? -1 : ids.indexOf(old);
    this.set(folder, at < 0 ? [...ids, id] : ids.toSpliced(at, 1, id));
  }

  /** Closes a tab; gives the one that is beside it. */
  close(folder: string, id: string): string | undefined {
    const ids = this.of(folder), at = ids.indexOf(id), left = ids.filter((each) => each !== id);
    this.set(folder, left);
    return left[Math.min(at, left.length - 1)];
  }
}
