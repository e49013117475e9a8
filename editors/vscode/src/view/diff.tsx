// A unified diff with the colours of its file's language.
import { visible } from "../messages.ts";
import { colour, ofFile } from "./code.ts";
import { rows, type Row } from "./difflines.ts";

/** A diff with more lines is shown without the colours of its language. */
const COLOURED = 400;

export function Diff({ text }: { text: string }) {
  const all = rows(visible(text).trimEnd());
  const plain = all.length > COLOURED;
  return <pre class="diff" tabIndex={0}>
    {all.map((row, at) => <Line key={at} row={row} plain={plain} />)}
  </pre>;
}

function Line({ row: { kind, text, file }, plain }: { row: Row; plain: boolean }) {
  if (kind === "place") return <span class="place">{`${text}\n`}</span>;
  const [sign, rest] = [text.slice(0, 1), text.slice(1)];
  const __html = colour(rest, plain ? undefined : ofFile(file)) + "\n";
  return <span class={kind}>
    <span class="sign">{sign}</span><span dangerouslySetInnerHTML={{ __html }} />
  </span>;
}
