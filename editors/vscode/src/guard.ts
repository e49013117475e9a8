// What the library between the extension and its server would show or log by itself, made harmless.
import { LogLevel, type LogOutputChannel } from "vscode";
import type { ConnectionOptions } from "vscode-languageclient/node";
import { plain } from "./say.ts";

type Strategy = NonNullable<ConnectionOptions["messageStrategy"]>;
type Message = Parameters<Strategy["handleMessage"]>[0];
type Words = { [key: string]: unknown };

/** These hold words that the library puts into the editor's messages as they are. */
const SHOWN = ["window/showMessage", "window/showMessageRequest"];

function without(words: Words, ...keys: string[]): Words {
  const strings = keys.filter((key) => typeof words[key] === "string").map((key) => [key, plain(words[key] as string)]);
  return { ...words, ...Object.fromEntries(strings) };
}

/** The message, with nothing in it that the editor would make a link of. */
export function harmless(message: Message): Message {
  const { method, params, error } = message as Message & { method?: string; params?: Words; error?: Words };
  if (error) return { ...message, error: without(error, "message") } as Message;
  if (!method || !params) return message;
  if (SHOWN.includes(method)) return { ...message, params: without(params, "message") } as Message;
  const { value } = params as { value?: Words };
  if (method !== "$/progress" || !value?.["kind"]) return message;
  return { ...message, params: { ...params, value: without(value, "title", "message") } } as Message;
}

export const strategy: Strategy = { handleMessage: (message, next) => next(harmless(message)) };

/** The output for traces of the wire, which no setting and no level switches on: keys pass there. */
export function untraced(output: LogOutputChannel): LogOutputChannel {
  return Object.create(output, {
    logLevel: { value: LogLevel.Off },
    onDidChangeLogLevel: { value: () => ({ dispose: () => undefined }) },
    trace: { value: () => undefined },
  }) as LogOutputChannel;
}
