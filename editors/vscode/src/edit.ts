// `interline/edit/apply`: maps an edit from its version to the current text and applies it as an
// undo step of its own; a conflict changes nothing.
import { createHash } from "node:crypto";
import { Range, Uri, workspace, WorkspaceEdit, type Disposable, type TextDocument } from "vscode";
import { ChangeLog, rebase } from "./changes.ts";
import type { AppliedEdit, ApplyEdit, WireRange } from "./protocol.ts";

/** ms for which an edit is tried again while keys go in, and between two tries. */
const PATIENCE = 3_000, PAUSE = 10;

type Answer = Pick<AppliedEdit, "status" | "reason" | "edits">;

export class Edits {
  private readonly log = new ChangeLog();

  constructor(subscriptions: Disposable[] = []) {
    const opened = (document: TextDocument): void =>
      this.log.opened(`${document.uri}`, document.version, () => hash(document));
    workspace.textDocuments.forEach(opened);
    subscriptions.push(
      workspace.onDidOpenTextDocument(opened),
      workspace.onDidCloseTextDocument(({ uri }) => this.log.closing(`${uri}`)),
      workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
        const { uri, version } = document;
        this.log.changed(`${uri}`, version, contentChanges, () => hash(document));
      }),
    );
  }

  /** Answers in every case: an edit without an answer blocks its document. */
  readonly apply = async (params: ApplyEdit): Promise<AppliedEdit> => {
    let document: TextDocument | undefined, answer: Answer;
    try {
      document = await target(params);
      answer = await this.place(params, document);
    } catch (error) {
      answer = { status: "refused", reason: String(error) };
    }
    return { ...answer, version: document?.version ?? 0, hash: document ? hash(document) : "" };
  };

  private async place(params: ApplyEdit, document: TextDocument): Promise<Answer> {
    const until = Date.now() + PATIENCE;
    // A closed file's edit was made for the text on disk, which is compared below.
    const version = params.version ?? document.version;
    for (;;) {
      // Of a document that was closed meanwhile no changes are known.
      const since = this.log.since(`${document.uri}`, version, params.hash);
      const known = since && (since.length > 0 || params.hash === hash(document));
      if (params.exact && known && since.length > 0) {
        return { status: "refused", reason: "the text has changed" };
      }
      const old = (at: Parameters<typeof range>[0]): string => document.getText(range(at));
      const edits = known ? rebase(params.edits, since, old) : undefined;
      const changes = edits?.map((edit) => ({ range: range(edit.range), newText: edit.newText }));
      if (!changes?.every(({ range }) => document.validateRange(range).isEqual(range))) {
        return { status: "conflict", reason: "the text there is not the edit's any more" };
      }
      const change = new WorkspaceEdit();
      change.set(document.uri, changes);
      // The editor compares the version of this moment with its own, in the moment in which it
      // applies: a key that was pressed meanwhile makes it refuse, and the edit is placed again.
      if (await workspace.applyEdit(change)) {
        if (params.save === true) await document.save();
        return since?.length ? { status: "rebased", edits } : { status: "applied" };
      }
      if (Date.now() > until) return { status: "refused", reason: "the editor did not apply it" };
      await new Promise((settle) => setTimeout(settle, PAUSE));
    }
  }
}

export function range({ start, end }: WireRange): Range {
  return new Range(start.line, start.character, end.line, end.character);
}

/** The edit's document; a closed file is opened, so that its change can be seen and undone. */
async function target({ uri, version }: ApplyEdit): Promise<TextDocument> {
  const open = openDocument(uri);
  if (!open && version != null) throw new Error("the document is no longer open");
  return open ?? workspace.openTextDocument(Uri.parse(uri));
}

/** The open document of that name. */
export const openDocument = (uri: string): TextDocument | undefined =>
  workspace.textDocuments.find((each) => `${each.uri}` === `${Uri.parse(uri)}`);

function hash(document: TextDocument): string {
  return createHash("sha256").update(document.getText()).digest("hex");
}
