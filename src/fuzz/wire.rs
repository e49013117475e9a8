//! Renders scripts in the four wire formats, as the providers send them: only the order and the
//! size of the pieces are unusual.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::script::{Format, Piece, Script};

/// The stream of the script's answer.
pub fn render(script: &Script, format: Format) -> String {
    let events = match format {
        Format::Anthropic => anthropic(script),
        Format::Chat => chat(script),
        Format::Responses => responses(script),
        Format::Gemini => gemini(script),
    };
    let end = script.ends;
    let mut out = String::new();
    for event in events {
        if matches!(format, Format::Anthropic | Format::Responses) {
            let kind = event["type"].as_str().unwrap_or_default();
            out.push_str(&format!("event: {kind}{end}"));
        }
        out.push_str(&format!("data: {event}{end}{end}"));
    }
    if format == Format::Chat {
        out.push_str(&format!("data: [DONE]{end}{end}"));
    }
    out
}

fn reason<'a>(script: &Script, end: &'a str, called: &'a str, cut: &'a str) -> &'a str {
    match (script.cut, script.calls.is_empty()) {
        (true, _) => cut,
        (false, true) => end,
        (false, false) => called,
    }
}

fn anthropic(script: &Script) -> Vec<Value> {
    let mut out = vec![json!({"type": "message_start", "message": {"usage": {"input_tokens": 9}}})];
    let mut next = 0;
    // The open text or thought, and the positions of the calls.
    let mut open: Option<(u64, bool)> = None;
    let mut places = BTreeMap::new();
    let stop = |index: u64| json!({"type": "content_block_stop", "index": index});
    for piece in &script.pieces {
        let thought = matches!(piece, Piece::Thought(_));
        let says = thought || matches!(piece, Piece::Text(_));
        if let Some((index, _)) = open.filter(|(_, kind)| !says || *kind != thought) {
            out.push(stop(index));
            open = None;
        }
        let (index, delta) = match piece {
            Piece::Text(said) | Piece::Thought(said) => {
                let (field, kind) = match thought {
                    true => ("thinking", "thinking_delta"),
                    false => ("text", "text_delta"),
                };
                if open.is_none() {
                    out.push(json!({"type": "content_block_start", "index": next,
                        "content_block": {"type": field, field: ""}}));
                    next += 1;
                }
                let (index, _) = *open.get_or_insert((next - 1, thought));
                (index, json!({"type": kind, field: said}))
            }
            Piece::Begin(n) => {
                let call = &script.calls[*n];
                out.push(
                    json!({"type": "content_block_start", "index": next, "content_block":
                    {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}}),
                );
                places.insert(*n, next);
                next += 1;
                continue;
            }
            Piece::Json(n, json) => (
                places[n],
                json!({"type": "input_json_delta", "partial_json": json}),
            ),
            Piece::End(n) => {
                out.push(stop(places[n]));
                continue;
            }
            Piece::Reason | Piece::Silent => continue,
        };
        out.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
    }
    out.extend(open.map(|(index, _)| stop(index)));
    let reason = reason(script, "end_turn", "tool_use", "max_tokens");
    out.push(
        json!({"type": "message_delta", "delta": {"stop_reason": reason},
        "usage": {"output_tokens": 3}}),
    );
    out.push(json!({"type": "message_stop"}));
    out
}

fn chat(script: &Script) -> Vec<Value> {
    let chunk = |delta: Value| json!({"choices": [{"index": 0, "delta": delta}]});
    let mut out = vec![chunk(json!({"role": "assistant", "content": null}))];
    let inline = match script.inline {
        true => {
            let thoughts = script.pieces.iter();
            let thoughts = thoughts.take_while(|piece| matches!(piece, Piece::Thought(_)));
            thoughts.count()
        }
        false => 0,
    };
    for (at, piece) in script.pieces.iter().enumerate() {
        let delta = match piece {
            Piece::Thought(said) if at < inline => {
                let (first, second) = marked(said, at == 0, at + 1 == inline);
                out.push(chunk(json!({ "content": first })));
                json!({ "content": second })
            }
            Piece::Thought(said) => json!({ "reasoning_content": said }),
            Piece::Text(said) => json!({ "content": said }),
            Piece::Begin(n) => {
                let call = &script.calls[*n];
                json!({"tool_calls": [{"index": n, "id": call.id, "type": "function",
                    "function": {"name": call.name, "arguments": ""}}]})
            }
            Piece::Json(n, json) => {
                json!({"tool_calls": [{"index": n, "function": {"arguments": json}}]})
            }
            Piece::End(_) | Piece::Reason | Piece::Silent => continue,
        };
        out.push(chunk(delta));
    }
    let reason = reason(script, "stop", "tool_calls", "length");
    out.push(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}));
    out.push(json!({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 3}}));
    out
}

/// A thought in the text, in two pieces: its length decides where the closing tag is split.
fn marked(said: &str, first: bool, last: bool) -> (String, String) {
    let opens = if first { "<think>" } else { "" };
    let closes = if last { "</think>" } else { "" };
    let mut whole = format!("{opens}{said}{closes}");
    let second = whole.split_off(whole.len() - said.len() % (closes.len() + 1).min(8));
    (whole, second)
}

/// The items of a Responses answer so far.
#[derive(Default)]
struct Items {
    out: Vec<Value>,
    /// The items in their final form.
    all: Vec<Value>,
    /// The open text: whether it is a thought, and its contents.
    open: Option<(bool, String)>,
    /// Pieces are not sent.
    silent: bool,
}

impl Items {
    fn push(&mut self, kind: &str, place: usize, more: Value) {
        if self.silent && kind.ends_with(".delta") {
            return;
        }
        let mut event = json!({"type": format!("response.{kind}"), "output_index": place});
        if let (Some(event), Value::Object(more)) = (event.as_object_mut(), more) {
            event.extend(more);
        }
        self.out.push(event);
    }

    fn say(&mut self, thought: bool, said: &str) {
        if self.open.as_ref().is_some_and(|(kind, _)| *kind != thought) {
            self.fall_silent();
        }
        if self.open.is_none() {
            let kind = if thought { "reasoning" } else { "message" };
            let id = format!("item{}", self.all.len());
            let item = json!({"type": kind, "id": id});
            self.push("output_item.added", self.all.len(), json!({ "item": item }));
            self.all.push(item);
            self.open = Some((thought, String::new()));
        }
        if let Some((_, all)) = &mut self.open {
            all.push_str(said);
        }
        let kind = match thought {
            true => "reasoning_summary_text.delta",
            false => "output_text.delta",
        };
        self.push(kind, self.all.len() - 1, json!({ "delta": said }));
    }

    fn fall_silent(&mut self) {
        let Some((thought, said)) = self.open.take() else {
            return;
        };
        // Nothing else begins while a text is open.
        let place = self.all.len() - 1;
        let (field, kind) = match thought {
            true => ("summary", "summary_text"),
            false => ("content", "output_text"),
        };
        self.all[place][field] = json!([{"type": kind, "text": said}]);
        let item = self.all[place].clone();
        self.push("output_item.done", place, json!({ "item": item }));
    }
}

fn responses(script: &Script) -> Vec<Value> {
    let mut items = Items::default();
    let mut places = BTreeMap::new();
    for piece in &script.pieces {
        match piece {
            Piece::Text(said) => items.say(false, said),
            Piece::Thought(said) => items.say(true, said),
            Piece::Begin(n) => {
                items.fall_silent();
                let (call, place) = (&script.calls[*n], items.all.len());
                let item = json!({"type": "function_call", "id": format!("item{place}"),
                    "call_id": call.id, "name": call.name, "arguments": ""});
                places.insert(*n, place);
                items.push("output_item.added", place, json!({ "item": item }));
                items.all.push(item);
            }
            Piece::Json(n, json) => {
                let kind = "function_call_arguments.delta";
                items.push(kind, places[n], json!({ "delta": json }));
            }
            Piece::End(n) => {
                let call = &script.calls[*n];
                let text = call.value.as_ref().map(|_| call.input().to_string());
                items.all[places[n]]["arguments"] = text.unwrap_or_default().into();
                let item = items.all[places[n]].clone();
                items.push("output_item.done", places[n], json!({ "item": item }));
            }
            Piece::Silent => items.silent = true,
            Piece::Reason => {}
        }
    }
    items.fall_silent();
    let usage = json!({"input_tokens": 9, "output_tokens": 3});
    items.out.push(match script.cut {
        true => json!({"type": "response.incomplete", "response": {"usage": usage,
            "incomplete_details": {"reason": "max_output_tokens"}}}),
        false => json!({"type": "response.completed", "response": {"usage": usage,
            "status": "completed", "output": items.all}}),
    });
    items.out
}

fn gemini(script: &Script) -> Vec<Value> {
    let answer = |part: Value| json!({"candidates": [{"content": {"parts": [part]}}]});
    let ends = |reason: &str| {
        json!({"candidates": [{"content": {}, "finishReason": reason}],
            "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 3}})
    };
    let mut out = Vec::new();
    for piece in &script.pieces {
        out.push(match piece {
            Piece::Text(said) => answer(json!({ "text": said })),
            Piece::Thought(said) => answer(json!({"text": said, "thought": true})),
            Piece::End(n) => {
                let call = &script.calls[*n];
                let args = call.input();
                answer(json!({"functionCall": {"id": call.id, "name": call.name, "args": args}}))
            }
            Piece::Reason => ends("STOP"),
            Piece::Begin(_) | Piece::Json(..) | Piece::Silent => continue,
        });
    }
    out.push(ends(reason(script, "STOP", "STOP", "MAX_TOKENS")));
    match script.list {
        true => vec![Value::Array(out)],
        false => out,
    }
}
