// Bundles the extension and its view into dist/, with the licences of what is in them.
import fs from "node:fs";
import { build } from "esbuild";

const shared = {
  bundle: true, minify: true, sourcemap: false, logLevel: "warning", legalComments: "inline", metafile: true,
};

const extension = await build({
  ...shared,
  entryPoints: ["src/extension.ts"],
  outfile: "dist/extension.cjs",
  platform: "node",
  format: "cjs",
  target: "node20",
  external: ["vscode"],
});
const view = await build({
  ...shared,
  entryPoints: { view: "src/view/main.tsx", prompt: "src/page/prompt.tsx", status: "src/page/status.tsx" },
  outdir: "dist",
  platform: "browser",
  format: "iife",
  target: "chrome120",
  jsx: "automatic",
  jsxImportSource: "preact",
  loader: { ".ttf": "file" },
  assetNames: "[name]",
});

const inputs = [extension, view].flatMap(({ metafile }) => Object.keys(metafile.inputs));
const folders = new Set(inputs.flatMap((name) => /.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(name) ?? []));
const texts = [...folders].sort().map((folder) => {
  const { name, version, license } = JSON.parse(fs.readFileSync(`${folder}/package.json`, "utf8"));
  const files = fs.readdirSync(folder).filter((file) => /^licen[cs]e/i.test(file));
  return [`${name} ${version} (${license})`, ...files.map((file) => fs.readFileSync(`${folder}/${file}`, "utf8"))].join("\n\n");
});
fs.writeFileSync("dist/licenses.txt", texts.join("\n\n----\n\n"));
