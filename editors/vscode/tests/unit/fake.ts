// Modules that are imported after this one get the fake instead of the editor's API.
import { registerHooks } from "node:module";

registerHooks({
  resolve: (name, context, next) =>
    name === "vscode" ? { url: new URL("fake-vscode.mjs", import.meta.url).href, shortCircuit: true } : next(name, context),
});
