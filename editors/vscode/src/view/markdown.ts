// Markdown to HTML. HTML in the text is text, pictures are their words, and a link is a page on the
// web, a file of the workspace, or inert.
import MarkdownIt, { type Env, type Token } from "markdown-it";
import { colour, escape } from "./code.ts";

/** Where a path and what follows it point to. */
export interface Place { path: string; line?: number; column?: number }

/** `src/a.ts:3:1`; `a.ts` alone is a word of a sentence, so text needs the line. */
const PATH = String.raw`(?:[\w@.~+-]+\/|\/)*[\w@.+-]+\.[A-Za-z]\w{0,9}`;
const IN_TEXT = new RegExp(String.raw`(?<![\w/:.@-])(${PATH}):(\d+)(?::(\d+))?(?!\w)`, "g");
const ALONE = new RegExp(String.raw`^(${PATH})(?::(\d+)(?::(\d+))?|#L(\d+)(?:-L?\d+)?)?$`);
const WEB = /^(https?|mailto):/i, SCHEME = /^[a-z][a-z0-9+.-]*:(?!\d)/i;

/** The place that a text is, if it is one and nothing else. */
export function place(text: string): Place | undefined {
  const [, path, line, column, anchor] = ALONE.exec(text) ?? [];
  if (!path) return undefined;
  const number = line ?? anchor;
  return { path, ...number && { line: Number(number) }, ...column && { column: Number(column) } };
}

const attributes = ({ path, line, column }: Place): string =>
  `class="file" href="#" data-path="${escape(path)}" title="${escape(path)}"`
  + (line ? ` data-line="${line}"` : "") + (column ? ` data-column="${column}"` : "");

const md = new MarkdownIt({ html: false, linkify: true, breaks: true });
// Words such as `main.rs` are no addresses.
md.linkify.set({ fuzzyLink: false, fuzzyEmail: false });
md.validateLink = (url) => !/^\s*(javascript|vbscript|data):/i.test(url);

/** Text that holds places, outside of links, becomes a token of its own; boxes of tasks too. */
md.core.ruler.push("places", ({ tokens, Token }) => {
  for (const [at, token] of tokens.entries()) {
    if (token.type !== "inline") continue;
    let depth = 0;
    for (const child of token.children ?? []) {
      if (child.type === "link_open") depth += 1;
      if (child.type === "link_close") depth -= 1;
      if (depth > 0 && child.type === "code_inline") child.type = "code_linked";
      if (depth === 0 && child.type === "text" && child.content.search(IN_TEXT) >= 0) {
        child.type = "places";
      }
    }
    const first = token.children?.[0], item = tokens[at - 2];
    const [box, mark] = /^\[([ xX])\] /.exec(first?.content ?? "") ?? [];
    if (!box || first?.type !== "text" || item?.type !== "list_item_open") continue;
    first.content = first.content.slice(box.length);
    const task = new Token("task", "", 0);
    task.meta = { done: mark !== " " };
    token.children!.unshift(task);
    item.attrJoin("class", "task");
  }
});

const { rules } = md.renderer;
rules["places"] = (tokens, at) => {
  let html = "", from = 0;
  const { content } = tokens[at]!;
  for (const { 0: whole, 1: path, 2: line, 3: column, index } of content.matchAll(IN_TEXT)) {
    const to = { path: path!, line: Number(line), ...column && { column: Number(column) } };
    html += `${escape(content.slice(from, index))}<a ${attributes(to)}>${escape(whole)}</a>`;
    from = index + whole.length;
  }
  return html + escape(content.slice(from));
};
rules["task"] = (tokens, at) => {
  const done = tokens[at]!.meta?.["done"] === true;
  const icon = done ? "pass-filled" : "circle-large-outline";
  const label = done ? "done" : "not done";
  return `<span class="codicon codicon-${icon}" role="img" aria-label="${label}"></span> `;
};
rules["code_linked"] = (tokens, at) => `<code>${escape(tokens[at]!.content)}</code>`;
rules["code_inline"] = (tokens, at) => {
  const { content } = tokens[at]!, found = place(content);
  const shown = `<code>${escape(content)}</code>`;
  return found ? `<a ${attributes(found)}>${shown}</a>` : shown;
};
rules["link_open"] = (tokens, at) => {
  const href = `${tokens[at]!.attrGet("href") ?? ""}`;
  if (WEB.test(href)) return `<a href="${escape(href)}" title="${escape(href)}">`;
  const found = target(href);
  return found ? `<a ${attributes(found)}>` : "<a>";
};
rules["image"] = (tokens, at) => {
  const { content } = tokens[at]!, src = `${tokens[at]!.attrGet("src") ?? ""}`;
  return WEB.test(src) ? `<a href="${escape(src)}">${escape(content || src)}</a>` : escape(content);
};
rules["fence"] = rules["code_block"] = (tokens, at) => {
  const { content, info } = tokens[at]!, [lang] = info.trim().split(/\s+/);
  return `<pre class="block"><code>${colour(content, lang)}</code></pre>`;
};
rules["table_open"] = () => '<div class="table" tabindex="0"><table>';
// The content policy has no styles of elements.
rules["th_open"] = (tokens, at) => `<th${side(tokens[at]!)}>`;
rules["td_open"] = (tokens, at) => `<td${side(tokens[at]!)}>`;
function side(token: Token): string {
  const [, found] = /(right|center)/.exec(`${token.attrGet("style") ?? ""}`) ?? [];
  return found ? ` class="${found}"` : "";
}
rules["table_close"] = () => "</table></div>";
// The page's own headings come first.
rules["heading_open"] = (tokens, at) => `<${level(tokens[at]!.tag)}>`;
rules["heading_close"] = (tokens, at) => `</${level(tokens[at]!.tag)}>`;
const level = (tag: string): string => `h${Math.min(Number(tag[1]) + 2, 6)}`;

/** The file that a link without a page leads to. */
function target(href: string): Place | undefined {
  const plain = decode(href.replace(/^file:\/\//i, ""));
  if (!plain || SCHEME.test(plain) || plain.startsWith("#")) return undefined;
  const [, path, anchor, line] = /^([^#]*?)(?:#L?(\d+).*|:(\d+)(?::\d+)?)?$/.exec(plain) ?? [];
  const number = anchor ?? line;
  return path ? { path, ...number && { line: Number(number) } } : undefined;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** `env` keeps the addresses that the other blocks of the same text define. */
export function render(text: string, env: Env = {}): string {
  return md.render(text, env);
}
