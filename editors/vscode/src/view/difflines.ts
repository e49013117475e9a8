// The lines of a unified diff, with what each is and the file that it is in.

export interface Row { kind: "added" | "removed" | "same" | "place"; text: string; file: string }

/** The rows of a diff. Headers of its only file are left out: the row above it names it. */
export function rows(diff: string): Row[] {
  const lines = diff.split("\n"), found: Row[] = [];
  const many = lines.filter((line) => line.startsWith("+++ ")).length > 1;
  let file = "", hunks = 0;
  for (const [at, text] of lines.entries()) {
    const header = text.startsWith("--- ") && lines[at + 1]?.startsWith("+++ ");
    if (header || (text.startsWith("+++ ") && lines[at - 1]?.startsWith("--- "))) {
      const name = text.slice(4).replace(/^[ab]\//, "");
      if (name !== "/dev/null") file = name;
      if (!header && many) found.push({ kind: "place", text: file, file });
      hunks = 0;
      continue;
    }
    const [, line] = /^@@ -\d+(?:,\d+)? \+(\d+)/.exec(text) ?? [];
    if (line) {
      hunks += 1;
      found.push({ kind: "place", text: `${hunks > 1 ? "⋯ " : ""}line ${line}`, file });
      continue;
    }
    const kind = text.startsWith("+") ? "added" : text.startsWith("-") ? "removed" : "same";
    found.push({ kind, text, file });
  }
  return found;
}
