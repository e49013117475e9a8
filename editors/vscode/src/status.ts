// The status in words: sections with labelled rows, for the page of the status. Pure.
import { facts } from "./facts.ts";
import { PROVIDERS, type Section, type State, type StatusRow } from "./messages.ts";
import type { DocumentStatus, McpServer, ModelRow, Off, SessionRow, Status } from "./protocol.ts";

/** `name`: gives a URI or a path as the user knows it. */
export interface Known {
  status: Status;
  state: State | undefined;
  program: string;
  languages: string[];
  off: Off[];
  name(uri: string): string;
}

/** What the states of files mean (protocol.md, *The state of a file*). */
const FILES: Record<string, [words: string, warns?: true]> = {
  clean: ["as on disk"], unsaved: ["unsaved changes"], new: ["not on disk yet"],
  outdated: ["the file on disk is newer: reload it", true],
  conflicting: ["changed here and on disk", true],
  different: ["differs from the file on disk", true], deleted: ["deleted on disk", true],
};
const FEATURES: Record<string, string> = {
  createFiles: "New files", versionedEdits: "Edits with versions", save: "Saving",
  approvalMessages: "Approvals", questionMessages: "Questions", sandbox: "Sandbox",
  query: "Language servers of the editor", tools: "Tools of the editor",
};
/** What commands of the agent may do. */
const GRADES: Record<string, [string, StatusRow["level"]]> = {
  full: ["complete: commands change only the folders, and see no secrets", "ok"],
  partial: ["partial: commands change only the folders", "warning"],
  none: ["none: commands have your rights", "warning"],
};
const SOURCES: Record<string, string> = { user: "yours", client: "of this session" };

const count = (many: number, one: string): string =>
  `${many.toLocaleString("en")} ${many === 1 ? one : `${one}s`}`;

export function sections(known: Known): Section[] {
  const { status, languages, off } = known;
  const { sessions = [], documents = [], mcpServers = [], ignoredSettings = [] } = status;
  const { policy = {}, modelDetails = [] } = status;
  const ignored = ignoredSettings.map(({ key, source, reason }): StatusRow =>
    ({ label: key, value: reason, note: source, level: "warning" }));
  return [
    { title: "Overview", rows: overview(known) },
    { title: "Ignored settings", rows: ignored, empty: "No setting is ignored." },
    { title: "Sessions", rows: sessions.map(session), empty: "No session is open." },
    {
      title: "Files", rows: documents.map((each) => file(each, known.name)),
      empty: "Interline sees no open file.",
    },
    { title: "MCP servers", rows: mcpServers.map(mcp), empty: "No session uses an MCP server." },
    {
      title: "Languages", empty: "No language extension has answered yet.",
      rows: languages.map((label) => ({ label, value: "an extension answers", level: "ok" })),
    },
    { title: "Models", rows: providers(modelDetails), empty: "There is no model." },
    { title: "Not available", rows: off.map(absent), empty: "All features are available." },
    { title: "Settings in force", rows: Object.entries(policy).map(setting), empty: "None." },
  ];
}

function overview({ status, state, program, name }: Known): StatusRow[] {
  const { version = "unknown", trust = {} } = status;
  const rows: StatusRow[] = [{ label: "Program", value: `Interline ${version}`, note: program }];
  if (state?.model) rows.push({ label: "Model", value: state.model });
  if (state?.mode) rows.push({ label: "Mode", value: state.mode });
  if (state?.agent) rows.push({ label: "Agent", value: state.agent });
  // A line of facts begins with its label; the folders come with their paths below.
  for (const line of state ? facts(state) : []) {
    const [label = "", ...words] = line.split(": ");
    if (label !== "Folder") rows.push({ label, value: words.join(": ") });
  }
  const [words, level] = GRADES[status.sandbox ?? ""] ?? [];
  if (words) rows.push({ label: "Sandbox", value: words, level: level! });
  for (const [folder, trusted] of Object.entries(trust)) {
    rows.push({
      label: "Folder", value: name(folder), level: trusted ? "ok" : "warning",
      note: trusted ? "trusted" : "not trusted: every edit asks, AGENTS.md is unverified text",
    });
  }
  return rows;
}

function session({ title, turns, tokens, cost, state }: SessionRow): StatusRow {
  const spent = cost ? [`$${cost.toFixed(cost < 0.1 ? 4 : 2)}`] : [];
  const words = [state, count(turns, "turn"), count(tokens, "token"), ...spent];
  return { label: title || "New session", value: words.join(" · ") };
}

function file(document: DocumentStatus, name: Known["name"]): StatusRow {
  const { uri, file: kind, agentTouched, state } = document;
  const [words, warns] = FILES[kind] ?? [kind];
  const value = [words, ...agentTouched ? ["edited by the agent"] : []].join(", ");
  const strange = state !== "open";
  return {
    label: name(uri), value, ...strange && { note: state },
    ...(warns || strange) && { level: "warning" as const },
  };
}

function mcp(server: McpServer) {
  const { name = "", state = "", source = "", reason, sandbox, tools = [], notes = [] } = server;
  const value = state === "needsLogin" ? "needs a login: Log In to an MCP Server…"
    : [
      state, ...state === "ready" ? [count(tools.length, "tool")] : [],
      ...sandbox ? [`sandbox: ${sandbox}`] : [],
    ].join(", ");
  const note = [SOURCES[source] ?? source, ...reason ? [reason] : [], ...notes].join(" · ");
  const level = state === "ready" ? "ok" : state === "failed" ? "error"
    : state === "needsLogin" ? "warning" : undefined;
  return { label: name, value, note, ...level && { level } } satisfies StatusRow;
}

/** A row for each provider. */
function providers(models: ModelRow[]): StatusRow[] {
  const names = [...new Set(models.map(({ provider }) => provider))];
  return names.map((name) => {
    const own = models.filter(({ provider }) => provider === name);
    const ready = own.some((each) => each.ready);
    return {
      label: PROVIDERS[name] ?? name, value: ready ? "ready" : "no key",
      note: count(own.length, "model"),
      ...ready && { level: "ok" as const },
    };
  });
}

const absent = ({ feature, reason }: Off): StatusRow =>
  ({ label: FEATURES[feature] ?? feature, value: reason });

function setting([label, given]: [string, unknown]): StatusRow {
  const { value, source } = given as { value?: unknown; source?: unknown };
  const words = typeof value === "string" ? value : JSON.stringify(value);
  return { label, value: words ?? "", ...typeof source === "string" && { note: source } };
}
