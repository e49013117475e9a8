// What waits for the user is before their eyes when they allow it, and in every view.
import assert from "node:assert/strict";
import { mock, test } from "node:test";
import type { FromView, ToView } from "../../src/messages.ts";
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
  const chat = new Chat("root" as never), asks = new Asks(chat, () => undefined);
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
  const chat = new Chat("root" as never), asks = new Asks(chat, () => undefined);
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
  const chat = new Chat("root" as never), asks = new Asks(chat, () => undefined);
  const first = asks.approval(request("make"), token);
  asks.decide("rejectOnce");
  assert.equal((await first).choice, "rejectOnce");
  const second = asks.approval(request("make test"), token);
  asks.decide("allowOnce", "make test");
  assert.equal((await second).choice, "allowOnce");
});

test("what waits is shown again by a view that was cleared, and by a new one after a long past", async () => {
  const chat = new Chat("root" as never), asks = new Asks(chat, () => undefined);
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
