#!/usr/bin/env node
// Stands between the extension and the server: tests ask the extension what a server would ask, and
// see what it last said about languages. `TAPPED` names the server, `TAP` the file for the port.
import { spawn } from "node:child_process";
import fs from "node:fs";
import http from "node:http";

const server = spawn(process.env.TAPPED, process.argv.slice(2), { stdio: ["pipe", "pipe", "inherit"] });
server.on("exit", (code) => process.exit(code ?? 1));
const frame = (message) => {
  const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }));
  return Buffer.concat([Buffer.from(`Content-Length: ${body.length}\r\n\r\n`), body]);
};

/** Calls back with each frame and its message. */
function frames(stream, each) {
  let held = Buffer.alloc(0);
  stream.on("data", (data) => {
    held = Buffer.concat([held, data]);
    for (;;) {
      const head = held.indexOf("\r\n\r\n");
      const size = head < 0 ? NaN : Number(/content-length: *(\d+)/i.exec(held.subarray(0, head).toString())?.[1]);
      if (!(held.length >= head + 4 + size)) return;
      const end = head + 4 + size;
      each(held.subarray(0, end), JSON.parse(held.subarray(head + 4, end).toString()));
      held = held.subarray(end);
    }
  });
}

const waiting = new Map();
let languages = null, count = 0;
if (process.argv[2] !== "lsp") {
  server.stdout.pipe(process.stdout);
} else {
  frames(process.stdin, (bytes, message) => {
    if (message.method === "interline/languages/didChange") languages = message.params.languages;
    const settle = waiting.get(message.id);
    if (settle && !message.method) settle(message);
    else server.stdin.write(bytes);
  });
  process.stdin.on("end", () => server.stdin.end());
  // Whole frames, so that a question of the tests never comes into one.
  frames(server.stdout, (bytes) => process.stdout.write(bytes));
  const door = http.createServer(async (request, response) => {
    if (request.method === "GET") return response.end(JSON.stringify(languages));
    let text = "";
    for await (const part of request) text += part;
    const id = `tap-${++count}`, answer = new Promise((settle) => waiting.set(id, settle));
    process.stdout.write(frame({ id, ...JSON.parse(text) }));
    response.end(JSON.stringify(await answer));
  });
  door.listen(0, "127.0.0.1", () => fs.writeFileSync(process.env.TAP, `${door.address().port}`));
}
