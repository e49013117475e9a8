// *Write a Commit Message* in the source control view: the model's words for what is staged, or for
// all changes, in the field of the repository.
import { ProgressLocation, window, type SourceControl, type Uri } from "vscode";
import { repositories } from "./prompts.ts";
import type { Quiet } from "./quiet.ts";
import * as say from "./say.ts";

/** Characters of changes, and earlier messages, that are sent. */
const MOST = 60_000, EARLIER = 10;
const ASKED = "Write the message of a commit with the attached changes. Its subject has at most 72 "
  + "characters; a body follows only where a reason needs one. Follow the style of the earlier "
  + "messages. Answer with the message alone.";

export async function commitMessage(
  quiet: Quiet, folder: Uri | undefined, given?: Partial<SourceControl>,
): Promise<void> {
  const all = await repositories(), root = given?.rootUri ?? folder;
  const found = all.find(({ rootUri }) => `${rootUri}` === `${root}`)
    ?? all.find(({ ui }) => ui.selected) ?? all[0];
  if (!found) return void say.info("there is no Git repository here.");
  const diff = await found.diff(true) || await found.diff();
  if (!diff) return void say.info("there are no changes to describe; stage new files first.");
  const log = await found.log({ maxEntries: EARLIER }).catch(() => []);
  const earlier = log.map(({ message }) => message.split("\n", 1)[0]).join("\n");
  const resource = (name: string, label: string, text: string) =>
    ({ type: "resource", uri: `interline:/${name}`, text: text.slice(0, MOST), label }) as const;
  const texts = [
    { type: "text", text: ASKED } as const, resource("diff", "Changes", diff),
    ...earlier ? [resource("log", "Earlier messages", earlier)] : [],
  ];
  const options = { location: ProgressLocation.SourceControl, cancellable: true };
  const cwd = found.rootUri.fsPath;
  const message = await window.withProgress(options, (_, token) =>
    quiet.ask({ title: "Commit message", cwd }, texts, token));
  if (message.trim()) found.inputBox.value = bare(message);
}

/** The message without a fence around it. */
export function bare(message: string): string {
  const [, , inner] = /^(`{3,})\w*\n([^]*?)\n\1$/.exec(message.trim()) ?? [];
  return (inner ?? message).trim();
}
