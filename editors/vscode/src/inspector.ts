// The page of the next prompt, in a tab of the editor.
import { Uri, ViewColumn, window, type WebviewPanel } from "vscode";
import type { PromptPreview } from "./protocol.ts";
import { tell } from "./server.ts";
import { page } from "./webview.ts";

export class Inspector {
  private panel: WebviewPanel | undefined;

  /** `preview` gives what the next request sends. */
  constructor(
    private readonly root: Uri, private readonly preview: () => Promise<PromptPreview>,
  ) {}

  async show(): Promise<void> {
    if (this.panel) {
      this.panel.reveal();
      return this.refresh();
    }
    const where = { viewColumn: ViewColumn.Active, preserveFocus: false };
    const localResourceRoots = [this.root];
    const options = { enableScripts: true, enableFindWidget: true, localResourceRoots };
    const panel = window.createWebviewPanel("interline.prompt", "Next Prompt", where, options);
    panel.iconPath = Uri.joinPath(this.root, "media/icon.svg");
    panel.onDidDispose(() => (this.panel = undefined));
    panel.webview.onDidReceiveMessage(() => void this.refresh().catch(tell));
    this.panel = panel;
    panel.webview.html = page(this.root, panel.webview, "prompt");
  }

  /** Shows what a request would be now, where the page is open. */
  async refresh(): Promise<void> {
    const { panel } = this;
    if (!panel) return;
    const preview = await this.preview();
    await panel.webview.postMessage(preview);
  }
}
