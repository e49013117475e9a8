// `interline/workspace/save`: saves the named documents, because a command is about to read them.
import { openDocument } from "./edit.ts";
import type { SaveDocuments, SavedDocument, SavedDocuments } from "./protocol.ts";

export async function save(params: SaveDocuments): Promise<SavedDocuments> {
  // One after the other: a question that the editor asks about one is answered before the next.
  const results: SavedDocument[] = [];
  for (const uri of params.uris) results.push(await one(uri));
  return { results };
}

async function one(uri: string): Promise<SavedDocument> {
  const document = openDocument(uri);
  if (!document) return { uri, status: "declined", reason: "the file is not open in the editor" };
  // The editor refuses, and tells the user, where the file changed on disk meanwhile.
  const saved = !document.isDirty || await document.save().then((done) => done, () => false);
  const reason = "the editor did not save it; it may have changed on disk since it was read";
  const outcome = saved ? { status: "saved" } : { status: "failed", reason };
  return { uri, version: document.version, ...outcome };
}
