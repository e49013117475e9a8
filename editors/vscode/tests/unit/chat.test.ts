// What waits for the user is before their eyes when they allow it, and in every view.
import assert from "node:assert/strict";
import { mock, test } from "node:test";
import type { Card, FromView, ToView } from "../../src/messages.ts";
import type { AskApproval } from "../../src/protocol.ts";
import "./fake.ts";

const { Asks } = await import("../../src/asks.ts");
const { Chat } = await import("../../src/chat.ts");
// @ts-expect-error the fake has no types
const { editor } = await import("./fake-vscode.mjs");

/** A view as the editor makes it; `got` is what it was sent. */
class View {
  visible = true;
  got: ToView[] = [];
  gone = (): void => undefined;
  say = (_: FromView): void => undefined;
  webview = {
    cspSource: "", html: "", options: {},
    asWebviewUri: (uri: unknown) => uri,
    postMessage: (batch: ToView[]) => this.got.push(...batch),
    onDidReceiveMessage: (listener: (message: FromView) => void) => (this.say = listener),
  };
  onDidDispose = (listener: () => void): void => void (this.gone = listener);
  cards(): string[] {
    return this.got.flatMap((message) => message.kind === "ask" ? [message.card.body] : []);
  }
}

function opened(chat: InstanceType<typeof Chat>): View {
  const view = new View();
  chat.resolveWebviewView(view as never);
  view.say({ kind: "ready" });
  return view;
}

async function until(condition: () => boolean): Promise<void> {
  for (const end = performance.now() + 5_000; !condition();) {
    assert.ok(performance.now() < end, "waited in vain");
    await new Promise((settle) => setTimeout(settle, 2));
  }
}

/** What cards opened and trusted. */
const did: string[] = [];
const editorOf = {
  open: (item: string) => did.push(`open ${item}`),
  trust: async (uri: string) => did.push(`trust ${uri}`),
};

/** As time passes while the user reads. */
mock.timers.enable({ apis: ["Date"] });
const read = (): void => mock.timers.tick(500);

const token = { onCancellationRequested: () => ({ dispose: () => undefined }) };

const request = (command: string): AskApproval => ({
  sessionId: "s", turnId: "t", itemId: command, title: "Run it", reason: "", hash: "h",
  subject: { kind: "command", command, cwd: "/", timeoutMs: 1, unsaved: [] }, about: "in /", content: command,
  choices: [{ id: "yes", label: "Allow", kind: "allowOnce" }, { id: "no", label: "Reject", kind: "rejectOnce" }],
} satisfies Partial<AskApproval> as unknown as AskApproval);

test("what a hidden view holds is not allowed unread: the view is shown, and the next answer counts", async () => {
  const chat = new Chat("root" as never), asks = new Asks(chat, () => undefined, editorOf);
  const view = opened(chat);
  view.visible = false;
  const answer = asks.approval(request("make"), token);
  let settled = false;
  void answer.then(() => (settled = true));
  editor.ran.length = 0;
  read();
  asks.decide("allowOnce");
  await until(() => editor.ran.includes("interline.chat.focus"));
  view.visible = true;
  asks.decide("allowOnce");
  await until(() => editor.ran.length === 2);
  assert.equal(settled, false, "the key was pressed twice");
  read();
  asks.decide("allowOnce");
  assert.equal((await answer).choice, "allowOnce");
});

test("consent given twice does not count for what came with the first", async () => {
  const chat = new Chat("root" as never), asks = new Asks(chat, () => undefined, editorOf);
  opened(chat);
  const first = asks.approval(request("make"), token);
  read();
  asks.decide("allowOnce");
  assert.equal((await first).choice, "allowOnce");
  const second = asks.approval(request("make install"), token);
  asks.decide("allowOnce");
  asks.decide("rejectOnce");
  assert.equal((await second).choice, "rejectOnce");
});

test("a hidden view is no reason not to reject, nor one not to answer what is named", async () => {
  const chat = new Chat("root" as never), asks = new Asks(chat, () => undefined, editorOf);
  const first = asks.approval(request("make"), token);
  asks.decide("rejectOnce");
  assert.equal((await first).choice, "rejectOnce");
  const second = asks.approval(request("make test"), token);
  asks.decide("allowOnce", "make test");
  assert.equal((await second).choice, "allowOnce");
});

test("what waits is shown again by a view that was cleared, and by a new one after a long past", async () => {
  const chat = new Chat("root" as never), asks = new Asks(chat, () => undefined, editorOf);
  const view = opened(chat);
  const first = asks.approval(request("make"), token);
  // Before it was sent.
  chat.clear();
  await until(() => view.cards().length > 0);
  for (let at = 0; at < 20_001; at++) chat.note("past");
  await until(() => view.got.length > 20_000);
  view.gone();
  const next = opened(chat);
  await until(() => next.cards().length > 0);
  assert.deepEqual([view.cards(), next.cards()], [["make"], ["make"]]);
  read();
  asks.decide("allowOnce");
  assert.equal((await first).choice, "allowOnce");
});

test("a prompt that was not sent goes back to the present view, or to the next, and only once", async () => {
  const chat = new Chat("root" as never);
  const restored = (view: View): ToView[] => view.got.filter(({ kind }) => kind === "restore");
  chat.direct({ kind: "restore", text: "one" });
  const view = opened(chat);
  assert.deepEqual(restored(view), [{ kind: "restore", text: "one" }]);
  chat.direct({ kind: "restore", text: "two" });
  assert.deepEqual(restored(view)[1], { kind: "restore", text: "two" });
  view.gone();
  assert.deepEqual(restored(opened(chat)), []);
});

test("compaction of a conversation is shown, and by how much", async () => {
  const chat = new Chat("root" as never);
  const view = opened(chat);
  const item = { type: "compaction", itemId: "c", reason: "threshold", tokensBefore: 9000 } as const;
  chat.event({ ...item, status: "running" });
  chat.event({ ...item, status: "completed", tokensAfter: 700 });
  chat.event({ ...item, status: "failed", text: "The model gave no summary." });
  await until(() => view.got.length === 3);
  assert.deepEqual(view.got.map((message) => message.kind === "note" && message.text), [
    "Compacting the conversation…", "Compacted the conversation: 9000 → 700 tokens",
    "Not compacted. The model gave no summary.",
  ]);
});

const edit = (reason: string): AskApproval => ({
  ...request("edit"), reason, title: "Edit a.ts (+1 −1)", content: "-a\n+b", remember: "edits of a.ts",
  subject: { kind: "edit", uri: "file:///w/a.ts", diff: "-a\n+b", after: "h" },
  about: `${reason}\nCan be remembered: edits of a.ts.`,
  choices: [
    { id: "no", label: "Reject", kind: "rejectOnce" }, { id: "session", label: "Allow for this session", kind: "allowSession" },
    { id: "yes", label: "Allow", kind: "allowOnce" },
  ],
});
const cardOf = (view: View): Card => view.got.flatMap((message) => message.kind === "ask" ? [message.card] : []).at(-1)!;

test("a turn that stopped is continued by a button, and the reason is said once", async () => {
  const row = async (notice: boolean): Promise<string> => {
    const chat = new Chat("root" as never), { got } = opened(chat);
    if (notice) chat.event({ type: "notice", text: "The turn stopped at its limit of 2 model requests." });
    chat.ended({ sessionId: "s", turnId: "t", stopReason: "maxSteps", files: [] }, false, () => undefined);
    await until(() => got.some(({ kind }) => kind === "row"));
    const last = got.at(-1)!;
    return last.kind === "row" ? `${last.text}|${last.label}` : "";
  };
  assert.deepEqual([await row(true), await row(false)], ["|Continue", "Stopped at the step limit.|Continue"]);
});

test("a card offers to trust the folder only where that is the cause, and shows each fact once", async () => {
  const chat = new Chat("root" as never), asks = new Asks(chat, () => undefined, editorOf), view = opened(chat);
  void asks.approval(edit("The setting `approvals` is `ask`."), token);
  await until(() => view.cards().length === 1);
  assert.deepEqual(cardOf(view).buttons.map(({ label }) => label), ["Allow", "Allow for this session", "Reject…"]);
  const answer = asks.approval({ ...edit("This folder is not trusted yet."), itemId: "second" }, token);
  await until(() => view.cards().length === 2);
  const { buttons, about, id, opens } = cardOf(view);
  assert.deepEqual(buttons.map(({ label, key }) => `${key} ${label}`), ["Y Allow", "S Allow for this session", "T Trust this folder", "N Reject…"]);
  assert.deepEqual([about, buttons[1]!.tooltip, opens], ["This folder is not trusted yet.", "Allows edits of a.ts.", true]);
  view.say({ kind: "openDiff", id });
  view.say({ kind: "answer", id, answer: "trustFolder" });
  assert.deepEqual([(await answer).choice, did.splice(0)], ["allowOnce", ["open second", "trust file:///w/a.ts"]]);
});

test("a choice that lasts names the rule that it stores", async () => {
  const chat = new Chat("root" as never), asks = new Asks(chat, () => undefined, editorOf), view = opened(chat);
  const lasting = (id: string, kind: "allowFolder" | "allowAlways") =>
    ({ id, kind, label: `Always allow \`make …\` ${id}`, rule: "make …" });
  const choices = [lasting("everywhere", "allowAlways"), lasting("here", "allowFolder"), ...request("make").choices];
  const answer = asks.approval({ ...request("make"), choices, remember: "exactly `make`" }, token);
  await until(() => view.cards().length === 1);
  const rows = cardOf(view).buttons.map(({ key, label, tooltip }) => [key, label, tooltip]);
  const shown = "Allows `make …`, in the sandbox.";
  assert.deepEqual(rows.slice(1, 3), [["F", "Always allow `make …` here", shown], ["A", "Always allow `make …` everywhere", shown]]);
  view.say({ kind: "answer", id: "ask-make", answer: "here" });
  assert.equal((await answer).choice, "here");
});

test("a rejection carries the user's words", async () => {
  const chat = new Chat("root" as never), asks = new Asks(chat, () => undefined, editorOf), view = opened(chat);
  const answer = asks.approval(request("make"), token);
  await until(() => view.cards().length === 1);
  assert.equal(cardOf(view).title, "Run this command?");
  view.say({ kind: "answer", id: "ask-make", answer: "no", feedback: "Use ninja." });
  assert.deepEqual(await answer, { choice: "no", hash: "h", feedback: "Use ninja." });
});

test("the view's icon shows how many requests wait", () => {
  const chat = new Chat("root" as never), view = opened(chat) as View & { badge?: { value: number } };
  chat.badge(2);
  assert.equal(view.badge?.value, 2);
  chat.badge(0);
  assert.equal(view.badge, undefined);
});

test("a prompt shows what goes with it, a tool its path, its counts and how long it ran", async () => {
  const chat = new Chat("root" as never), view = opened(chat);
  const range = { start: { line: 8, character: 0 }, end: { line: 14, character: 0 } };
  chat.started("t", [{ type: "text", text: "Fix it" }, { type: "resource", uri: "file:///w/a.ts", range }]);
  const tool = { type: "toolCall", itemId: "i", tool: "edit", title: "Edit a.ts", input: { path: "a.ts" } } as const;
  chat.event({ ...tool, title: "edit", status: "pending" });
  chat.event({ ...tool, status: "running" });
  read();
  chat.event({ ...tool, status: "completed", diff: "-a\n+b", files: [{ uri: "file:///w/a.ts", added: 1, removed: 1 }] });
  await until(() => view.got.length === 4);
  const [turn, pending, , done] = view.got as Record<string, unknown>[];
  assert.deepEqual([turn!["text"], turn!["chips"], pending!["title"]], ["Fix it", ["file:///w/a.ts:9-14"], "Edit…"]);
  assert.deepEqual([done!["path"], done!["added"], done!["removed"], done!["ms"], done!["diff"]], ["a.ts", 1, 1, 500, true]);
});
