// The text after a unified diff. Pure: knows nothing of the editor.
const PLACE = /^@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@/;

/** The text with the diff's changes, or undefined where it does not fit. */
export function patched(text: string, diff: string): string | undefined {
  const old = text.split(/(?<=\n)/), lines = diff.split("\n"), made: string[] = [];
  let from = 0, hunk = false;
  for (const [at, line] of lines.entries()) {
    const [, start, count] = PLACE.exec(line) ?? [];
    if (start) {
      // A hunk without old lines names the line before it.
      const first = Number(start) - (count === "0" ? 0 : 1);
      if (first < from || first > old.length) return undefined;
      made.push(...old.slice(from, first));
      [from, hunk] = [first, true];
      continue;
    }
    if (!hunk || line.startsWith("\\") || (line === "" && at === lines.length - 1)) continue;
    const sign = line[0] ?? " ", rest = line.slice(1);
    if (sign === "+") {
      made.push(lines[at + 1]?.startsWith("\\") ? rest : `${rest}\n`);
      continue;
    }
    if (old[from]?.replace(/\r?\n$/, "") !== rest.replace(/\r$/, "")) return undefined;
    if (sign !== "-") made.push(old[from]!);
    from += 1;
  }
  return hunk ? [...made, ...old.slice(from)].join("") : undefined;
}
