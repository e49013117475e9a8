// Logging in to an MCP server, and out.
import { window } from "vscode";
import * as say from "./say.ts";
import type { Server } from "./server.ts";

/** Chooses among the servers at an address, and logs in to one; the page opens in the browser. */
export async function mcp(
  server: Server, what: "login" | "logout", given?: string,
): Promise<void> {
  const { mcpServers = [] } = await server.request("interline/status", {});
  const rows = mcpServers.filter(({ transport, loggedIn }) =>
    transport !== "stdio" && (what === "login" || loggedIn));
  if (!given && rows.length === 0) {
    return void say.info(what === "login" ? "no MCP server at an address is set up for this folder."
      : "you are not logged in to an MCP server.");
  }
  const offers = rows.map(({ name = "", state = "", loggedIn }) =>
    ({ label: name, description: loggedIn ? "logged in" : state }));
  const placeHolder = "Choose an MCP server";
  const name = given ?? (await window.showQuickPick(offers, { placeHolder }))?.label;
  if (!name) return;
  const method = what === "login" ? "interline/mcp/login" : "interline/mcp/logout";
  await server.request(method, { server: name });
  void say.info(`logged ${what === "login" ? "in to" : "out of"} ${name}.`);
}
