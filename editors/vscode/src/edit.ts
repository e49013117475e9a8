// `interline/edit/apply`: maps an edit from its version to the present text and applies it as an
// undo step of its own; a conflict changes nothing.
import { createHash } from "node:crypto";
import { EndOfLine, Range, Uri, workspace, WorkspaceEdit, type Disposable, type TextDocument } from "vscode";
import { ChangeLog, rebase, type Edit } from "./changes.ts";
import type { AppliedEdit, ApplyEdit } from "./protocol.ts";

/** How long an edit is tried again while keys go in. */
const PATIENCE = 5_000;
/** A refusal without a change of the text within this time is the editor's own. */
const NEWS = 1_000;

export class Edits implements Disposable {
  private readonly log = new ChangeLog();
  private readonly subscriptions: Disposable[];

  constructor() {
    const opened = (document: TextDocument): void =>
      this.log.opened(document.uri.toString(), document.version, () => hash(document));
    workspace.textDocuments.forEach(opened);
    this.subscriptions = [
      workspace.onDidOpenTextDocument(opened),
      workspace.onDidCloseTextDocument((document) => this.log.closing(document.uri.toString())),
      workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
        if (contentChanges.length === 0) return;
        const edits = [...contentChanges];
        this.log.changed(document.uri.toString(), document.version, edits, () => hash(document));
      }),
    ];
  }

  dispose(): void {
    this.subscriptions.forEach((each) => each.dispose());
  }

  /** Answers in every case: an edit without an answer blocks its document. */
  async apply(params: ApplyEdit): Promise<AppliedEdit> {
    let document: TextDocument;
    try {
      document = await target(params);
    } catch (error) {
      return { status: "refused", version: 0, hash: "", reason: String(error) };
    }
    const answer = (status: AppliedEdit["status"], reason?: string, edits?: Edit[]): AppliedEdit =>
      ({ status, version: document.version, hash: hash(document), reason, edits });
    try {
      return await this.place(params, document, answer);
    } catch (error) {
      return answer("refused", String(error));
    }
  }

  private async place(
    params: ApplyEdit, document: TextDocument,
    answer: (status: AppliedEdit["status"], reason?: string, edits?: Edit[]) => AppliedEdit,
  ): Promise<AppliedEdit> {
    const uri = document.uri.toString();
    const until = Date.now() + PATIENCE;
    // A closed file's edit was made for the text on disk, which is compared below.
    const version = params.version ?? document.version;
    while (!document.isClosed) {
      const since = this.log.since(uri, version, params.hash);
      if (!since) return answer("conflict", "the changes since that version are no longer known");
      if (since.length === 0 && params.hash !== hash(document)) {
        return answer("conflict", "the text is not the one that the edit was made for");
      }
      const edits = rebase(params.edits, since);
      if (!edits) return answer("conflict", "the user changed the same text");
      if (!edits.every((edit) => document.validateRange(range(edit)).isEqual(range(edit)))) {
        return answer("conflict", "the edit's range is not in the text");
      }
      const tried = document.version;
      const change = new WorkspaceEdit();
      change.set(document.uri, edits.map((edit) => ({ range: range(edit), newText: ends(document, edit.newText) })));
      // The editor compares the version of this moment with its own, in the moment in which it
      // applies: a key that was pressed meanwhile makes it refuse, and the edit is placed again.
      if (await workspace.applyEdit(change)) {
        if (params.save === true) await document.save();
        return since.length > 0 ? answer("rebased", undefined, edits) : answer("applied");
      }
      if (Date.now() > until || (document.version === tried && !(await moved(document)))) {
        return answer("refused", "the editor did not apply the edit");
      }
    }
    return answer("conflict", "the document was closed");
  }
}

/** The edit's document; a closed file is opened, so that its change can be seen and undone. */
async function target(params: ApplyEdit): Promise<TextDocument> {
  const uri = Uri.parse(params.uri);
  const open = workspace.textDocuments.find((each) => each.uri.toString() === uri.toString());
  if (open) return open;
  if (params.version != null) throw new Error("the document is no longer open");
  return workspace.openTextDocument(uri);
}

function range({ range: { start, end } }: Edit): Range {
  return new Range(start.line, start.character, end.line, end.character);
}

/** In the document's own line ends, as the editor would write it anyway. */
function ends(document: TextDocument, text: string): string {
  return text.replace(/\r\n|\r|\n/g, document.eol === EndOfLine.CRLF ? "\r\n" : "\n");
}

export function hash(document: TextDocument): string {
  return createHash("sha256").update(document.getText()).digest("hex");
}

/** Whether the document changes soon. */
function moved(document: TextDocument): Promise<boolean> {
  return new Promise((settle) => {
    const end = (changed: boolean): void => {
      clearTimeout(timer);
      changes.dispose();
      settle(changed);
    };
    const timer = setTimeout(() => end(false), NEWS);
    const changes = workspace.onDidChangeTextDocument((event) => {
      if (event.document === document && event.contentChanges.length > 0) end(true);
    });
  });
}
