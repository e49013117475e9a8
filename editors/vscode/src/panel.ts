// Pages in tabs of the editor that show facts: the next prompt, the status.
import { commands, Uri, ViewColumn, window, type WebviewPanel } from "vscode";
import type { FromPage } from "./messages.ts";
import { tell } from "./server.ts";
import { page } from "./webview.ts";

export class Panel {
  private panel: WebviewPanel | undefined;

  /** `name`: the page's script in `dist`; `read` gives what the page shows. */
  constructor(
    private readonly root: Uri, private readonly name: string, private readonly title: string,
    private readonly read: () => Promise<unknown>,
  ) {}

  async show(): Promise<void> {
    if (this.panel) {
      this.panel.reveal();
      return this.refresh();
    }
    const where = { viewColumn: ViewColumn.Active, preserveFocus: false };
    const localResourceRoots = [this.root], { name, title } = this;
    const options = { enableScripts: true, enableFindWidget: true, localResourceRoots };
    const panel = window.createWebviewPanel(`interline.${name}`, title, where, options);
    const icon = (name: string): Uri => Uri.joinPath(this.root, `media/${name}.svg`);
    panel.iconPath = { light: icon("icon"), dark: icon("icon-dark") };
    panel.onDidDispose(() => (this.panel = undefined));
    panel.webview.onDidReceiveMessage(({ kind }: FromPage) => {
      if (kind === "report") return void commands.executeCommand("interline.report");
      void this.refresh().catch(tell);
    });
    this.panel = panel;
    panel.webview.html = page(this.root, panel.webview, name);
  }

  /** Shows what is true now, where the page is open. */
  async refresh(): Promise<void> {
    const { panel } = this;
    if (!panel) return;
    const facts = await this.read();
    await panel.webview.postMessage(facts);
  }
}
