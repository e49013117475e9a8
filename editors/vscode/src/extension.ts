// Wires the features together. Loads and starts nothing that takes time before it returns.
import { commands, StatusBarAlignment, window, workspace, type ExtensionContext } from "vscode";
import * as ask from "./ask.ts";
import { Asks } from "./asks.ts";
import { Chat } from "./chat.ts";
import { Context, now } from "./context.ts";
import { Diagnostics } from "./diagnostics.ts";
import { Edits } from "./edit.ts";
import { Keys } from "./keys.ts";
import { markdown, Pages } from "./pages.ts";
import { COMMANDS, type Mode } from "./protocol.ts";
import { save } from "./save.ts";
import * as say from "./say.ts";
import { Server, tell } from "./server.ts";
import { Sessions } from "./sessions.ts";
import * as settings from "./settings.ts";

type Parts = { asks: Asks; sessions: Sessions; diagnostics: Diagnostics; pages: Pages; keys: Keys; server: Server };
let server: Server | undefined;

export function activate(context: ExtensionContext): void {
  const began = performance.now();
  const output = window.createOutputChannel("Interline", { log: true });
  settings.learn(context);
  const state = { running: 0, asking: 0 };
  const bar = window.createStatusBarItem("interline", StatusBarAlignment.Left);
  [bar.name, bar.command] = ["Interline", "interline.chat"];
  const show = (): void => {
    bar.text = state.asking > 0 ? "$(bell) Interline asks you" : state.running > 0 ? "$(loading~spin) Interline works" : "$(sparkle) Interline";
    bar.show();
  };
  show();

  const own = server = new Server(output);
  const chat = new Chat(context.extensionUri), edits = new Edits(), pages = new Pages(), keys = new Keys(context, own);
  const diagnostics = new Diagnostics(own), where = new Context(own);
  const flush = (): void => [diagnostics, where].forEach((each) => each.flush());
  const asks = new Asks(chat, (waiting) => {
    state.asking = waiting;
    show();
  });
  const sessions = new Sessions(own, chat, context.workspaceState, (running) => {
    state.running = running;
    show();
    chat.post({ kind: "busy", busy: running > 0 });
    void commands.executeCommand("setContext", "interline.running", running > 0);
  }, flush);
  own.prepare.push(async () => diagnostics.all(), async () => where.flush());
  own.onEnded((words) => {
    asks.drop();
    chat.note(words, true);
    void say.warn(words);
  });
  own.listeners["interline/turn/started"] = (params) => sessions.started(params);
  own.listeners["interline/turn/event"] = ({ turnId, event }) => {
    if (event.type === "approvalResolved") asks.drop({ item: event.itemId });
    else chat.event(turnId, event);
  };
  own.listeners["interline/turn/ended"] = (params) => {
    asks.drop({ turn: params.turnId });
    sessions.ended(params);
  };
  own.handlers["interline/edit/apply"] = (params) => edits.apply(params);
  own.handlers["interline/workspace/save"] = save;
  own.handlers["interline/approval/request"] = (params, cancelled) => asks.approval(params, cancelled);
  own.handlers["interline/question/request"] = (params, cancelled) => asks.question(params, cancelled);
  context.subscriptions.push(
    output, bar, edits, diagnostics, where, pages,
    window.registerWebviewViewProvider("interline.chat", chat, { webviewOptions: { retainContextWhenHidden: true } }),
    chat.onSaid((said) => {
      if (said.kind === "send") void sessions.ask(said.text).catch(tell);
      if (said.kind === "cancel") void sessions.cancel().catch(tell);
    }),
    workspace.onDidChangeConfiguration((change) => change.affectsConfiguration("interline") && configured(own)),
  );
  register(context, { asks, sessions, diagnostics, pages, keys, server: own });
  // With a folder the server is started before it is asked, for the code actions; starting a
  // program takes time, so not now.
  if (workspace.workspaceFolders?.length) setImmediate(() => void own.ready().catch(tell));
  output.info(`activated in ${(performance.now() - began).toFixed(1)} ms`);
}

export function deactivate(): Promise<void> | undefined {
  return server?.stop();
}

function register(context: ExtensionContext, { asks, sessions, diagnostics, pages, keys, server }: Parts): void {
  const table: Record<string, (given?: never) => Promise<unknown> | unknown> = {
    "interline.ask": (given) => ask.ask(sessions, given),
    "interline.fix": (given) => ask.at(sessions, diagnostics, "interline.fix", given),
    "interline.explain": (given) => ask.at(sessions, diagnostics, "interline.explain", given),
    "interline.chat": () => commands.executeCommand("interline.chat.focus"),
    "interline.cancel": () => sessions.cancel(),
    "interline.approve": (given?: { itemId?: string }) => asks.decide("allowOnce", given?.itemId),
    "interline.reject": (given?: { itemId?: string }) => asks.decide("rejectOnce", given?.itemId),
    "interline.newSession": () => sessions.begin(),
    "interline.mode": async (given?: { mode?: Mode }) => {
      const mode = given?.mode ?? await window.showQuickPick(["agent", "ask", "plan"]) as Mode | undefined;
      if (mode) await sessions.configure({ mode });
    },
    "interline.model": async (given?: { model?: string }) => {
      const { models } = await server.request("interline/status", {});
      const model = given?.model ?? await window.showQuickPick(models ?? [], { placeHolder: "Which model?" });
      if (model) await sessions.configure({ model });
    },
    "interline.trust": () => trust(sessions, server, "trust"),
    "interline.untrust": () => trust(sessions, server, "untrust"),
    "interline.showPrompt": async () => {
      const { sessionId } = await sessions.of();
      await pages.show("prompt.md", markdown(await server.request("interline/prompt/preview", { sessionId, context: now(), text: "all" })));
    },
    "interline.status": async () => pages.show("status.json", JSON.stringify(await server.request("interline/status", {}), null, 2)),
    "interline.setKey": () => keys.ask(),
    "interline.restart": async () => {
      asks.drop();
      await server.stop();
      await server.ready();
    },
  };
  // The rest is the server's own; each window has its own server, so they are registered once.
  for (const name of COMMANDS) table[name] ??= (given?: object) => sessions.forward(name, given ?? {});
  for (const [name, run] of Object.entries(table)) {
    context.subscriptions.push(commands.registerCommand(name, async (given) => {
      await Promise.resolve(given).then(run as (given: unknown) => unknown).catch(tell);
    }));
  }
}

async function trust(sessions: Sessions, own: Server, decision: "trust" | "untrust"): Promise<void> {
  const folder = sessions.folder();
  if (!folder) return void say.info("open a folder first.");
  await own.request("interline/trust/set", { folder: folder.toString(), decision });
  void say.info(`${folder.fsPath} is ${decision === "trust" ? "" : "not "}trusted`);
}

/** A workspace's settings count at once, the user's own and the program's with a new server. */
let told = "";
function configured(own: Server): void {
  void own.configure().catch(() => undefined);
  const needed = JSON.stringify([settings.scopes().user, settings.server()]);
  if (needed === told) return;
  told = needed;
  void say.info("your settings count once the server has started again.", "Restart the Server")
    .then((answer) => answer && commands.executeCommand("interline.restart"));
}
