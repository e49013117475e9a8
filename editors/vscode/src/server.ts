// Starts the server, checks that it is the right program, and starts it again when it ends.
import { execFile } from "node:child_process";
import * as path from "node:path";
import { commands, EventEmitter, window, workspace, type LogOutputChannel } from "vscode";
import type { LanguageClient, ServerCapabilities, StaticFeature } from "vscode-languageclient/node";
import type {
  ClientNotifications, ClientOffer, ClientRequests, ServerNotifications, ServerOffer, ServerRequests,
} from "./protocol.ts";
import * as settings from "./settings.ts";

/** The oldest server that this extension can talk to. */
const OLDEST = [0, 1] as const;
/** A server that ended this often within RECENT is not started again by itself. */
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

/** Something that the user can do something about; `button` runs `command`. */
export class Trouble extends Error {
  readonly button: string | undefined;
  readonly command: string[];

  constructor(message: string, button?: string, ...command: string[]) {
    super(message);
    this.button = button;
    this.command = command;
  }
}

/** Shows an error with its hint and what can be done. */
export async function tell(error: unknown): Promise<void> {
  const { message, data } = error as { message?: string; data?: { kind?: string; hint?: string } };
  const hint = data?.hint ? ` ${data.hint}` : "";
  const keyless = data?.kind === "noModel" || data?.kind === "auth";
  const trouble = error instanceof Trouble ? error
    : new Trouble(`Interline: ${message ?? error}${hint}`, ...(keyless ? ["Set a Key", "interline.setKey"] : []));
  const buttons = trouble.button ? [trouble.button] : [];
  if (await window.showErrorMessage(trouble.message, ...buttons)) {
    await commands.executeCommand(trouble.command[0]!, ...trouble.command.slice(1));
  }
}

export class Server {
  client: LanguageClient | undefined;
  readonly handlers: Handlers = {};
  readonly listeners: Listeners = {};
  /** The server can be talked to; awaited by those who asked before. */
  readonly prepare: ((client: LanguageClient) => Promise<void>)[] = [];
  private readonly ended = new EventEmitter<string>();
  readonly onEnded = this.ended.event;
  private starting: Promise<LanguageClient> | undefined;
  private ends: number[] = [];
  private readonly output: LogOutputChannel;

  constructor(output: LogOutputChannel) {
    this.output = output;
  }

  /** The running server; starts it if there is none. Throws a `Trouble`. */
  ready(): Promise<LanguageClient> {
    if (this.starting) return this.starting;
    const starting = this.start();
    this.starting = starting;
    starting.catch(() => {
      if (this.starting === starting) this.client = this.starting = undefined;
    });
    return starting;
  }

  async request<M extends keyof ClientRequests>(
    method: M, params: ClientRequests[M]["params"],
  ): Promise<ClientRequests[M]["result"]> {
    return (await this.ready()).sendRequest(method, params);
  }

  /** Dropped while no server runs: whoever tells something tells it again at the start. */
  notify<M extends keyof ClientNotifications>(method: M, params: ClientNotifications[M]): void {
    if (this.client?.isRunning()) void this.client.sendNotification(method, params).catch(() => undefined);
  }

  /** Tells the workspace's settings. */
  async configure(): Promise<void> {
    const params = { settings: { interline: settings.scopes().client } };
    await this.client?.sendNotification("workspace/didChangeConfiguration", params);
  }

  async stop(): Promise<void> {
    const client = this.client;
    this.client = this.starting = undefined;
    await client?.stop().catch((error) => this.output.warn(String(error)));
  }

  private async start(): Promise<LanguageClient> {
    const { path: program, env } = settings.server();
    this.output.info(`${program}: ${await version(program, env)}`);
    // Loaded here, because it is most of the extension and nothing before needs it.
    const { LanguageClient, CloseAction, ErrorAction, RevealOutputChannelOn } =
      await import("vscode-languageclient/node");
    const client = new LanguageClient("interline", "Interline", {
      command: program, args: ["lsp"], options: { cwd: folder(), env: { ...process.env, ...env } },
    }, {
      documentSelector: [{ scheme: "file" }],
      // The workspace's follow as a change: these stay in force until the server ends.
      initializationOptions: () => ({ user: settings.scopes().user }),
      outputChannel: this.output,
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        closed: () => {
          this.lost(client);
          return { action: CloseAction.DoNotRestart, handled: true };
        },
      },
    });
    client.registerFeature(announcement());
    this.listen(client);
    this.client = client;
    await client.start();
    await this.prepared(client);
    return client;
  }

  private async prepared(client: LanguageClient): Promise<void> {
    const offer = client.initializeResult?.capabilities.experimental?.interline as ServerOffer | undefined;
    if (offer?.version !== 1 || offer.tier !== "interline") {
      await this.stop();
      throw new Trouble("Interline: the server does not speak this extension's protocol. Update both.");
    }
    await this.configure();
    for (const each of this.prepare) await each(client);
  }

  private listen(client: LanguageClient): void {
    for (const [method, handle] of Object.entries(this.handlers)) {
      client.onRequest(method, (params, token) =>
        (handle as (params: unknown, cancelled: (then: () => void) => void) => unknown)(
          params, (then) => token.onCancellationRequested(then)));
    }
    for (const [method, listen] of Object.entries(this.listeners)) {
      client.onNotification(method, listen as (params: unknown) => void);
    }
  }

  /** The server ended by itself: another is started, unless they keep ending. */
  private lost(client: LanguageClient): void {
    if (this.client !== client) return;
    this.client = this.starting = undefined;
    const now = Date.now();
    this.ends = [...this.ends.filter((time) => now - time < RECENT), now];
    const again = this.ends.length <= RESTARTS;
    this.ended.fire(again
      ? "The server ended unexpectedly and is started again."
      : "The server keeps ending. “Interline: Restart the Server” tries again; why is in the output “Interline”.");
    if (again) this.ready().catch((error) => this.output.error(String(error)));
  }
}

function announcement(): StaticFeature {
  return {
    fillClientCapabilities: (capabilities) => {
      capabilities.experimental = { ...capabilities.experimental, interline: OFFER };
    },
    initialize: (_: ServerCapabilities) => undefined,
    getState: () => ({ kind: "static" }),
    clear: () => undefined,
  };
}

function folder(): string | undefined {
  return workspace.workspaceFolders?.[0]?.uri.fsPath;
}

function version(program: string, env: Record<string, string>): Promise<string> {
  const options = { timeout: 10_000, env: { ...process.env, ...env } };
  const where = ["Open Settings", "workbench.action.openSettings", "interline.server.path"];
  return new Promise((settle, fail) => {
    execFile(program, ["--version"], options, (error, out) => {
      const found = /^interline (\d+)\.(\d+)/.exec(out);
      const [major, minor] = [Number(found?.[1]), Number(found?.[2])];
      if (error && (error as NodeJS.ErrnoException).code === "ENOENT") {
        const words = `Interline: the program ${path.basename(program)} was not found. Install it, or name its path.`;
        fail(new Trouble(words, ...where as [string]));
      } else if (error || !found) {
        fail(new Trouble(`Interline: ${program} is not Interline's server: ${error?.message ?? out.trim()}`, ...where as [string]));
      } else if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])) {
        fail(new Trouble(`Interline: ${out.trim()} is too old; this extension needs ${OLDEST.join(".")} or newer.`));
      } else {
        settle(out.trim());
      }
    });
  });
}
