// Colours of code. A language's rules are compiled when the first block of it is shown.
import hljs from "highlight.js/lib/core";
import type { LanguageFn } from "highlight.js";
import bash from "highlight.js/lib/languages/bash";
import c from "highlight.js/lib/languages/c";
import cpp from "highlight.js/lib/languages/cpp";
import csharp from "highlight.js/lib/languages/csharp";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import dockerfile from "highlight.js/lib/languages/dockerfile";
import go from "highlight.js/lib/languages/go";
import ini from "highlight.js/lib/languages/ini";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import kotlin from "highlight.js/lib/languages/kotlin";
import lua from "highlight.js/lib/languages/lua";
import makefile from "highlight.js/lib/languages/makefile";
import markdown from "highlight.js/lib/languages/markdown";
import php from "highlight.js/lib/languages/php";
import python from "highlight.js/lib/languages/python";
import ruby from "highlight.js/lib/languages/ruby";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import swift from "highlight.js/lib/languages/swift";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";

const LANGUAGES: Record<string, LanguageFn> = {
  bash, c, cpp, csharp, css, diff, dockerfile, go, ini, java, javascript, json, kotlin, lua,
  makefile, markdown, php, python, ruby, rust, sql, swift, typescript, xml, yaml,
};
/** Names in fences, and extensions of files. */
const NAMES: Record<string, string> = {
  sh: "bash", zsh: "bash", shell: "bash", console: "bash", h: "c", cc: "cpp", cxx: "cpp",
  hpp: "cpp", cs: "csharp", scss: "css", less: "css", patch: "diff", toml: "ini", cfg: "ini",
  js: "javascript", jsx: "javascript", mjs: "javascript", cjs: "javascript", jsonc: "json",
  kt: "kotlin", make: "makefile", md: "markdown", py: "python", rb: "ruby", rs: "rust",
  ts: "typescript", tsx: "typescript", mts: "typescript", cts: "typescript", html: "xml",
  svg: "xml", vue: "xml", yml: "yaml", golang: "go",
};
/** Longer lines are shown without colours: minified files cost seconds. */
const WIDEST = 2_000;

const escapes: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
export const escape = (text: string): string => text.replace(/[&<>"]/g, (c) => escapes[c]!);

/** The language of a fence or of a file's extension, if it is one of ours. */
export function language(name: string): string | undefined {
  const key = name.toLowerCase(), found = NAMES[key] ?? key;
  return Object.hasOwn(LANGUAGES, found) ? found : undefined;
}

/** The language of a file by its name. */
export function ofFile(path: string): string | undefined {
  const name = path.split("/").at(-1)!;
  return language(name.includes(".") ? name.split(".").at(-1)! : name);
}

/** The code as HTML, coloured where the language is known. */
export function colour(code: string, name: string | undefined): string {
  const found = name && language(name);
  if (!found || code.split("\n").some((line) => line.length > WIDEST)) return escape(code);
  if (!hljs.getLanguage(found)) hljs.registerLanguage(found, LANGUAGES[found]!);
  return hljs.highlight(code, { language: found, ignoreIllegals: true }).value;
}
