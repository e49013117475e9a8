// The extension, as the view reaches it.
import type { FromView } from "../messages.ts";

interface Editor {
  postMessage(message: FromView): void;
  getState(): unknown;
  setState(state: unknown): void;
}
declare function acquireVsCodeApi(): Editor;

export const editor = acquireVsCodeApi();
export const post = (message: FromView): void => editor.postMessage(message);
