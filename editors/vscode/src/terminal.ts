// The last command of a terminal and its output, for prompts. VS Code tells them from 1.93 on,
// where its shell integration works.
import { window, type Disposable, type Event } from "vscode";

/** Characters of an output that are kept: its end. */
const MOST = 40_000;
/** Sequences that colour, move and title; what is left of a line that was written over. */
const ESCAPES = /\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[[\d;?>=!]*[ -/]*[@-~]|\x1b[ -/]*[0-~]/g;
const OVERWRITTEN = /^.*\r(?!$)/gm;

interface Execution {
  commandLine: { value: string };
  read(): AsyncIterable<string>;
}
interface Started { execution: Execution }
interface Ran { command: string; output: string }

let last: Ran | undefined;

/** The text of an output, without what only a terminal shows. */
export const plain = (output: string): string =>
  output.replace(ESCAPES, "").replaceAll("\r\n", "\n").replace(OVERWRITTEN, "").trim();

/** Follows what terminals run, where the editor tells it. */
export function terminals(subscriptions: Disposable[]): void {
  const { onDidStartTerminalShellExecution: started } =
    window as { onDidStartTerminalShellExecution?: Event<Started> };
  if (!started) return;
  subscriptions.push(started(async ({ execution }) => {
    const ran: Ran = { command: execution.commandLine.value, output: "" };
    last = ran;
    for await (const more of execution.read()) ran.output = (ran.output + more).slice(-MOST);
  }));
}

/** The last command with its output so far. */
export function terminal(): { command: string; text: string } | undefined {
  if (!last) return undefined;
  const { command, output } = last;
  return { command, text: `$ ${command}\n${plain(output)}` };
}
