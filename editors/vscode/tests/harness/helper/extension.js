// Lets tests look into a window: code that they post runs in its extension host. Test use only.
const fs = require("node:fs");
const http = require("node:http");
const path = require("node:path");
const vscode = require("vscode");

exports.activate = () => {
  const server = http.createServer(async (request, response) => {
    let code = "";
    for await (const part of request) code += part;
    try {
      const value = await new Function("vscode", `return (async () => { ${code} })()`)(vscode);
      response.end(JSON.stringify({ value }));
    } catch (error) {
      response.end(JSON.stringify({ error: String(error?.stack ?? error) }));
    }
  });
  server.listen(0, "127.0.0.1", () => {
    const folders = (vscode.workspace.workspaceFolders ?? []).map((folder) => folder.uri.fsPath);
    const file = path.join(process.env.INTERLINE_WINDOWS, `${process.pid}.json`);
    fs.writeFileSync(`${file}.part`, JSON.stringify({ port: server.address().port, folders, pid: process.pid }));
    fs.renameSync(`${file}.part`, file);
  });
};
