// Starts the server, and starts another when it ends.
import { commands, LogLevel, type LogOutputChannel } from "vscode";
import type { ErrorHandler, LanguageClient, StaticFeature } from "vscode-languageclient/node";
import { PLACE, Trouble, version } from "./program.ts";
import type {
  ClientNotifications, ClientOffer, ClientRequests as Requests, Off, ServerOffer,
} from "./protocol.ts";
import * as say from "./say.ts";
import * as settings from "./settings.ts";

const OFFER: ClientOffer = {
  version: 1, events: true, approvals: true, questions: true, save: true, edit: true,
  context: true, query: true, review: true, commands: true, userSettings: true,
};

/** Shows an error with what can be done. */
export async function tell(error: unknown): Promise<void> {
  const { message, data } = error as { message?: string; data?: { kind?: string } };
  const keyless = data?.kind === "noModel" || data?.kind === "auth";
  const buttons = keyless ? ["Set API Key"] : error instanceof Trouble ? ["Set Path"] : [];
  // The button is the way; the rest of the words lists others.
  const words = keyless ? message?.split(/(?<=\.) /)[0] : message;
  if (!await say.fail(words ?? `${error}`, ...buttons)) return;
  if (error instanceof Trouble) return commands.executeCommand("interline.setPath");
  await commands.executeCommand("interline.setKey");
  // What was not sent waits in the view's field.
  await commands.executeCommand("interline.chat.focus");
}

export class Server {
  client: LanguageClient | undefined;
  private starting: Promise<LanguageClient> | undefined;
  /** Counts the ends of servers: when they keep ending, none is started again by itself. */
  private judge: ErrorHandler | undefined;
  /** What the server was started with, and keeps. */
  private fixed = "";

  /**
   * `listen` takes what a server says; `prepare` is done when it has started, before anyone else
   * talks to it; `ended`: it ended by itself; `missing`: why it cannot be started, or that it was.
   */
  constructor(
    private readonly output: LogOutputChannel,
    private readonly listen: (client: LanguageClient) => void,
    private readonly prepare: (client: LanguageClient) => Promise<void>,
    private readonly ended: (words: string) => void,
    private readonly missing: (words: string | undefined) => void,
  ) {}

  /** The running server; starts it if needed. */
  ready(): Promise<LanguageClient> {
    return this.starting ??= this.start().catch((error) => {
      this.client = this.starting = undefined;
      this.missing(error instanceof Trouble ? error.message : `${error?.message ?? error}`);
      throw error;
    });
  }

  async request<M extends keyof Requests>(method: M, params: Requests[M]["params"]) {
    return (await this.ready()).sendRequest<Requests[M]["result"]>(method, params);
  }

  /** A command of the server's own, for all sessions or the named one. */
  async command(command: string, given: object = {}): Promise<{ text: string }> {
    const params = { command, arguments: [given] };
    return (await this.ready()).sendRequest("workspace/executeCommand", params);
  }

  /** The features that will not work, with the reasons. */
  get off(): Off[] {
    const offer = this.client?.initializeResult?.capabilities.experimental?.interline;
    return (offer as ServerOffer | undefined)?.off ?? [];
  }

  /** Dropped while no server runs: senders repeat it at the start. */
  notify<M extends keyof ClientNotifications>(method: M, params: ClientNotifications[M]): void {
    void this.client?.sendNotification(method, params).catch(() => undefined);
  }

  /** A workspace's settings count at once, the user's own and the program with a new server. */
  async configured(): Promise<void> {
    if (!this.client) return void await this.ready();
    await configure(this.client);
    if (this.fixed === fixed()) return;
    const words = "restart the server to apply your settings.";
    const again = await say.info(words, "Restart Server");
    if (again) await commands.executeCommand("interline.restart");
  }

  async stop(): Promise<void> {
    const stopped = this.starting?.then((client) => client.stop());
    this.client = this.starting = undefined;
    await stopped?.catch((error) => this.output.warn(`${error}`));
  }

  private async start(): Promise<LanguageClient> {
    this.fixed = fixed();
    const { path: command, env } = settings.server();
    this.output.info(`${command}: ${await version(command, env)}`);
    // Loaded here, because it is most of the extension and nothing before needs it.
    const library = await import("vscode-languageclient/node");
    const options = { cwd: PLACE, env: { ...process.env, ...env } };
    const program = { command, args: ["lsp"], options };
    const client = new library.LanguageClient("interline", "Interline", program, {
      documentSelector: [{ scheme: "file" }],
      // The workspace's follow as a change: these stay in force until the server ends.
      initializationOptions: { user: settings.scopes().user },
      outputChannel: this.output,
      traceOutputChannel: untraced(this.output),
      revealOutputChannelOn: library.RevealOutputChannelOn.Never,
      errorHandler: {
        error: () => ({ action: library.ErrorAction.Continue, handled: true }),
        closed: async () => {
          const { action } = await (this.judge ??= client.createDefaultErrorHandler()).closed();
          if (this.client === client) this.lost(action === library.CloseAction.Restart);
          return { action: library.CloseAction.DoNotRestart, handled: true };
        },
      },
    });
    client.registerFeature(announcement);
    this.listen(client);
    await client.start();
    if (client.initializeResult?.capabilities.experimental?.interline?.version !== 1) {
      await client.stop();
      throw new Trouble("the server does not speak this extension's protocol. Update both.");
    }
    this.client = client;
    await configure(client);
    this.missing(undefined);
    await this.prepare(client);
    return client;
  }

  /** It ended by itself: another is started, unless they keep ending. */
  private lost(again: boolean): void {
    this.client = this.starting = undefined;
    this.ended(again ? "The server ended unexpectedly and is restarting."
      : "The server keeps ending. See the output, then use “Restart Server”.");
    if (again) this.ready().catch(tell);
  }
}

function fixed(): string {
  return JSON.stringify([settings.scopes().user, settings.server()]);
}

function configure(client: LanguageClient): Promise<void> {
  const params = { settings: { interline: settings.scopes().client } };
  return client.sendNotification("workspace/didChangeConfiguration", params);
}

const announcement: StaticFeature = {
  fillClientCapabilities: (all) => void (all.experimental = { interline: OFFER }),
  initialize: () => undefined,
  getState: () => ({ kind: "static" }),
  clear: () => undefined,
};

/** The output for traces of the wire, where keys pass: no setting and no level switches it on. */
export function untraced(output: LogOutputChannel): LogOutputChannel {
  return Object.create(output, {
    logLevel: { value: LogLevel.Off },
    onDidChangeLogLevel: { value: () => ({ dispose: () => undefined }) },
    trace: { value: () => undefined },
  }) as LogOutputChannel;
}
