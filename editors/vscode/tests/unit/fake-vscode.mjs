// As much of the editor's API as edits, messages and the chat view need, with an editor's own copy of the text that runs ahead.
import { EventEmitter as Emitter } from "node:events";
import { fileURLToPath } from "node:url";

const events = new Emitter();
const on = (name) => (listener) => {
  events.on(name, listener);
  return { dispose: () => events.off(name, listener) };
};
export const EndOfLine = { LF: 1, CRLF: 2 };
export class Range {
  constructor(line, character, endLine, endCharacter) {
    Object.assign(this, { start: { line, character }, end: { line: endLine, character: endCharacter } });
  }

  isEqual(other) {
    return JSON.stringify(this) === JSON.stringify(other);
  }
}
export class Position {
  constructor(line, character) {
    Object.assign(this, { line, character });
  }
}
export class Selection {}
export const env = {};
export const languages = {
  getDiagnostics: () => [],
  onDidChangeDiagnostics: on("reported"),
  report: (...uris) => events.emit("reported", { uris }),
};
export const QuickPickItemKind = { Separator: -1, Default: 0 };
export const ThemeIcon = class {};
export const LogLevel = { Off: 0, Trace: 1 };
export const Uri = {
  parse: (text) => ({ toString: () => text }),
  joinPath: (_, ...names) => ({ fsPath: fileURLToPath(new URL(`../../${names.join("/")}`, import.meta.url)) }),
};
export class EventEmitter {
  own = new Emitter();
  event = (listener) => void this.own.on("fired", listener);
  fire(value) {
    this.own.emit("fired", value);
  }
}
export class WorkspaceEdit {
  set(uri, edits) {
    Object.assign(this, { uri, edits });
  }
}

class Document {
  eol = EndOfLine.LF;
  isClosed = false;

  constructor(uri, text) {
    Object.assign(this, { uri: Uri.parse(uri), text, version: 1 });
  }

  getText(range) {
    return range ? this.text.slice(this.offset(range.start), this.offset(range.end)) : this.text;
  }

  offset({ line, character }) {
    return this.text.split("\n").slice(0, line).reduce((sum, each) => sum + each.length + 1, 0) + character;
  }

  validateRange(range) {
    const lines = this.text.split("\n"), last = lines.length - 1;
    const clamp = ({ line, character }) => line > last ? [last, lines[last].length] : [line, Math.min(character, lines[line].length)];
    return new Range(...clamp(range.start), ...clamp(range.end));
  }

  /** A change that the extension host receives. */
  change(...edits) {
    for (const { range, newText } of [...edits].reverse()) {
      this.text = this.text.slice(0, this.offset(range.start)) + newText + this.text.slice(this.offset(range.end));
    }
    this.version += 1;
    const contentChanges = [...edits].reverse().map(({ range, newText }) => ({ range, text: newText }));
    events.emit("changed", { document: this, contentChanges });
  }
}

export const editor = {
  /** What messages said, and the commands that ran. */
  said: [],
  ran: [],
  /** Keys that the editor has and the extension host does not have yet. */
  pressed: [],
  refuses: false,
  applied: 0,
  open(uri, text) {
    const document = new Document(uri, text);
    workspace.textDocuments.push(document);
    events.emit("opened", document);
    return document;
  },
};

const message = async (text) => void editor.said.push(text);
export const window = { state: { focused: true }, showInformationMessage: message, showWarningMessage: message, showErrorMessage: message };
export const commands = { executeCommand: async (name) => void editor.ran.push(name) };

export const extensions = { getExtension: () => undefined };
export const workspace = {
  getConfiguration: () => ({ get: (_, value) => value }),
  asRelativePath: String,
  textDocuments: [],
  openTextDocument: async (uri) => workspace.textDocuments.find((each) => `${each.uri}` === `${uri}`),
  onDidOpenTextDocument: on("opened"),
  onDidCloseTextDocument: on("closed"),
  onDidChangeTextDocument: on("changed"),
  async applyEdit({ uri, edits }) {
    const document = workspace.textDocuments.find((each) => each.uri === uri);
    if (editor.refuses) return false;
    const key = editor.pressed.shift();
    if (key) {
      setTimeout(() => document.change(key), 10);
      return false;
    }
    editor.applied += 1;
    document.change(...edits);
    return true;
  },
};
