// `interline/edit/apply`: maps an edit from its version to the present text and applies it as an
// undo step of its own; a conflict changes nothing.
import { createHash } from "node:crypto";
import { EndOfLine, Range, Uri, workspace, WorkspaceEdit, type Disposable, type TextDocument } from "vscode";
import { ChangeLog, rebase, type Edit } from "./changes.ts";
import type { AppliedEdit, ApplyEdit } from "./protocol.ts";

/** ms for which an edit is tried again while keys go in; a refusal without one within NEWS stands. */
const PATIENCE = 5_000, NEWS = 1_000;

type Answer = (status: AppliedEdit["status"], reason?: string, edits?: Edit[]) => AppliedEdit;

export class Edits implements Disposable {
  private readonly log = new ChangeLog();
  private readonly subscriptions: Disposable[];

  constructor() {
    const opened = (document: TextDocument): void => this.log.opened(key(document), document.version, () => hash(document));
    workspace.textDocuments.forEach(opened);
    this.subscriptions = [
      workspace.onDidOpenTextDocument(opened),
      workspace.onDidCloseTextDocument((document) => this.log.closing(key(document))),
      workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
        if (contentChanges.length > 0) this.log.changed(key(document), document.version, [...contentChanges], () => hash(document));
      }),
    ];
  }

  dispose(): void {
    this.subscriptions.forEach((each) => each.dispose());
  }

  /** Answers in every case: an edit without an answer blocks its document. */
  async apply(params: ApplyEdit): Promise<AppliedEdit> {
    let document: TextDocument | undefined;
    const answer: Answer = (status, reason, edits) =>
      ({ status, version: document?.version ?? 0, hash: document ? hash(document) : "", reason, edits });
    try {
      document = await target(params);
      return await this.place(params, document, answer);
    } catch (error) {
      return answer("refused", String(error));
    }
  }

  private async place(params: ApplyEdit, document: TextDocument, answer: Answer): Promise<AppliedEdit> {
    const until = Date.now() + PATIENCE;
    // A closed file's edit was made for the text on disk, which is compared below.
    const version = params.version ?? document.version;
    while (!document.isClosed) {
      const since = this.log.since(key(document), version, params.hash);
      if (!since) return answer("conflict", "the changes since that version are no longer known");
      const edits = since.length > 0 || params.hash === hash(document) ? rebase(params.edits, since) : undefined;
      if (!edits) return answer("conflict", "the user changed the same text, or it is not the one that the edit was made for");
      const changes = edits.map((edit) => ({ range: range(edit), newText: ends(document, edit.newText) }));
      if (!changes.every((change) => document.validateRange(change.range).isEqual(change.range))) {
        return answer("conflict", "the edit's range is not in the text");
      }
      const tried = document.version, change = new WorkspaceEdit();
      change.set(document.uri, changes);
      // The editor compares the version of this moment with its own, in the moment in which it
      // applies: a key that was pressed meanwhile makes it refuse, and the edit is placed again.
      if (await workspace.applyEdit(change)) {
        if (params.save === true) await document.save();
        return since.length > 0 ? answer("rebased", undefined, edits) : answer("applied");
      }
      if (Date.now() > until || !(await moved(document, tried))) return answer("refused", "the editor did not apply the edit");
    }
    return answer("conflict", "the document was closed");
  }
}

/** The edit's document; a closed file is opened, so that its change can be seen and undone. */
async function target(params: ApplyEdit): Promise<TextDocument> {
  const uri = Uri.parse(params.uri);
  const open = workspace.textDocuments.find((each) => key(each) === uri.toString());
  if (!open && params.version != null) throw new Error("the document is no longer open");
  return open ?? workspace.openTextDocument(uri);
}

function key(document: TextDocument): string {
  return document.uri.toString();
}

function range({ range: { start, end } }: Edit): Range {
  return new Range(start.line, start.character, end.line, end.character);
}

/** In the document's own line ends, as the editor would write it anyway. */
function ends(document: TextDocument, text: string): string {
  return text.replace(/\r\n|\r|\n/g, document.eol === EndOfLine.CRLF ? "\r\n" : "\n");
}

function hash(document: TextDocument): string {
  return createHash("sha256").update(document.getText()).digest("hex");
}

/** Whether the document changes soon. */
async function moved(document: TextDocument, version: number): Promise<boolean> {
  for (const end = Date.now() + NEWS; document.version === version && Date.now() < end;) await new Promise((settle) => setTimeout(settle, 5));
  return document.version !== version;
}
