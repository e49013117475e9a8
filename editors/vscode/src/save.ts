// `interline/workspace/save`: saves the named documents, because a command is about to read them.
import { Uri, workspace } from "vscode";
import type { SaveDocuments, SavedDocument, SavedDocuments } from "./protocol.ts";

export async function save(params: SaveDocuments): Promise<SavedDocuments> {
  // One after the other: a question that the editor asks about one is answered before the next.
  const results: SavedDocument[] = [];
  for (const uri of params.uris) results.push(await one(uri));
  return { results };
}

async function one(uri: string): Promise<SavedDocument> {
  const key = Uri.parse(uri).toString();
  const document = workspace.textDocuments.find((each) => each.uri.toString() === key);
  if (!document) return { uri, status: "declined", reason: "the file is not open in the editor" };
  try {
    // The editor refuses, and tells the user, where the file changed on disk meanwhile.
    const saved = !document.isDirty || await document.save();
    if (saved) return { uri, status: "saved", version: document.version };
    const reason = "the editor did not save it; it may have changed on disk since it was read";
    return { uri, status: "failed", version: document.version, reason };
  } catch (error) {
    return { uri, status: "failed", version: document.version, reason: String(error) };
  }
}
