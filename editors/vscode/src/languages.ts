// `interline/languages/didChange`: for which languages an extension can answer. VS Code does not
// say who provides what, so a language counts once something of it was found: a definition at a
// place where there must be one. Documents are tried when they open and while servers start.
import {
  commands, extensions, languages, window, workspace, type Disposable, type DocumentSymbol,
  type Position, type SymbolInformation, type TextDocument,
} from "vscode";

/** ms until a language is tried, and tried again; for which nothing found may mean: starting. */
const TRIES = [500, 1_000, 2_000, 4_000, 8_000, 15_000, 30_000, 60_000], STARTS = 120_000;
/** Places of a document at which definitions are looked for. */
const PLACES = 3;

type Symbols = (SymbolInformation & DocumentSymbol)[];

export class Languages {
  private readonly known = new Set<string>();
  /** When each language was met first, and the tries that are planned. */
  private readonly met = new Map<string, number>();
  private readonly planned = new Map<string, NodeJS.Timeout>();

  constructor(private readonly tell: (languages: string[]) => void, subscriptions: Disposable[]) {
    const again = ({ languageId, uri }: TextDocument): void => {
      if (uri.scheme === "file") this.plan(languageId);
    };
    subscriptions.push(
      workspace.onDidOpenTextDocument(again),
      extensions.onDidChange(() => this.all(true)),
      // A server that reports something has started.
      languages.onDidChangeDiagnostics(({ uris }) => {
        const names = new Set(uris.map((uri) => `${uri}`));
        workspace.textDocuments.filter(({ uri }) => names.has(`${uri}`)).forEach(again);
      }),
      { dispose: () => this.planned.forEach((timer) => clearTimeout(timer)) },
    );
  }

  /** Tells a server that has just started; `recheck`: what was found may have gone. */
  all(recheck = false): void {
    if (recheck) this.met.clear();
    else this.flush();
    const open = workspace.textDocuments.filter(({ uri }) => uri.scheme === "file");
    for (const language of new Set(open.map(({ languageId }) => languageId))) {
      this.plan(language, recheck);
    }
  }

  has(language: string): boolean {
    return this.known.has(language);
  }

  any(): boolean {
    return this.known.size > 0;
  }

  get names(): string[] {
    return [...this.known].sort();
  }

  add(language: string): void {
    if (this.known.has(language)) return;
    this.known.add(language);
    this.flush();
  }

  /** What it means that nothing was found in the document. */
  async state(document: TextDocument): Promise<"ok" | "starting" | "unsupported"> {
    const { languageId } = document;
    if (await this.try(document)) return "ok";
    const met = this.meet(languageId), claims = claimed(languageId);
    const starts = claims.some(({ isActive }) => !isActive)
      || (claims.length > 0 && Date.now() - met < STARTS);
    if (starts) this.plan(languageId);
    return starts ? "starting" : "unsupported";
  }

  private flush(): void {
    if (this.known.size > 0 || this.met.size > 0) this.tell(this.names);
  }

  private meet(language: string): number {
    if (!this.met.has(language)) this.met.set(language, Date.now());
    return this.met.get(language)!;
  }

  private plan(language: string, recheck = false, tries = 0): void {
    const done = this.known.has(language) && !recheck;
    if (done || this.planned.has(language) || tries >= TRIES.length) return;
    this.meet(language);
    this.planned.set(language, setTimeout(async () => {
      const shown = window.visibleTextEditors.map(({ document }) => document);
      const document = [...shown, ...workspace.textDocuments].find((it) =>
        it.languageId === language && it.uri.scheme === "file");
      const found = document && await this.try(document).catch(() => false);
      this.planned.delete(language);
      if (document && !found) this.plan(language, recheck, tries + 1);
    }, TRIES[tries]));
  }

  /** Looks for a definition, and notes whether there is one. */
  private async try(document: TextDocument): Promise<boolean> {
    const { languageId } = document, places = await this.places(document);
    const found = await Promise.all(places.map((place) => {
      const name = "vscode.executeDefinitionProvider";
      return commands.executeCommand<unknown[] | undefined>(name, document.uri, place);
    }));
    const answered = found.some((each) => each?.length);
    if (answered) this.add(languageId);
    else if (places.length > 0 && this.known.delete(languageId)) this.flush();
    return answered;
  }

  /** Names of symbols, which are their own definitions; else the first words. */
  private async places(document: TextDocument): Promise<Position[]> {
    const name = "vscode.executeDocumentSymbolProvider", text = document.getText();
    const symbols = await commands.executeCommand<Symbols | undefined>(name, document.uri) ?? [];
    const named = symbols.slice(0, PLACES).map((it) => it.selectionRange?.start ?? document
      .positionAt(text.indexOf(it.name, document.offsetAt(it.location.range.start))));
    if (named.length > 0) return named;
    const words = [...text.slice(0, 10_000).matchAll(/[\p{L}_][\p{L}\p{N}_]*/gu)];
    return words.slice(0, PLACES).map(({ index }) => document.positionAt(index));
  }
}

/** The extensions with code that are meant for a language. */
function claimed(language: string) {
  return extensions.all.filter(({ packageJSON: it }) => it.main
    && (it.activationEvents?.includes(`onLanguage:${language}`)
      || it.contributes?.languages?.some(({ id }: { id: string }) => id === language)));
}
