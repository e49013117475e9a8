// A text of the model: Markdown in blocks, of which only the last is rendered again as it grows.
import { Component } from "preact";
import { mend, type Block, type Source } from "./blocks.ts";
import { colour } from "./code.ts";
import { post } from "./host.ts";
import { render } from "./markdown.ts";
import { IconButton } from "./parts.tsx";

/** Lines of code that are coloured together. */
const PIECE = 100;
const DEFINES = /^ {0,3}\[[^\]]+\]:\s/m;

export function Text({ source }: { source: Source }) {
  const { blocks, env } = source;
  const defines = source.done && blocks.some(({ text }) => DEFINES.test(text));
  // The addresses at the end of a text are for links before it.
  if (defines) for (const { kind, text } of blocks) if (kind === "text") render(text, env);
  return <>
    {blocks.map((block, at) => block.kind === "code" ? <Code key={at} block={block} />
      : <Prose key={defines ? -1 - at : at} block={block} env={env} />)}
  </>;
}

const same = (a: Block, b: Block): boolean =>
  a === b
  || (a.text === b.text && a.open === b.open && a.lang === b.lang && a.path === b.path);

class Prose extends Component<{ block: Block; env: Source["env"] }> {
  override shouldComponentUpdate({ block }: { block: Block }) {
    return !same(block, this.props.block);
  }

  override render({ block, env }: { block: Block; env: Source["env"] }) {
    const __html = render(block.open ? mend(block.text) : block.text, env);
    const look = `md${block.joined ? " joined" : ""}`;
    return <div class={look} dangerouslySetInnerHTML={{ __html }} />;
  }
}

class Code extends Component<{ block: Block }> {
  override shouldComponentUpdate({ block }: { block: Block }) {
    return !same(block, this.props.block);
  }

  override render({ block: { text, lang = "", path, open } }: { block: Block }) {
    const lines = text.split(/(?<=\n)/), pieces: string[] = [];
    for (let at = 0; at < lines.length; at += PIECE) {
      pieces.push(lines.slice(at, at + PIECE).join(""));
    }
    return <div class="code" role="group" aria-label={`Code ${lang}`.trim()}>
      <div class="bar">
        <span class="lang">{path ?? lang}</span>
        <IconButton icon="copy" label="Copy" onClick={() => post({ kind: "copy", text })} />
        <IconButton icon="insert" label="Insert at cursor"
          onClick={() => post({ kind: "insert", text })} />
        {!open && <IconButton icon="git-pull-request-go-to-changes"
          label={path ? `Apply to ${path}` : "Apply to the active file"}
          onClick={() => post({ kind: "apply", text, ...path && { path } })} />}
      </div>
      <pre tabIndex={0}><code>
        {pieces.map((piece, at) => <Piece key={at} text={piece} lang={lang} />)}
      </code></pre>
    </div>;
  }
}

interface Coloured { text: string; lang: string }

class Piece extends Component<Coloured> {
  override shouldComponentUpdate({ text, lang }: Coloured) {
    return text !== this.props.text || lang !== this.props.lang;
  }

  override render({ text, lang }: Coloured) {
    return <span dangerouslySetInnerHTML={{ __html: colour(text, lang) }} />;
  }
}
