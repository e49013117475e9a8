// Parts of a prompt: what the view attached, and the skill or prompt that its first word names.
import { extensions, languages, Uri, workspace } from "vscode";
import type { Attachment } from "./messages.ts";
import type { Completion, Input } from "./protocol.ts";
import { terminal } from "./terminal.ts";

/** Characters of the editor's own texts, at most. */
const MOST = 60_000;
const SEVERITY = ["error", "warning", "information", "hint"];

/** A repository of the editor's Git extension: what is used of it. */
export interface Repository {
  rootUri: Uri;
  inputBox: { value: string };
  ui: { selected: boolean };
  diff(cached?: boolean): Promise<string>;
  log(options: { maxEntries: number }): Promise<{ message: string }[]>;
}
interface Git { enabled: boolean; getAPI(version: 1): { repositories: Repository[] } }

/** The repositories that the editor's Git extension has open. */
export async function repositories(): Promise<Repository[]> {
  const api = await extensions.getExtension<Git>("vscode.git")?.activate();
  return api?.enabled ? api.getAPI(1).repositories : [];
}

/** What has changed since the last commit. */
export async function gitDiff(): Promise<string> {
  const all = (await repositories()).flatMap((each) => [each.diff(true), each.diff()]);
  return (await Promise.all(all)).filter(Boolean).join("\n");
}

/** The problems that the editor shows, a line for each. */
export function problems(): string {
  const lines = languages.getDiagnostics().flatMap(([uri, found]) => found.map((it) => {
    const { line, character } = it.range.start, name = workspace.asRelativePath(uri);
    return `${name}:${line + 1}:${character + 1}: ${SEVERITY[it.severity]}: ${it.message}`;
  }));
  return lines.join("\n");
}

const TEXTS = {
  problems, diff: gitDiff, terminal: () => terminal()?.text ?? "",
};

async function part({ kind, label, uri, range, ...image }: Attachment): Promise<Input> {
  switch (kind) {
    case "image":
      return { type: "image", mimeType: image.mimeType!, data: image.data! };
    case "problems": case "diff": case "terminal": {
      const text = (await TEXTS[kind]()).slice(0, MOST);
      return { type: "resource", uri: `interline:/${kind}`, text, label };
    }
    default: {
      const document = workspace.textDocuments.find((each) => `${each.uri}` === uri);
      const version = document?.version;
      return { type: "resource", uri: uri!, ...range && { range }, ...range && { version } };
    }
  }
}

/** A prompt as the server takes it. */
export async function input(
  text: string, attachments: Attachment[], commands: Completion[],
): Promise<Input[]> {
  const parts = await Promise.all(attachments.map(part));
  const typed: Input[] = text.trim() ? [{ type: "text", text }] : [], first = named(text, commands);
  return [...first ? [first] : typed, ...parts];
}

/** The skill or the server's prompt that a text begins with. */
export function named(text: string, commands: Completion[]): Input | undefined {
  const [, name, rest = ""] = /^\/(\S+)(?:\s+([^]*))?$/.exec(text.trim()) ?? [];
  const found = commands.find(({ label }) => label === name);
  if (!found) return undefined;
  if (found.kind === "skill") return { type: "skill", name: name!, ...rest && { arguments: rest } };
  if (found.kind !== "mcpPrompt") return undefined;
  const given = Object.fromEntries([...rest.matchAll(/(\w+)=("[^"]*"|\S+)/g)]
    .map(([, key, value]) => [key!, value!.replace(/^"|"$/g, "")]));
  return { type: "mcpPrompt", server: found.server!, name: found.name!, arguments: given };
}

/** A file that was dropped on the view. */
export function dropped(uri: string): Attachment {
  return { kind: "file", label: workspace.asRelativePath(Uri.parse(uri)), uri };
}
