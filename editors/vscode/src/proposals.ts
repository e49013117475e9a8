// Differences of an edit that waits for consent, in the editor, and trust in a file's folder.
import { createHash } from "node:crypto";
import { commands, EventEmitter, Uri, workspace, type Disposable } from "vscode";
import type { Proposals } from "./asks.ts";
import { patched } from "./patch.ts";
import * as say from "./say.ts";
import type { Server } from "./server.ts";

/** Documents with a file's text as it would be; and an empty one, for a file that is new. */
const SCHEME = "interline-proposed";

export function proposals(server: Server, subscriptions: Disposable[]): Proposals {
  const texts = new Map<string, string>(), changed = new EventEmitter<Uri>();
  subscriptions.push(workspace.registerTextDocumentContentProvider(SCHEME, {
    onDidChange: changed.event,
    provideTextDocumentContent: (uri) => texts.get(`${uri}`) ?? "",
  }));
  return {
    async open(item, { uri, diff, after }) {
      const file = Uri.parse(uri), proposed = file.with({ scheme: SCHEME, query: item });
      const opened = workspace.openTextDocument(file);
      const document = await opened.then((it) => it, () => undefined);
      const text = patched(document?.getText() ?? "", diff);
      // The card is about exactly one text: nothing else is shown as it.
      const hash = createHash("sha256").update(text ?? "").digest("hex");
      if (text === undefined || hash !== after) {
        return void say.info("the file has changed since: read the changes in the chat.");
      }
      texts.set(`${proposed}`, text);
      changed.fire(proposed);
      const before = document ? file : file.with({ scheme: SCHEME, query: "" });
      const title = `${workspace.asRelativePath(file)} (proposed)`;
      await commands.executeCommand("vscode.diff", before, proposed, title);
    },
    async trust(uri) {
      const folder = workspace.getWorkspaceFolder(Uri.parse(uri))?.uri.fsPath;
      await server.request("interline/trust/set", { folder, decision: "trust" });
    },
  };
}
