// Wires the features together. Loads and starts nothing that takes time before it returns.
import {
  commands, StatusBarAlignment, Uri, window, workspace, type ExtensionContext,
} from "vscode";
import { Apply } from "./apply.ts";
import { ask, cursor } from "./ask.ts";
import { Asks } from "./asks.ts";
import { Chat } from "./chat.ts";
import { commitMessage } from "./commit.ts";
import { complete } from "./complete.ts";
import { follow } from "./context.ts";
import { Edits } from "./edit.ts";
import { facts, model } from "./facts.ts";
import { exported, history, removeCurrent, rename, transcript } from "./history.ts";
import { Inline } from "./inline.ts";
import * as keys from "./keys.ts";
import { Languages } from "./languages.ts";
import type { FromView, Setup, State } from "./messages.ts";
import { mcp } from "./mcp.ts";
import { pages } from "./pages.ts";
import { Panel } from "./panel.ts";
import * as places from "./places.ts";
import { dropped } from "./prompts.ts";
import { proposals } from "./proposals.ts";
import { COMMANDS, type Status } from "./protocol.ts";
import { Queries } from "./query.ts";
import { Quiet } from "./quiet.ts";
import { Review } from "./review.ts";
import { report } from "./report.ts";
import { rules } from "./rules.ts";
import { save } from "./save.ts";
import * as say from "./say.ts";
import { choosePath, keyless } from "./setup.ts";
import { terminals } from "./terminal.ts";
import { Server, tell } from "./server.ts";
import { Sessions } from "./sessions.ts";
import { server as configured } from "./settings.ts";
import { sections } from "./status.ts";

/** Commands that buttons of the view run. */
const VIEW = [
  "interline.setKey", "interline.setPath", "interline.restart", "interline.mode",
  "interline.model", "interline.agent", "interline.newSession", "interline.history",
  "interline.compact", "interline.revert", "interline.walkthrough",
  "interline.export", "interline.showPrompt",
];

let server: Server;

export function activate(context: ExtensionContext): void {
  const began = performance.now(), { subscriptions } = context;
  const output = window.createOutputChannel("Interline", { log: true });
  const bar = window.createStatusBarItem("interline", StatusBarAlignment.Left);
  const chat = new Chat(context.extensionUri);
  let named = "Interline", reviewed = "", state: State | undefined;
  const show = (): void => {
    const works = sessions.running.size > 0;
    bar.text = asks.waiting.size > 0 ? "$(bell) Interline asks you"
      : `$(${works ? "loading~spin" : "sparkle"}) ${named}`;
    chat.last({ kind: "busy", busy: sessions.busy });
    void sessions.tell();
    // The changes to review are those of the sessions that are shown.
    if (sessions.key !== reviewed) review.later();
    reviewed = sessions.key;
    chat.badge(asks.waiting.size);
    void commands.executeCommand("setContext", "interline.running", works);
  };
  const setup = (facts: Partial<Setup>): void =>
    chat.last({ kind: "setup", setup: { providers: keys.providers(), ...facts } });
  const edits = new Edits(subscriptions), page = pages(subscriptions);
  server = new Server(output, (client) => {
    // What waited for another server's answer.
    asks.drop();
    client.onNotification("interline/turn/started", (turn) => {
      if (!quiet.has(turn)) sessions.started(turn);
    });
    client.onNotification("interline/turn/event", (event) => {
      if (quiet.has(event)) quiet.event(event);
      else sessions.event(event);
    });
    client.onNotification("interline/turn/ended", (turn) => {
      if (quiet.has(turn)) return quiet.ended(turn);
      sessions.ended(turn);
      inline.ended(turn);
      void inspector.refresh().catch(tell);
      void review.ended(turn).catch(tell);
    });
    client.onNotification("interline/session/didChange", sessions.turned);
    client.onNotification("interline/status/didChange", () => void sessions.checked().catch(tell));
    client.onNotification("interline/review/didChange", review.changed);
    client.onRequest("interline/edit/apply", edits.apply);
    client.onRequest("interline/workspace/save", save);
    client.onRequest("interline/editor/query", queries.answer);
    client.onRequest("interline/approval/request", asks.approval);
    client.onRequest("interline/question/request", asks.question);
  }, async (client) => {
    await keys.hand(context, client);
    await sessions.resume(client);
    shown.all();
    shown.flush();
    known.all();
    review.later();
    // Only shown: nothing waits for it.
    void client.sendRequest<Status>("interline/status", {}).then(sessions.status, tell);
    void keyless(client).then((keyless) => setup({ keyless }), tell);
  }, (words) => {
    asks.drop();
    chat.note(words, "error");
    void say.warn(words);
  }, (missing) => setup({ missing }));
  const asks = new Asks(chat, show, proposals(server, subscriptions),
    (id) => sessions.elsewhere(id));
  const shown = follow(server, subscriptions);
  const known = new Languages((found) =>
    server.notify("interline/languages/didChange", { languages: found }), subscriptions);
  const queries = new Queries(known, (found) =>
    server.client?.code2ProtocolConverter.asDiagnosticsSync(found) ?? [], subscriptions);
  terminals(subscriptions);
  const sessions = new Sessions(server, chat, context.workspaceState, show, shown.flush);
  const review = new Review(server, sessions, chat, subscriptions);
  const quiet = new Quiet(server);
  const { extensionUri: root } = context;
  const inspector = new Panel(root, "prompt", "Next Prompt", () => sessions.preview());
  const status = new Panel(root, "status", "Interline Status", async () => sections({
    status: await server.request("interline/status", {}), off: server.off, state,
    program: configured().path, languages: known.names, name: places.name,
  }));
  const apply = new Apply(sessions, subscriptions);
  const inline = new Inline(sessions, chat, subscriptions);
  Object.assign(bar, { name: "Interline", command: "interline.chat" }).show();
  chat.facts.event((now) => {
    state = now;
    named = say.plain([now.mode, model(now)].filter(Boolean).join(" · ")) || "Interline";
    bar.tooltip = say.plain(["Interline", ...facts(now)].join("\n"));
    show();
  });
  show();
  const webviewOptions = { retainContextWhenHidden: true };
  subscriptions.push(
    output,
    bar,
    window.registerWebviewViewProvider("interline.chat", chat, { webviewOptions }),
    chat.said.event((said) => {
      void Promise.resolve(heard(said)).catch(tell);
    }),
    workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("interline")) void server.configured().catch(tell);
    }),
    window.onDidChangeActiveTextEditor(() => void sessions.tell().catch(tell)),
    window.onDidChangeTextEditorSelection(() => void sessions.tell().catch(tell)),
  );

  const tried = async ({ provider, secret }: FromView & { kind: "key" }): Promise<void> => {
    const facts = { keyless: true };
    setup({ ...facts, trial: { testing: true } });
    const done = keys.test(context, server, provider, secret);
    const why = await done.catch((error) => {
      setup({ ...facts, trial: { testing: false } });
      throw error;
    });
    if (why === undefined) await keyed();
    else setup({ ...facts, trial: { testing: false, refused: why } });
  };
  const keyed = async (): Promise<void> =>
    setup({ keyless: await keyless(await server.ready()) });
  let typed = 0;
  const completed = async (n: number, text: string, offset: number): Promise<void> => {
    typed = n;
    const sessionId = await sessions.of(), folder = sessions.folder();
    for await (const found of complete(server, sessionId, folder, text, offset)) {
      if (n !== typed) return;
      chat.direct({ kind: "offers", n, ...found });
    }
  };
  const heard = (said: FromView): unknown => {
    switch (said.kind) {
      case "send": return sessions.send(said.text, said.attachments, said.steer);
      case "complete": return completed(said.n, said.text, said.offset);
      case "dropped":
        for (const uri of said.uris) chat.direct({ kind: "attach", attachment: dropped(uri) });
        return;
      case "dequeue": case "steerQueued": case "editQueued":
        return sessions.dequeue(said.turn, said.kind);
      case "act": return chat.acts.get(said.id)?.();
      case "cancel": return sessions.cancel();
      case "retry": return sessions.retry();
      case "tab": return sessions.open(said.id);
      case "closeTab": return sessions.close(said.id);
      case "open": return places.open(said);
      case "apply": return apply.show(said);
      case "insert": return places.insert(said.text);
      case "copy": return places.copy(said.text);
      case "key": return tried(said);
      case "run": return VIEW.includes(said.command) && commands.executeCommand(said.command);
    }
  };
  const here = (): object => ({ folder: sessions.folder()?.fsPath });
  // What commands are given comes from keybindings and code actions.
  const table: Record<string, (given?: any) => unknown> = {
    "interline.ask": (given) => ask(sessions, given),
    "interline.applyCode": () => apply.apply(),
    "interline.discardCode": () => apply.discard(),
    "interline.commitMessage": (given) => commitMessage(quiet, sessions.folder(), given),
    "interline.edit": (given) => inline.ask(given),
    "interline.doComment": (given) => chat.reveal().then(() =>
      sessions.forward("interline.doComment", given ?? cursor())),
    "interline.chat": () => commands.executeCommand("interline.chat.focus"),
    "interline.cancel": () => server.command("interline.cancel"),
    "interline.approve": (given) => asks.decide("allowOnce", given?.itemId),
    "interline.reject": (given) => asks.decide("rejectOnce", given?.itemId),
    "interline.revert": (given) => sessions.revert(given),
    "interline.nextChange": () => review.go(1),
    "interline.previousChange": () => review.go(-1),
    "interline.keep": (given) => review.decide("keep", given),
    "interline.rejectHunk": (given) => review.decide("reject", given),
    "interline.keepFile": () => review.decideMany("keep", "file"),
    "interline.undoFile": () => review.decideMany("reject", "file"),
    "interline.keepAll": () => review.decideMany("keep", "all"),
    "interline.undoAll": () => review.decideMany("reject", "all"),
    "interline.review": () => review.menu(),
    "interline.openChanges": (given) => review.open(given),
    "interline.decideTurn": (given) => review.decideTurn(given),
    "interline.newSession": () => sessions.begin(),
    "interline.newTab": () => sessions.begin(true),
    "interline.mcpLogin": (given) => mcp(server, "login", given?.server),
    "interline.mcpLogout": (given) => mcp(server, "logout", given?.server),
    "interline.rules": () => rules(server),
    "interline.mode": (given) => sessions.configure("mode", given?.mode),
    "interline.model": (given) => sessions.configure("model", given?.model),
    "interline.agent": (given) => sessions.configure("agent", given?.agent),
    "interline.history": () => history(server, sessions),
    "interline.fork": () => sessions.fork(),
    "interline.compact": () => sessions.compact(),
    "interline.rename": async () => rename(server, await sessions.of()),
    "interline.delete": async () => removeCurrent(server, await sessions.of()),
    "interline.export": async () => exported(server, await sessions.of()),
    "interline.trust": () => server.command("interline.trust", here()),
    "interline.untrust": () => server.command("interline.untrust", here()),
    "interline.transcript": async (given) =>
      page("transcript.md", await transcript(server, given.sessionId)),
    "interline.showPrompt": () => inspector.show(),
    "interline.status": () => status.show(),
    "interline.report": () => report(server),
    "interline.setKey": () => keys.ask(context, server).then(keyed),
    "interline.walkthrough": () => commands.executeCommand(
      "workbench.action.openWalkthrough", `${context.extension.id}#start`, false),
    "interline.setPath": () => choosePath(),
    "interline.restart": () => server.stop().then(() => server.ready()),
  };
  // The rest is the server's own; each window has its own server, so they are registered once.
  for (const name of COMMANDS) {
    table[name] ??= (given) => chat.reveal().then(() => sessions.forward(name, given));
  }
  for (const [name, run] of Object.entries(table)) {
    // Menus of the editor name its file, which is the active one.
    const safely = (given: unknown): unknown =>
      Promise.resolve(given instanceof Uri ? undefined : given).then(run).catch(tell);
    subscriptions.push(commands.registerCommand(name, safely));
  }
  // With a folder the server is started before it is asked, for the code actions; starting a
  // program takes time, so not now.
  if (workspace.workspaceFolders?.length) setImmediate(() => void server.ready().catch(tell));
  output.info(`activated in ${(performance.now() - began).toFixed(1)} ms`);
}

export function deactivate(): Promise<void> {
  return server.stop();
}
