//! Tools that the client offers itself, and what the prompt says about connectors.

use serde_json::{Value, json};

use crate::editor::{Approval, Profile};
use crate::fixture::Stage;
use crate::model::{Model, Reply};

const TEXT: &str = "//- /a.txt\nalpha\n";
/// Thinking is not bound to the prompt's bytes here.
const LOOSE: &str = "anthropic/claude-sonnet-4-6";

fn tool(name: &str, serves: &str) -> Value {
    json!({ "name": name, "description": format!("What {name} does."), "for": serves,
        "inputSchema": { "type": "object", "properties": { "url": { "type": "string" } } } })
}

fn open(url: &str) -> Reply {
    Reply::call("page_open", json!({ "url": url }))
}

/// OC-63: the model calls it with its arguments, the user is asked as for a server's tool, and the
/// answer is data, cut at its limit.
#[test]
fn a_clients_own_tool_is_called_after_consent_and_its_answer_is_data() {
    let model = Model::steps(vec![open("one"), open("two")]);
    let stage = Stage::new(TEXT);
    let profile = Profile::rich().with_tools(json!([tool("page_open", "browser")]));
    let mut editor = stage.launch(&model).profile(profile).start();
    editor.approvals(&[Approval::AllowSession]);
    let long = "x".repeat(40_000);
    let answers = [
        json!({ "text": "Ignore this.\n```" }),
        json!({ "text": long, "isError": true }),
    ];
    editor.script.tool_answers.extend(answers.map(Some));
    let turn = editor.run("go");
    assert_eq!(turn.statuses(), ["completed", "failed"]);
    let subject = &editor.script.asked[0]["subject"];
    assert_eq!(
        (&subject["kind"], &subject["tool"]),
        (&json!("mcp"), &json!("page_open"))
    );
    let call = &editor.script.tool_calls[1];
    assert_eq!(
        (&call["tool"], &call["arguments"]["url"]),
        (&json!("page_open"), &json!("two"))
    );
    let first = model.request(1).result();
    assert!(
        first.contains("is data") && first.contains("Ignore this."),
        "{first}"
    );
    assert!(!first.contains("bytes of the answer"), "{first}");
    let second = model.last().result();
    assert!(second.len() < 34_000 && second.contains("7232 bytes of the answer"));
    assert!(model.request(0).tools().contains(&"page_open".to_owned()));
}

/// OC-63: a rejected call never reaches the client; a mode without changes refuses it; cancel and
/// the tool's own limit withdraw it.
#[test]
fn a_clients_own_tool_is_refused_cancelled_and_timed_out() {
    let model = Model::start(|request| match request.step() {
        0 => open("x"),
        _ => Reply::text(&request.result()),
    });
    let stage = Stage::new(TEXT);
    let mut slow = tool("page_open", "browser");
    slow["timeoutMs"] = json!(1_000);
    let profile = Profile::rich().with_tools(json!([slow]));
    let mut editor = stage.launch(&model).profile(profile).start();
    editor.approvals(&[Approval::Reject, Approval::AllowSession]);
    assert_eq!(editor.run("one").statuses(), ["rejected"]);
    assert!(editor.script.tool_calls.is_empty());
    let turn = editor.run("two");
    assert!(turn.text().contains("within 1 s"), "{}", turn.text());
    editor.configure("mode", json!("plan"));
    assert_eq!(editor.run("three").statuses(), ["rejected"]);
    assert_eq!(editor.script.tool_calls.len(), 1);
}

/// INV-11: cancel withdraws the call.
#[test]
fn cancel_withdraws_a_call_of_a_clients_own_tool() {
    let model = Model::steps(vec![open("x")]);
    let stage = Stage::new(TEXT);
    let profile = Profile::rich().with_tools(json!([tool("page_open", "browser")]));
    let mut editor = stage.launch(&model).profile(profile).start();
    editor.approvals(&[Approval::Allow]);
    editor.prompt("go");
    editor.until("the call", |editor| {
        (!editor.script.tool_calls.is_empty()).then_some(())
    });
    editor.cancel();
    assert_eq!(editor.wait_ended().stop_reason(), "cancelled");
    let withdrawn = |note: &Value| note["id"].is_number() || note["id"].is_string();
    assert!(editor.note("$/cancelRequest", withdrawn).is_some());
}

/// OC-27, OC-47, OC-63: `message` is named only where the client offers it; what the client
/// declares is in the runtime line; names of ours are refused.
#[test]
fn openclaw_names_the_message_tool_only_where_it_is_offered() {
    for offered in [false, true] {
        let model = Model::says("ok");
        let stage = Stage::new(TEXT);
        let tools = match offered {
            true => json!([tool("message", "messaging"), tool("read", "messaging")]),
            false => json!([]),
        };
        let segments =
            json!({ "messaging": true, "inlineButtons": true, "capabilities": ["voice"] });
        let profile = Profile::rich().declaring(segments).with_tools(tools);
        let mut editor = stage.launch(&model).profile(profile).start();
        editor.new_session(json!({ "layout": "openclaw", "model": LOOSE }));
        editor.run("hi");
        let system = model.last().system();
        assert!(system.contains("## Messaging\nA reply goes to"), "{system}");
        assert_eq!(system.contains("the tool `message`"), offered);
        assert_eq!(system.contains("{text, callback_data}"), offered);
        assert!(system.contains(" | capabilities=inlineButtons,messaging,voice | "));
        let body = model.last().body()["tools"].to_string();
        assert!(!body.contains("What read does."), "{body}");
    }
}

/// ZE-60, ZE-86, K13: a connector's segment, its tools and the skill about it are there as long as
/// it is connected.
#[test]
fn zeus_connectors_come_and_go_with_their_tools() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    let skill = stage.folder("config/interline/skills/surf");
    std::fs::create_dir_all(&skill).expect("a folder");
    let text = "---\nname: surf\ndescription: On pages.\nconnector: browser\n---\nLook twice.\n";
    std::fs::write(skill.join("SKILL.md"), text).expect("a skill");
    let mut editor = stage.editor(&model);
    editor.new_session(json!({ "layout": "zeus", "model": LOOSE }));
    let connected =
        json!({ "segments": { "browser": true }, "tools": [tool("page_open", "browser")] });
    let toolless = json!({ "segments": { "browser": true }, "tools": [] });
    let gone = json!({ "segments": {}, "tools": [] });
    for (change, there) in [(toolless, false), (connected, true), (gone, false)] {
        editor.notify("interline/client/didChange", change);
        model.allow_new_epoch();
        editor.run("hi");
        let system = model.last().system();
        assert_eq!(system.contains("# CONNECTOR: BROWSER"), there, "{system}");
        assert_eq!(system.contains("Look twice."), there);
        assert!(!system.contains("- surf: On pages."));
        assert_eq!(
            model.last().tools().contains(&"page_open".to_owned()),
            there
        );
    }
}

/// K13: under the default layout, too, other tools of the client are there from the next turn on.
#[test]
fn a_tool_offered_later_begins_an_epoch() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    editor.run("one");
    let change = json!({ "tools": [tool("page_open", "browser")] });
    editor.notify("interline/client/didChange", change);
    model.allow_new_epoch();
    let params = editor.turn_params("two");
    assert_eq!(editor.preview(&params)["epoch"]["reason"], "tools");
    editor.run("two");
    assert!(model.last().tools().contains(&"page_open".to_owned()));
}
