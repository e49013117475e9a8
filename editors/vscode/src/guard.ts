// What the library between the extension and its server would show or log by itself, made harmless.
import { LogLevel, type LogOutputChannel } from "vscode";
import type { ConnectionOptions } from "vscode-languageclient/node";
import { plain } from "./say.ts";

type Strategy = NonNullable<ConnectionOptions["messageStrategy"]>;
type Message = Parameters<Strategy["handleMessage"]>[0];

/** Keys with words that the library puts into the editor's messages as they are, by method. */
const SHOWN: Record<string, string[]> = {
  "window/showMessage": ["message"],
  "window/showMessageRequest": ["message"],
  "$/progress": ["title", "message"],
};

/** The message, with nothing in it that the editor would make a link of. */
export function harmless(message: Message): Message {
  const { method, error } = message as { method?: string; error?: unknown };
  const keys = error ? ["message"] : SHOWN[method ?? ""];
  return keys ? JSON.parse(JSON.stringify(message), (key, value) =>
    keys.includes(key) && typeof value === "string" ? plain(value) : value) : message;
}

export const strategy: Strategy = { handleMessage: (message, next) => next(harmless(message)) };

/** The output for traces of the wire, where keys pass: no setting and no level switches it on. */
export function untraced(output: LogOutputChannel): LogOutputChannel {
  return Object.create(output, {
    logLevel: { value: LogLevel.Off },
    onDidChangeLogLevel: { value: () => ({ dispose: () => undefined }) },
    trace: { value: () => undefined },
  }) as LogOutputChannel;
}
