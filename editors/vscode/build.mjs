// Bundles the extension and its view into dist/.
import { build } from "esbuild";

const shared = { bundle: true, minify: true, sourcemap: false, logLevel: "warning", legalComments: "inline" };

await build({
  ...shared,
  entryPoints: ["src/extension.ts"],
  outfile: "dist/extension.cjs",
  platform: "node",
  format: "cjs",
  target: "node20",
  external: ["vscode"],
});
await build({
  ...shared,
  entryPoints: { view: "src/view/main.tsx" },
  outdir: "dist",
  platform: "browser",
  format: "iife",
  target: "chrome120",
  jsx: "automatic",
  jsxImportSource: "preact",
  loader: { ".ttf": "file" },
  assetNames: "[name]",
});
