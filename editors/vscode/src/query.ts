// `interline/editor/query`: what the language servers of other extensions know, as data. Nothing is
// applied here.
import {
  commands, languages, Position, Uri, workspace, type CodeAction, type Diagnostic,
  type Disposable, type DocumentSymbol, type Hover, type Location, type LocationLink,
  type MarkdownString, type MarkedString, type SymbolInformation, type WorkspaceEdit,
} from "vscode";
import { wire } from "./context.ts";
import { openDocument, range } from "./edit.ts";
import type { Languages } from "./languages.ts";
import type { EditorAnswer, EditorQuery, QueryKind } from "./protocol.ts";

/** ms: the server stops waiting after 12 s; between two tries. Actions that are resolved. */
const LIMIT = 9_000, PAUSE = 100, RESOLVED = 50;
/** ms for which reports are waited for after a change; without one for so long, they are done. */
const SETTLES = 4_000, QUIET = 1_000;

type Symbols = (SymbolInformation & DocumentSymbol)[];
type Found = Pick<EditorAnswer, "items" | "edit">;
/** File operations are not among the public entries, and an edit without them would be half. */
interface Entry { uri: Uri; from?: Uri; to?: Uri; options?: object }

const execute = <T>(command: string, ...given: unknown[]): Thenable<T | undefined> =>
  commands.executeCommand(`vscode.execute${command}Provider`, ...given);

function version(uri: string): number | null {
  return openDocument(uri)?.version ?? null;
}

function place(found: Location | LocationLink) {
  return "targetUri" in found
    ? { uri: `${found.targetUri}`, range: wire(found.targetSelectionRange ?? found.targetRange) }
    : { uri: `${found.uri}`, range: wire(found.range) };
}

function markdown(part: MarkdownString | MarkedString): string {
  if (typeof part === "string") return part;
  return "language" in part ? `\`\`\`${part.language}\n${part.value}\n\`\`\`` : part.value;
}

function outline(symbols: Symbols, container?: string): object[] {
  return symbols.flatMap((it) => {
    const at = wire(it.range ?? it.location.range), own = it.selectionRange;
    const inside = container ?? (it.containerName || undefined);
    const symbol = { name: it.name, kind: it.kind + 1, range: at, container: inside };
    const selectionRange = own ? wire(own) : at;
    return [{ ...symbol, selectionRange }, ...outline((it.children ?? []) as Symbols, it.name)];
  });
}

/** Entries in their order; the edits of one text together. */
export function asData(edit: WorkspaceEdit) {
  const texts = new Map(edit.entries().map(([uri, edits]) => [`${uri}`, edits]));
  const all = (edit as unknown as { _allEntries?(): Entry[] })._allEntries?.()
    ?? edit.entries().map(([uri]): Entry => ({ uri }));
  const documentChanges = all.flatMap(({ uri: file, from, to, options }): object[] => {
    if (from && to) return [{ kind: "rename", oldUri: `${from}`, newUri: `${to}`, options }];
    if (from ?? to) return [{ kind: from ? "delete" : "create", uri: `${from ?? to}`, options }];
    const uri = `${file}`, edits = texts.get(uri);
    texts.delete(uri);
    if (!edits) return [];
    const changes = edits.map((each) => ({ range: wire(each.range), newText: each.newText }));
    return [{ textDocument: { uri, version: version(uri) }, edits: changes }];
  });
  return { documentChanges };
}

/** What each kind asks, and its answer as items. */
const ASK: Record<Exclude<QueryKind, "diagnostics">, (it: EditorQuery) => Promise<Found>> = {
  async definition(it) {
    const found = await execute<Location[]>("Definition", ...at(it));
    return { items: found?.map(place) };
  },
  async references(it) {
    const found = await execute<Location[]>("Reference", ...at(it));
    return { items: found?.map(place) };
  },
  async hover(it) {
    const found = await execute<Hover[]>("Hover", ...at(it)) ?? [];
    const texts = found.map(({ contents }) => contents.map(markdown).join("\n\n").trim());
    const contents = texts.filter(Boolean).join("\n\n---\n\n");
    return { items: contents ? [{ contents }] : [] };
  },
  async documentSymbols(it) {
    return { items: outline(await execute<Symbols>("DocumentSymbol", Uri.parse(it.uri!)) ?? []) };
  },
  async workspaceSymbols(it) {
    const found = await execute<SymbolInformation[]>("WorkspaceSymbol", it.query ?? "") ?? [];
    const items = found.map(({ name, kind, location, containerName: container }) =>
      ({ name, kind: kind + 1, ...place(location), container: container || undefined }));
    return { items };
  },
  async rename(it) {
    const edit = await execute<WorkspaceEdit>("DocumentRename", ...at(it), it.newName ?? "");
    const data = edit && asData(edit);
    return data?.documentChanges.length ? { edit: data } : {};
  },
  async codeActions(it) {
    const given = [Uri.parse(it.uri!), range(it.range!), undefined, RESOLVED];
    const found = await execute<CodeAction[]>("CodeAction", ...given) ?? [];
    return { items: found.filter(({ edit }) => edit?.entries().length).map((action) => ({
      title: action.title, kind: action.kind?.value, preferred: action.isPreferred,
      edit: asData(action.edit!),
    })) };
  },
};

function at({ uri, position }: EditorQuery): [Uri, Position] {
  return [Uri.parse(uri!), new Position(position!.line, position!.character)];
}

/** The open documents that an answer's edits are for, each with its version. */
function edited({ items = [], edit }: Found): string[] {
  const edits = [edit, ...items.map((item) => (item as Found).edit)] as ReturnType<typeof asData>[];
  const changes = edits.flatMap((each) => each?.documentChanges ?? []);
  return changes.flatMap((it) => "textDocument" in it ? [JSON.stringify(it.textDocument)] : []);
}

const pause = (): Promise<void> => new Promise((settle) => setTimeout(settle, PAUSE));

export class Queries {
  /** When each text, and what is reported about it, changed last. */
  private readonly changed = new Map<string, number>();
  private readonly reported = new Map<string, number>();

  constructor(
    private readonly known: Languages,
    private readonly asProblems: (found: Diagnostic[]) => unknown[],
    subscriptions: Disposable[],
  ) {
    subscriptions.push(
      workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
        if (contentChanges.length > 0) this.changed.set(`${document.uri}`, Date.now());
      }),
      languages.onDidChangeDiagnostics(({ uris }) => {
        for (const uri of uris) this.reported.set(`${uri}`, Date.now());
      }),
    );
  }

  /** Answers in every case, and in time. */
  readonly answer = async (asked: EditorQuery): Promise<EditorAnswer> => {
    const until = Date.now() + LIMIT;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<EditorAnswer>((settle) => {
      const message = "the language server did not answer in time";
      timer = setTimeout(() => settle({ status: "error", message }), LIMIT);
    });
    const failed = (error: unknown): EditorAnswer =>
      ({ status: "error", message: error instanceof Error ? error.message : `${error}` });
    const answer = await Promise.race([this.run(asked, until).catch(failed), late]);
    clearTimeout(timer);
    return { items: [], ...answer };
  };

  private async run(asked: EditorQuery, until: number): Promise<EditorAnswer> {
    const { kind, uri, minVersion } = asked;
    while (uri && minVersion != null && !((version(uri) ?? -1) >= minVersion)) {
      if (Date.now() > until) throw new Error("the editor does not have that version of the text");
      await pause();
    }
    if (kind === "diagnostics") {
      if (uri) await this.settle(Uri.parse(uri));
      return this.problems(uri);
    }
    // VS Code loses the other arguments of some commands for a document that is not open.
    if (uri) await workspace.openTextDocument(Uri.parse(uri));
    while (Date.now() < until) {
      const before = new Map(workspace.textDocuments.map((it) => [`${it.uri}`, it.version]));
      const found = await ASK[kind](asked).catch((error: unknown) => {
        // The text changed meanwhile: the same request may succeed later.
        if (!/content modified/i.test(`${error}`)) throw error;
      });
      if (!found) {
        await pause();
        continue;
      }
      // Computed while keys came: on which text is not known.
      const changed = edited(found).some((each) => {
        const { uri: name, version: now } = JSON.parse(each);
        return now !== null && before.get(name) !== undefined && before.get(name) !== now;
      });
      if (changed) await pause();
      else if (found.edit || found.items?.length) return this.found(asked, before, found);
      else return this.nothing(asked, before);
    }
    throw new Error("the text kept changing");
  }

  private found({ uri }: EditorQuery, before: Map<string, number>, found: Found): EditorAnswer {
    const document = uri ? openDocument(uri) : undefined;
    if (document) this.known.add(document.languageId);
    return { status: "ok", version: before.get(`${document?.uri}`), ...found };
  }

  /** The answer when nothing was found: there is nothing, or the server is still starting. */
  private async nothing({ uri }: EditorQuery, before: Map<string, number>): Promise<EditorAnswer> {
    if (!uri) return { status: this.known.any() ? "ok" : "unsupported" };
    const document = await workspace.openTextDocument(Uri.parse(uri));
    const state = await this.known.state(document);
    if (state === "starting") return { status: state, retryAfterMs: 1_000 };
    return { status: state, version: before.get(`${document.uri}`) };
  }

  /** Waits until a changed document was reported about, and nothing more comes for a moment. */
  private async settle(uri: Uri): Promise<void> {
    const name = `${uri}`, language = openDocument(name)?.languageId;
    if (!language || !this.known.has(language)) return;
    for (;;) {
      const changed = this.changed.get(name) ?? 0, reported = this.reported.get(name) ?? 0;
      const done = reported >= changed && Date.now() - reported > QUIET;
      if (done || Date.now() - changed > SETTLES) return;
      await pause();
    }
  }

  private problems(uri?: string | null): EditorAnswer {
    const all = uri ? [[Uri.parse(uri), languages.getDiagnostics(Uri.parse(uri))] as const]
      : languages.getDiagnostics().filter(([, found]) => found.length > 0);
    const items = all.filter(([{ scheme }]) => scheme === "file").map(([file, found]) => ({
      uri: `${file}`, version: version(`${file}`) ?? undefined,
      diagnostics: this.asProblems([...found]),
    }));
    return { status: "ok", items };
  }
}
