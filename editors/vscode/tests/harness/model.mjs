// A model on loopback that speaks the Anthropic Messages stream. A script is an async generator: it
// gets the request, yields `{ say, think, calls, deltas, refuses, limited }`, and is sent the results of its calls.
import http from "node:http";

export class Model {
  scripts = [];
  runs = new Map();
  requests = [];
  violations = [];
  count = 0;

  static async start() {
    const model = new Model();
    model.server = http.createServer((request, response) => model.serve(request, response));
    await new Promise((settle) => model.server.listen(0, "127.0.0.1", settle));
    model.url = `http://127.0.0.1:${model.server.address().port}`;
    return model;
  }

  /** Prompts that contain `words` are answered by `script`. */
  on(words, script) {
    this.scripts.unshift({ words, script });
  }

  close() {
    this.server.closeAllConnections();
    this.server.close();
  }

  async serve(request, response) {
    let text = "";
    for await (const part of request) text += part;
    if (request.url !== "/v1/messages") {
      response.writeHead(404).end();
      return;
    }
    const body = JSON.parse(text);
    this.requests.push({ body, headers: request.headers });
    this.examine(request, body);
    const gone = new AbortController();
    response.on("close", () => gone.abort());
    try {
      const step = await this.next(body, gone.signal);
      if (step.refuses) {
        const error = { type: "authentication_error", message: "invalid x-api-key" };
        response.writeHead(401, { "content-type": "application/json" }).end(JSON.stringify({ type: "error", error }));
        return;
      }
      if (step.limited) {
        const error = { type: "rate_limit_error", message: "Too many requests." };
        response.writeHead(429, { "content-type": "application/json", "retry-after": `${step.limited}` });
        response.end(JSON.stringify({ type: "error", error }));
        return;
      }
      await stream(response, body.model, step, this.count, gone.signal);
    } catch (error) {
      this.violations.push(String(error?.stack ?? error));
      if (!response.headersSent) response.writeHead(400).end(JSON.stringify({
        type: "error", error: { type: "invalid_request_error", message: String(error) },
      }));
      else response.end();
    }
  }

  examine(request, body) {
    if (!request.headers["x-api-key"] || !request.headers["anthropic-version"]) this.violations.push("headers");
    if (body.stream !== true || body.messages.at(-1).role !== "user") this.violations.push("not a stream for a user");
    const uses = body.messages.flatMap((message) => blocks(message).filter((block) => block.type === "tool_use"));
    const results = body.messages.flatMap((message) => blocks(message).filter((block) => block.type === "tool_result"));
    for (const use of uses) {
      const found = results.filter((result) => result.tool_use_id === use.id).length;
      if (found !== 1) this.violations.push(`${found} results for ${use.id}`);
    }
  }

  async next(body, gone) {
    const last = blocks(body.messages.at(-1));
    const results = last.filter((block) => block.type === "tool_result");
    // A prompt after a turn that was cut off comes in one message with that turn's results.
    const asked = last.map((block) => block.text ?? "").join("\n");
    const found = this.scripts.find(({ words }) => asked.includes(words));
    let run = results.length > 0 && !found ? this.runs.get(results[0].tool_use_id) : undefined;
    let given;
    if (run) {
      given = results.map((result) => ({
        id: result.tool_use_id, error: result.is_error === true,
        text: typeof result.content === "string" ? result.content
          : (result.content ?? []).map((part) => part.text ?? "").join("\n"),
      }));
    } else {
      if (!found) throw new Error(`no script for: ${asked.slice(-300)}`);
      run = found.script({ body, gone, asked });
    }
    const { value } = await run.next(given);
    const step = value ?? {};
    this.count += 1;
    step.calls = (step.calls ?? []).map(([name, input], at) => ({ id: `toolu_${this.count}_${at}`, name, input }));
    for (const call of step.calls) this.runs.set(call.id, run);
    return step;
  }
}

function blocks(message) {
  return typeof message.content === "string" ? [{ type: "text", text: message.content }] : message.content;
}

/** Pieces of a text, cut in odd places. */
function cut(text, size = 7) {
  const parts = [];
  for (let at = 0; at < text.length; at += size) parts.push(text.slice(at, at + size));
  return parts;
}

async function stream(response, model, { say = "", think, calls, deltas, stall }, count, gone) {
  response.writeHead(200, { "content-type": "text/event-stream" });
  const send = async (type, data) => {
    if (!response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`)) {
      await new Promise((settle) => {
        const done = () => {
          response.off("drain", done).off("close", done);
          settle();
        };
        response.on("drain", done).on("close", done);
      });
    }
  };
  const usage = { input_tokens: 50, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 1 };
  await send("message_start", {
    message: { id: `msg_${count}`, type: "message", role: "assistant", content: [], model, stop_reason: null, stop_sequence: null, usage },
  });
  await send("ping", {});
  let index = 0;
  const block = async (start, kind, parts) => {
    await send("content_block_start", { index, content_block: start });
    for await (const part of parts) {
      if (gone.aborted) return;
      await send("content_block_delta", { index, delta: { type: kind, [kind === "text_delta" ? "text" : "partial_json"]: part } });
    }
    await send("content_block_stop", { index });
    index += 1;
  };
  if (think) {
    await send("content_block_start", { index, content_block: { type: "thinking", thinking: "", signature: "" } });
    for (const part of cut(think)) await send("content_block_delta", { index, delta: { type: "thinking_delta", thinking: part } });
    await send("content_block_delta", { index, delta: { type: "signature_delta", signature: "signed" } });
    await send("content_block_stop", { index });
    index += 1;
  }
  if (say || deltas) await block({ type: "text", text: "" }, "text_delta", deltas ?? cut(say));
  // The stream stays open without a word until the client goes away.
  if (stall) await new Promise((settle) => gone.addEventListener("abort", settle, { once: true }));
  if (gone.aborted) return response.end();
  for (const { id, name, input } of calls) {
    await block({ type: "tool_use", id, name, input: {} }, "input_json_delta", ["", ...cut(JSON.stringify(input), 11)]);
  }
  await send("message_delta", {
    delta: { stop_reason: calls.length > 0 ? "tool_use" : "end_turn", stop_sequence: null }, usage: { output_tokens: 20 },
  });
  await send("message_stop", {});
  response.end();
}
