//! OpenAI's two wire formats of the scripted model: requests in the form that scripts and checks
//! read (that of the Messages API), answers as streams, and what only these formats demand.

use serde_json::{Value, json};

use super::Reply;
use super::http::Head;

/// The format of a request, known by its path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wire {
    #[default]
    Messages,
    Responses,
    Chat,
}

impl Wire {
    pub fn of(path: &str) -> Self {
        match path {
            "/v1/responses" => Wire::Responses,
            "/v1/chat/completions" => Wire::Chat,
            _ => Wire::Messages,
        }
    }
}

/// Method, key and parameters, as these formats have them.
pub fn check(wire: Wire, head: &Head, raw: &[u8], key: &str) -> Vec<String> {
    let body: Value = serde_json::from_slice(raw).unwrap_or_default();
    let bearer = format!("Bearer {key}");
    let mut wanted = vec![
        (head.method == "POST", "not a POST"),
        (
            head.header("authorization") == Some(&bearer),
            "wrong authorization",
        ),
        (body["stream"] == true, "not streamed"),
        (
            !String::from_utf8_lossy(raw).contains(key),
            "the key is in the body",
        ),
    ];
    if wire == Wire::Responses {
        let items = body["input"].as_array().map_or(&[][..], Vec::as_slice);
        let bound = |item: &Value| item.get("id").is_some() || item.get("status").is_some();
        let loose = |pair: &[Value]| pair[0]["type"] == "reasoning" && pair[1]["role"] == "user";
        wanted.extend([
            (body["store"] == false, "it would be stored"),
            (
                body["include"][0] == "reasoning.encrypted_content",
                "nothing is included",
            ),
            (body["prompt_cache_key"].is_string(), "no cache key"),
            (!items.iter().any(bound), "an item has a server's id"),
            (
                !items.windows(2).any(loose),
                "reasoning without what follows it",
            ),
        ]);
    } else {
        let answers = body["messages"].as_array().into_iter().flatten();
        let mut calling = answers.filter(|message| message.get("tool_calls").is_some());
        let complete = calling.all(|message| message["reasoning_content"].is_string());
        wanted.push((complete, "Missing `reasoning_content`"));
    }
    let found = wanted.into_iter().filter(|(fine, _)| !fine);
    found.map(|(_, what)| what.to_owned()).collect()
}

/// The body in the form of the Messages API.
pub fn normal(wire: Wire, body: &Value) -> Value {
    let mut messages = Vec::new();
    let mut system = body["instructions"].clone();
    let name = if wire == Wire::Chat {
        "messages"
    } else {
        "input"
    };
    for item in body[name].as_array().into_iter().flatten() {
        if item["role"] == "system" {
            system = item["content"].clone();
            continue;
        }
        let blocks = match wire {
            Wire::Chat => message(item),
            _ => vec![entry(item)],
        };
        for (role, block) in blocks {
            push(&mut messages, role, block);
        }
    }
    let tools = body["tools"].as_array().into_iter().flatten().map(|tool| {
        let of = tool.get("function").unwrap_or(tool);
        json!({ "name": of["name"], "description": of["description"], "input_schema": of["parameters"] })
    });
    json!({
        "model": body["model"], "max_tokens": 1, "stream": body["stream"],
        "system": [{ "type": "text", "text": system }],
        "tools": tools.collect::<Value>(), "messages": messages,
    })
}

fn push(messages: &mut Vec<Value>, role: &str, block: Value) {
    if let Some(last) = messages.last_mut().filter(|last| last["role"] == role) {
        last["content"].as_array_mut().expect("a list").push(block);
    } else {
        messages.push(json!({ "role": role, "content": [block] }));
    }
}

fn text_block(text: &Value) -> Value {
    json!({ "type": "text", "text": text })
}

fn call_block(id: &Value, of: &Value) -> Value {
    let text = of["arguments"].as_str().unwrap_or_default();
    let input: Value = serde_json::from_str(text).unwrap_or_default();
    json!({ "type": "tool_use", "id": id, "name": of["name"], "input": input })
}

fn entry(item: &Value) -> (&'static str, Value) {
    match item["type"].as_str() {
        Some("function_call") => ("assistant", call_block(&item["call_id"], item)),
        Some("function_call_output") => {
            let block = json!({ "type": "tool_result", "tool_use_id": item["call_id"],
                "content": item["output"] });
            ("user", block)
        }
        Some("reasoning") => ("assistant", item.clone()),
        _ if item["role"] == "assistant" => ("assistant", text_block(&item["content"][0]["text"])),
        _ => ("user", text_block(&item["content"][0]["text"])),
    }
}

fn message(item: &Value) -> Vec<(&'static str, Value)> {
    if item["role"] == "tool" {
        let block = json!({ "type": "tool_result", "tool_use_id": item["tool_call_id"],
            "content": item["content"] });
        return vec![("user", block)];
    }
    if item["role"] == "user" {
        return vec![("user", text_block(&item["content"]))];
    }
    let thought = item["reasoning_content"].as_str().unwrap_or_default();
    let mut all = Vec::new();
    if !thought.is_empty() {
        all.push(json!({ "type": "reasoning_content", "text": thought }));
    }
    if item["content"].is_string() {
        all.push(text_block(&item["content"]));
    }
    let calls = item["tool_calls"].as_array().into_iter().flatten();
    all.extend(calls.map(|call| call_block(&call["id"], &call["function"])));
    all.into_iter().map(|block| ("assistant", block)).collect()
}

/// A thinking block as this format says and wants it back.
pub fn thought(wire: Wire, text: &str, number: usize) -> Value {
    match wire {
        Wire::Chat => json!({ "type": "reasoning_content", "text": text }),
        _ => json!({ "type": "reasoning", "encrypted_content": format!("gAAA{number}"),
            "summary": [{ "type": "summary_text", "text": text }] }),
    }
}

/// The stream of an answer.
pub fn stream(wire: Wire, reply: &Reply) -> String {
    match wire {
        Wire::Chat => chat(reply),
        _ => responses(reply),
    }
}

fn responses(reply: &Reply) -> String {
    let mut out = String::new();
    let mut event = |kind: &str, mut data: Value| {
        data["type"] = format!("response.{kind}").into();
        out.push_str(&format!("event: response.{kind}\ndata: {data}\n\n"));
    };
    event(
        "created",
        json!({ "response": { "status": "in_progress", "output": [] } }),
    );
    let calls = reply.blocks.iter().any(|block| block["type"] == "tool_use");
    for (place, block) in reply.blocks.iter().enumerate() {
        let (kind, pieces, item) = item(block, calls);
        let mut begun = item.clone();
        for late in ["content", "summary", "encrypted_content", "arguments"] {
            begun.as_object_mut().expect("an item").shift_remove(late);
        }
        event(
            "output_item.added",
            json!({ "output_index": place, "item": begun }),
        );
        for piece in super::reply::pieces(&pieces, reply.delta) {
            event(
                &format!("{kind}.delta"),
                json!({ "output_index": place, "delta": piece }),
            );
        }
        event(
            "output_item.done",
            json!({ "output_index": place, "item": item }),
        );
    }
    let usage = json!({ "input_tokens": 3120, "input_tokens_details": { "cached_tokens": 3000 },
        "output_tokens": 40 });
    if reply.stop_reason == "max_tokens" {
        let why = json!({ "reason": "max_output_tokens" });
        event(
            "incomplete",
            json!({ "response": { "incomplete_details": why, "usage": usage } }),
        );
    } else {
        event(
            "completed",
            json!({ "response": { "status": "completed", "usage": usage } }),
        );
    }
    out
}

/// The kind of its pieces, what they add up to, and the whole item.
fn item(block: &Value, calls: bool) -> (&'static str, String, Value) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match block["type"].as_str() {
        Some("tool_use") => {
            let arguments = block["input"].to_string();
            let item = json!({ "type": "function_call", "id": format!("fc_{}", text(&block["id"])),
                "call_id": block["id"], "name": block["name"], "arguments": arguments });
            ("function_call_arguments", arguments, item)
        }
        Some("reasoning") => {
            let mut item = block.clone();
            item["id"] = "rs_0".into();
            let summary = text(&block["summary"][0]["text"]);
            ("reasoning_summary_text", summary, item)
        }
        _ => {
            let phase = if calls { "commentary" } else { "final_answer" };
            let item = json!({ "type": "message", "id": "msg_0", "role": "assistant",
                "phase": phase, "status": "completed",
                "content": [{ "type": "output_text", "text": block["text"], "annotations": [] }] });
            ("output_text", text(&block["text"]), item)
        }
    }
}

fn chat(reply: &Reply) -> String {
    let mut out = String::from(": PROCESSING\n\n");
    let mut chunk = |delta: Value, finish: Value| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
        let data = json!({ "object": "chat.completion.chunk", "choices": [choice], "usage": null });
        out.push_str(&format!("data: {data}\n\n"));
    };
    chunk(json!({ "role": "assistant", "content": "" }), Value::Null);
    let mut n = 0;
    for block in &reply.blocks {
        if block["type"] == "tool_use" {
            let function = json!({ "name": block["name"], "arguments": "" });
            let begin =
                json!({ "index": n, "id": block["id"], "type": "function", "function": function });
            chunk(json!({ "tool_calls": [begin] }), Value::Null);
            for piece in super::reply::pieces(&block["input"].to_string(), reply.delta) {
                let more = json!({ "index": n, "function": { "arguments": piece } });
                chunk(json!({ "tool_calls": [more] }), Value::Null);
            }
            n += 1;
            continue;
        }
        let thinks = block["type"] == "reasoning_content";
        let field = if thinks {
            "reasoning_content"
        } else {
            "content"
        };
        for piece in super::reply::pieces(block["text"].as_str().unwrap_or_default(), reply.delta) {
            chunk(json!({ field: piece }), Value::Null);
        }
    }
    let finish = match reply.stop_reason.as_str() {
        "tool_use" => "tool_calls",
        "max_tokens" => "length",
        _ => "stop",
    };
    chunk(json!({}), finish.into());
    let usage = json!({ "prompt_tokens": 3120, "completion_tokens": 40,
        "prompt_tokens_details": { "cached_tokens": 3000 } });
    out.push_str(&format!(
        "data: {}\n\n",
        json!({ "choices": [], "usage": usage })
    ));
    out.push_str("data: [DONE]\n\n");
    out
}
