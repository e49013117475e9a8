// Starts the server, and starts another when it ends.
import { commands, EventEmitter, type LogOutputChannel } from "vscode";
import type { LanguageClient, StaticFeature } from "vscode-languageclient/node";
import { strategy, untraced } from "./guard.ts";
import { PLACE, Trouble, version } from "./program.ts";
import type { ClientNotifications, ClientOffer, ClientRequests, ServerNotifications, ServerOffer, ServerRequests } from "./protocol.ts";
import * as say from "./say.ts";
import * as settings from "./settings.ts";

/** A server that ended this often within RECENT ms is not started again by itself. */
const RESTARTS = 4, RECENT = 180_000;
const OFFER: ClientOffer = {
  version: 1, events: true, approvals: true, questions: true, save: true, edit: true, context: true,
  query: false, review: false, commands: true, userSettings: true,
};

type Handlers = {
  [M in keyof ServerRequests]?: (
    params: ServerRequests[M]["params"], cancelled: (then: () => void) => void,
  ) => Promise<ServerRequests[M]["result"]>;
};
type Listeners = { [M in keyof ServerNotifications]?: (params: ServerNotifications[M]) => void };

/** Shows an error with its hint and what can be done. */
export async function tell(error: unknown): Promise<void> {
  const { message, data } = error as { message?: string; data?: { kind?: string; hint?: string } };
  const keyless = data?.kind === "noModel" || data?.kind === "auth";
  const button = keyless ? "Set a Key" : error instanceof Trouble ? "Open Settings" : undefined;
  const said = `${message ?? error}`, known = data?.hint && said.toLowerCase().includes(data.hint.toLowerCase());
  const words = `${said}${data?.hint && !known ? ` ${data.hint}` : ""}`;
  if (!await say.fail(words, ...(button ? [button] : []))) return;
  if (keyless) await commands.executeCommand("interline.setKey");
  else await commands.executeCommand("workbench.action.openSettings", (error as Trouble).setting);
}

export class Server {
  client: LanguageClient | undefined;
  readonly handlers: Handlers = {};
  readonly listeners: Listeners = {};
  /** Run in order when a server has started, before anyone else talks to it. */
  readonly prepare: ((client: LanguageClient) => Promise<void>)[] = [];
  private readonly ended = new EventEmitter<string>();
  readonly onEnded = this.ended.event;
  private starting: Promise<LanguageClient> | undefined;
  private ends: number[] = [];

  constructor(private readonly output: LogOutputChannel) {}

  /** The running server; starts it if there is none. */
  ready(): Promise<LanguageClient> {
    if (this.starting) return this.starting;
    const starting = this.starting = this.start();
    starting.catch(() => {
      if (this.starting === starting) this.client = this.starting = undefined;
    });
    return starting;
  }

  async request<M extends keyof ClientRequests>(method: M, params: ClientRequests[M]["params"]): Promise<ClientRequests[M]["result"]> {
    return (await this.ready()).sendRequest(method, params);
  }

  /** Dropped while no server runs: whoever tells something tells it again at the start. */
  notify<M extends keyof ClientNotifications>(method: M, params: ClientNotifications[M]): void {
    if (this.client?.isRunning()) void this.client.sendNotification(method, params).catch(() => undefined);
  }

  /** Tells the workspace's settings. */
  async configure(): Promise<void> {
    const params = { settings: { interline: settings.scopes().client } };
    if (this.client?.isRunning()) await this.client.sendNotification("workspace/didChangeConfiguration", params);
  }

  async stop(): Promise<void> {
    const client = this.client;
    this.client = this.starting = undefined;
    await client?.stop().catch((error) => this.output.warn(String(error)));
  }

  private async start(): Promise<LanguageClient> {
    const { path: command, env } = settings.server();
    this.output.info(`${command}: ${await version(command, env)}`);
    // Loaded here, because it is most of the extension and nothing before needs it.
    const { LanguageClient, CloseAction, ErrorAction, RevealOutputChannelOn } = await import("vscode-languageclient/node");
    const options = { cwd: PLACE, env: { ...process.env, ...env } };
    const client = new LanguageClient("interline", "Interline", { command, args: ["lsp"], options }, {
      documentSelector: [{ scheme: "file" }],
      // The workspace's follow as a change: these stay in force until the server ends.
      initializationOptions: () => ({ user: settings.scopes().user }),
      outputChannel: this.output,
      traceOutputChannel: untraced(this.output),
      connectionOptions: { messageStrategy: strategy },
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        closed: () => {
          this.lost(client);
          return { action: CloseAction.DoNotRestart, handled: true };
        },
      },
    });
    client.registerFeature(announcement);
    for (const [method, handle] of Object.entries(this.handlers)) {
      const answer = handle as (params: unknown, cancelled: (then: () => void) => void) => Promise<unknown>;
      client.onRequest(method, (params, token) => answer(params, (then) => token.onCancellationRequested(() => then())));
    }
    for (const [method, listen] of Object.entries(this.listeners)) client.onNotification(method, (params) => listen(params as never));
    this.client = client;
    await client.start();
    const offer = client.initializeResult?.capabilities.experimental?.interline as ServerOffer | undefined;
    if (offer?.version !== 1 || offer.tier !== "interline") {
      await this.stop();
      throw new Trouble("the server does not speak this extension's protocol. Update both.");
    }
    await this.configure();
    for (const each of this.prepare) await each(client);
    return client;
  }

  /** The server ended by itself: another is started, unless they keep ending. */
  private lost(client: LanguageClient): void {
    if (this.client !== client) return;
    this.client = this.starting = undefined;
    const now = Date.now();
    this.ends = [...this.ends.filter((time) => now - time < RECENT), now];
    const again = this.ends.length <= RESTARTS;
    this.ended.fire(again ? "The server ended unexpectedly and is started again."
      : "The server keeps ending. “Interline: Restart the Server” tries again; why is in the output “Interline”.");
    if (again) this.ready().catch((error) => this.output.error(String(error)));
  }
}

const announcement: StaticFeature = {
  fillClientCapabilities: (capabilities) => {
    capabilities.experimental = { ...capabilities.experimental, interline: OFFER };
  },
  initialize: () => undefined,
  getState: () => ({ kind: "static" }),
  clear: () => undefined,
};
