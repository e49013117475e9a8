//! OpenAI's two wire formats over real HTTP. The model checks each request on its own: pairs of
//! calls and outputs, reasoning before its call, answers sent back as they were given, and a
//! prefix that only grows.

use serde_json::json;

use crate::editor::{Editor, Launch};
use crate::fixture::{KEY, Stage};
use crate::model::{Gate, Model, Reply};

const TEXT: &str = "//- /a.txt\nalpha\n//- /b.txt\nbravo\n";

fn launch<'a>(stage: &'a Stage, model: &Model, name: &str) -> Launch<'a> {
    stage
        .launch(model)
        .setting("model", json!(name))
        .var("OPENAI_BASE_URL", &model.url())
        .var("OPENAI_API_KEY", KEY)
        .var("ANTHROPIC_API_KEY", "")
}

fn start(stage: &Stage, model: &Model, name: &str) -> Editor {
    launch(stage, model, name).start()
}

/// Two reads side by side, after a thought.
fn both() -> Reply {
    let one = Reply::read("a.txt").and_call("read", json!({ "path": "b.txt" }));
    one.saying("I look at both.").thinking("Two files.")
}

/// The first turn: a cut stream, a rate limit, two reads at once, an edit. The second is killed
/// during its first answer, the third continues from there.
fn bad_days(gate: &Gate) -> Model {
    let held = gate.clone();
    Model::start(move |request| match request.n {
        0 => both().cut_after(900),
        1 => both(),
        2 => Reply::limited(),
        3 => Reply::edit("a.txt", "alpha", "beta").thinking("Only one of them."),
        4 => Reply::text("one done"),
        5 => both().pausing(&held),
        6 => both(),
        _ => Reply::text("three done"),
    })
}

/// The bytes of each request up to the end of its history begin the next one's; only the end of
/// a text of the user may move.
fn each_begins_with_the_one_before(model: &Model) {
    let history = |n: usize| {
        let raw = model.request(n).raw_text();
        let end = raw.rfind("],\"store\"").or(raw.rfind("],\"max_tokens\""));
        raw[..end.expect("the end of the history")].to_owned()
    };
    for n in 1..model.count() {
        let (before, now) = (history(n - 1), history(n));
        let before = before.trim_end_matches(['}', '"']);
        assert!(now.starts_with(before), "request {n}:\n{before}\n{now}");
    }
}

fn story(name: &str) -> Model {
    let gate = Gate::default();
    let model = bad_days(&gate);
    let stage = Stage::new(TEXT);
    let mut editor = start(&stage, &model, name);
    let session = editor.session();
    editor.open("a.txt");
    let turn = editor.run("one");
    assert_eq!(
        (turn.text().ends_with("one done"), turn.of("retry").len()),
        (true, 2)
    );
    assert_eq!(editor.text("a.txt"), "beta\n");
    editor.save("a.txt");
    editor.prompt("two");
    editor.until_asked(&model, 6);
    editor.process.kill();
    let mut editor = start(&stage, &model, name);
    editor.resume(&session);
    assert!(editor.run("three").text().ends_with("three done"));
    assert_eq!(model.count(), 8);
    assert!(model.last().user_text().contains("two") && !gate.is_open());
    each_begins_with_the_one_before(&model);
    model
}

/// P01, P03, P36, INV-6, INV-7.
#[test]
fn openai_survives_a_bad_day_with_its_prefix() {
    let model = story("openai/gpt-6.1-sol");
    let last = model.last().raw_text();
    for part in [
        "gAAA1",
        "gAAA3",
        "gAAA6",
        "\"commentary\"",
        "\"final_answer\"",
    ] {
        assert!(last.contains(part), "{part} is missing in {last}");
    }
    let key = |n: usize| {
        let text = model.request(n).raw_text();
        let at = text.rfind("prompt_cache_key").expect("a key");
        text[at..].to_owned()
    };
    assert_eq!(key(0), key(7));
}

/// P01, P03, P36, INV-6, INV-7.
#[test]
fn a_chat_server_survives_a_bad_day_with_its_prefix() {
    let model = story("openai-chat/deepseek-v4-pro");
    let last = model.last().raw_text();
    assert_eq!(
        last.matches("\"reasoning_content\":\"Two files.\"").count(),
        2
    );
}

/// A server of the user's own needs no key, and a parameter that it refuses is sent once.
#[test]
fn a_model_on_this_machine_needs_a_name_and_an_address() {
    let model = Model::start(|request| match request.n {
        0 => Reply::error(
            400,
            "invalid_request_error",
            "unknown field `stream_options`",
        ),
        _ => Reply::text("hello"),
    });
    let stage = Stage::new(TEXT);
    let config = format!(
        "model = \"box/tiny\"\n[providers.box]\napi = \"openai-chat\"\nbaseUrl = \"{}/v1\"\n\
         headers = {{ authorization = \"Bearer {KEY}\" }}\n",
        model.url()
    );
    std::fs::write(stage.folder("config/interline/config.toml"), config).expect("settings");
    let mut editor = stage
        .launch(&model)
        .no_options()
        .var("ANTHROPIC_API_KEY", "")
        .start();
    for _ in 0..2 {
        assert_eq!(editor.run("hi").text(), "hello");
    }
    let asks: Vec<bool> = (0..3)
        .map(|n| model.request(n).raw_text().contains("stream_options"))
        .collect();
    assert_eq!(asks, [true, false, false]);
}

/// P07: as llama.cpp, vLLM, Ollama and a router say it; one compaction, then the same step again.
#[test]
fn a_local_server_with_a_full_window_gets_a_compacted_conversation_p07() {
    let full = [
        r#"{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":5000,"n_ctx":4096}}"#,
        r#"{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.","type":"BadRequestError","param":null,"code":400}"#,
        r#"{"error":{"message":"prompt too long; exceeded max context length by 904 tokens","type":"invalid_request_error","param":null,"code":null}}"#,
        r#"{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"prompt is too long\"}}"}}}"#,
    ];
    for body in full {
        let long = format!("first {}", "and so on ".repeat(2_000));
        let model = Model::start(move |request| {
            let text = request.raw_text();
            match (
                text.contains("Write a summary of the conversation so far"),
                request.n,
            ) {
                (true, _) => Reply::text("## Task\nCount.\n## State\nTwo.\n## Next\nThree."),
                (_, n) if n > 0 && text.contains("and so on") => {
                    Reply::raw(400, "application/json", body.as_bytes().to_vec())
                }
                _ => Reply::text("ok"),
            }
        });
        let stage = Stage::new(TEXT);
        let mut editor = start(&stage, &model, "openai-chat/local");
        editor.run(&long);
        let turn = editor.run("second");
        assert_eq!(
            (turn.stop_reason(), turn.text().as_str()),
            ("endTurn", "ok"),
            "{body}"
        );
        assert_eq!(
            turn.of("compaction").last().expect("one")["status"],
            "completed"
        );
        assert_eq!(model.count(), 4);
    }
}
