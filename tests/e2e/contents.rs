//! What the layouts' segments say, as the model server receives it: what each one names, under
//! which heading, and what a preview shows of it.

use serde_json::{Value, json};

use crate::editor::Editor;
use crate::editor::Profile;
use crate::fixture::Stage;
use crate::model::{Model, Reply};
use crate::prompts::preview_holds;

const TEXT: &str = "//- /a.txt\nalpha\n";
/// Thinking is not bound to the prompt's bytes here.
const LOOSE: &str = "anthropic/claude-sonnet-4-6";

fn session(editor: &mut Editor, layout: &str) {
    editor.new_session(json!({ "layout": layout, "model": LOOSE }));
}

/// Writes a file into the user's config folder.
fn config(stage: &Stage, name: &str, text: &str) {
    let path = stage.folder("config/interline").join(name);
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
    std::fs::write(path, text).expect("a file");
}

/// The row of a preview of the next request.
fn row(editor: &mut Editor, id: &str) -> Value {
    let mut params = editor.turn_params("hi");
    params["text"] = "all".into();
    let preview = editor.preview(&params);
    let mut rows = preview["segments"].as_array().expect("rows").iter();
    let row = rows.find(|row| row["id"] == id);
    row.unwrap_or_else(|| panic!("no row {id}")).clone()
}

/// ZE-34: a mode that refuses tools neither lists nor demands them in the system text; the
/// request still has their names.
#[test]
fn zeus_neither_lists_nor_demands_what_the_mode_forbids() {
    let stage = Stage::new(TEXT);
    let model = Model::says("ok");
    let mut editor = stage.editor(&model);
    session(&mut editor, "zeus");
    for mode in ["ask", "plan", "agent"] {
        editor.configure("mode", json!(mode));
        model.allow_new_epoch();
        editor.run("hi");
        let (system, tools) = (model.last().system(), model.last().tools());
        for tool in ["edit", "write", "exec", "save_memory"] {
            let named = system.contains(&format!("**{tool}**"));
            assert_eq!(named, mode == "agent", "{mode} {tool}: {system}");
            assert!(tools.contains(&tool.to_owned()), "{mode}: {tools:?}");
        }
        for demand in ["Call `save_memory` at once", "`save_memory` keeps"] {
            assert_eq!(system.contains(demand), mode == "agent", "{mode}: {demand}");
        }
        assert!(system.contains("**read**") && system.contains("# WORKFLOW"));
    }
}

/// K9, P31: the answer to a call of an unknown tool names the tools as this layout shows them.
#[test]
fn an_unknown_tool_is_answered_with_the_layouts_own_names() {
    let model = Model::steps(vec![Reply::call("teleport", json!({}))]);
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    session(&mut editor, "mini");
    editor.run("go");
    let result = model.last().result();
    let known = result.split("Tools that exist: ").nth(1).expect("a list");
    let known: Vec<&str> = known.trim_end_matches('.').split(", ").collect();
    let mut offered = model.last().tools();
    offered.sort();
    let mut named = known.clone();
    named.sort_unstable();
    assert_eq!(named, offered);
    assert!(known.contains(&"bash") && !known.contains(&"exec"));
}

/// K9: a result that names a tool names it as the layout does.
#[test]
fn results_name_tools_as_the_layout_does() {
    let model = Model::steps(vec![Reply::edit("a.txt", "", "x")]);
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    session(&mut editor, "mini");
    editor.run("go");
    let result = model.last().result();
    assert!(
        result.contains("`write_file`") && !result.contains("`write`"),
        "{result}"
    );
}

/// OC-C4: two turns that differ in a `segments` entry only share the block that is cached.
#[test]
fn a_turns_own_segments_stay_below_openclaws_cache_boundary() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    let profile = Profile::rich().declaring(json!({ "messaging": true, "reactions": "minimal" }));
    let mut editor = stage.launch(&model).profile(profile).start();
    session(&mut editor, "openclaw");
    let ids = [
        "messaging",
        "extraSystemPrompt",
        "reactions",
        "team",
        "heartbeat",
    ];
    for id in ids {
        for body in ["One.", "Two."] {
            let mut params = editor.turn_params("hi");
            params["segments"] = json!([{ "id": id, "title": "", "body": body, "slot": "system" }]);
            model.allow_new_epoch();
            preview_holds(&mut editor, &model, params);
        }
        let (one, two) = (model.request(model.count() - 2), model.last());
        let block = |request: &crate::model::RequestView, n: usize| {
            request.body()["system"][n]["text"].to_string()
        };
        assert_eq!(block(&one, 0), block(&two, 0), "{id}");
        assert!(block(&one, 1).contains("One.") && block(&two, 1).contains("Two."));
        assert!(block(&two, 0).contains("## Safety"), "{id}");
    }
}

/// OC-22: there is no sandbox, and the prompt, the preview and the status say so.
#[test]
fn openclaw_says_that_there_is_no_sandbox() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    session(&mut editor, "openclaw");
    editor.run("hi");
    let system = model.last().system();
    assert!(!system.contains("## Sandbox"), "{system}");
    let runtime = system.lines().last().unwrap_or_default();
    assert!(runtime.ends_with(" | sandbox=none"), "{runtime}");
    assert_eq!(editor.status()["sandbox"], "none");
    let row = row(&mut editor, "sandbox");
    assert_eq!(row["included"], false);
    assert!(
        row["reason"].to_string().contains("without a sandbox"),
        "{row}"
    );
}

/// A user's scripted MCP server, waited for.
pub fn with_server(stage: &Stage) {
    let script = format!(
        "{}/tests/fixtures/mcp/server.py",
        env!("CARGO_MANIFEST_DIR")
    );
    let text =
        format!("[mcpServers.s]\ncommand = \"python3\"\nargs = [{script:?}]\nwaitMs = 30000\n");
    std::fs::write(stage.folder("config/interline/config.toml"), text).expect("settings");
}

/// ZE-61: a prompt that the user picked is in its segment, and a preview of the same input shows
/// it as it is sent, whether or not it may start the server.
#[test]
fn a_picked_prompt_is_in_zeus_segment_and_in_the_preview() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    with_server(&stage);
    let mut editor = stage.editor(&model);
    session(&mut editor, "zeus");
    let picked = json!({ "type": "mcpPrompt", "server": "s", "name": "greet",
        "arguments": { "place": "Ada" } });
    for fetch in [true, false] {
        let mut params = editor.turn_params("please");
        params["input"].as_array_mut().unwrap().push(picked.clone());
        let mut asked = params.clone();
        asked["fetch"] = json!(fetch);
        asked["text"] = "all".into();
        model.allow_new_epoch();
        let preview = editor.preview(&asked);
        let mut rows = preview["segments"].as_array().unwrap().iter();
        let row = rows.find(|row| row["id"] == "mcpPrompts").unwrap();
        assert!(row["text"].to_string().contains("greet (s)"), "{row}");
        editor.start(params);
        editor.wait_ended();
        let sent = model.last().raw_text();
        assert_eq!(preview["request"]["body"].as_str(), Some(sent.as_str()));
        assert!(
            model
                .last()
                .last_user_text()
                .contains("<context id=\"mcpPrompts\">")
        );
    }
    editor.run("thanks");
    assert!(!model.last().last_user_text().contains("mcpPrompts"));
}

const HINT: &str = "<system_hint type=\"output_truncated\">[";

fn read_file(path: &str, column: Option<u32>) -> Reply {
    let mut input = json!({ "path": path });
    if let Some(column) = column {
        input["column"] = column.into();
    }
    Reply::call("read_file", input)
}

/// MC-20, MC-21: a truncated result has a hint on how to read the rest, with the layout's names.
#[test]
fn a_cut_result_of_mini_hints_how_to_read_on() {
    let stage = Stage::new(TEXT);
    stage.write("long.txt", "line\n".repeat(2_100));
    let model = Model::steps(vec![
        read_file("long.txt", None),
        Reply::exec("seq 20000"),
        Reply::call("grep", json!({ "pattern": "line" })),
    ]);
    let mut editor = stage.editor(&model);
    session(&mut editor, "mini");
    editor.approvals(&[crate::editor::Approval::Allow]);
    editor.run("look");
    let ways = ["offset 2001", "by offset and limit", "narrow the path"];
    for (n, way) in ways.iter().enumerate() {
        let result = model.request(n + 1).result();
        assert!(result.contains(HINT) && result.contains(way), "{way}");
        assert!(!result.contains("`read`"), "it is `read_file` here");
    }
}

/// MC-21: a line that is too long for one result can be read to its end by column.
#[test]
fn a_long_line_is_read_to_its_end_by_column() {
    let line: String = (0..5_000).map(|n| format!("{n:04};")).collect();
    let stage = Stage::new(TEXT);
    stage.write("min.js", format!("{line}\n"));
    let parts = [None, Some(2_001), Some(22_001)];
    let model = Model::steps(parts.map(|column| read_file("min.js", column)).to_vec());
    let mut editor = stage.editor(&model);
    session(&mut editor, "mini");
    editor.run("look");
    let results: Vec<String> = (1..4).map(|n| model.request(n).result()).collect();
    assert!(results[0].contains(HINT) && results[0].contains("column 2001"));
    assert!(results[1].contains("column 22001") && !results[2].contains(HINT));
    let shown = |result: &String| {
        let text = result.split('\t').nth(1).unwrap_or_default();
        text.split('…').next().unwrap_or_default().to_owned()
    };
    assert_eq!(results.iter().map(shown).collect::<String>(), line);
}

/// OC-45, OC-62: a skill whose needs are not met is named with the reason in the preview and is in
/// no prompt; one whose needs are met is there.
#[test]
fn a_skill_is_gated_by_programs_variables_and_systems() {
    let stage = Stage::new(TEXT);
    let skills = [
        (
            "fits",
            "requires:\n  bins: [sh]\n  env: [HOME]\nos: [linux, darwin]\n",
        ),
        ("program", "requires:\n  bins: [sh, no-such-program-9]\n"),
        (
            "variable",
            "metadata:\n  requires:\n    env: [NO_SUCH_VARIABLE_9]\n",
        ),
        ("system", "metadata:\n  openclaw:\n    os: [plan9]\n"),
    ];
    for (name, needs) in skills {
        let text = format!("---\nname: {name}\ndescription: About {name}.\n{needs}---\nDo it.\n");
        config(&stage, &format!("skills/{name}/SKILL.md"), &text);
    }
    let model = Model::says("ok");
    let mut editor = stage.editor(&model);
    session(&mut editor, "openclaw");
    let params = editor.turn_params("hi");
    let problems = editor.preview(&params)["problems"].to_string();
    for (name, reason) in [
        ("program", "it needs the program no-such-program-9"),
        ("variable", "it needs the variable NO_SUCH_VARIABLE_9"),
        ("system", "it needs the system plan9"),
    ] {
        assert!(problems.contains(reason), "{problems}");
        preview_holds(&mut editor, &model, params.clone());
        assert!(!model.last().raw_text().contains(&format!("About {name}.")));
    }
    assert!(model.last().system().contains("<name>fits</name>"));
}

/// ZY-31: a prompt with pictures is its image blocks and then one text block.
#[test]
fn zyhive_sends_images_and_then_one_text() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    session(&mut editor, "zyhive");
    editor.open("a.txt");
    let mut params = editor.turn_params("what is it?");
    let image = json!({ "type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo=" });
    params["input"].as_array_mut().unwrap().insert(0, image);
    preview_holds(&mut editor, &model, params);
    let content = model.last().messages()[0]["content"].clone();
    let kinds: Vec<&str> = content
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|it| it["type"].as_str())
        .collect();
    assert_eq!(kinds, ["image", "text"], "{content}");
    assert!(
        content[1]["text"]
            .as_str()
            .unwrap()
            .starts_with("what is it?")
    );
}

/// OC-61: the user's time zone and format are in the prompt, and no clock is in its cached part.
#[test]
fn the_users_zone_and_time_format_are_in_the_prompt() {
    let stage = Stage::new(TEXT);
    for (layout, slot) in [
        ("default", "message"),
        ("openclaw", "message"),
        ("zeus", "system"),
    ] {
        let model = Model::says("ok");
        let form = json!({ "timezone": "Asia/Tokyo", "timeFormat": "week %G-%V, %I %p %Z" });
        let mut editor = stage.launch(&model).user_setting("prompt", form).start();
        session(&mut editor, layout);
        editor.run("hi");
        let (system, message) = (model.last().system(), model.last().last_user_text());
        let (there, other) = match slot {
            "system" => (&system, &message),
            _ => (&message, &system),
        };
        assert!(
            there.contains("week 2") && there.contains("JST"),
            "{layout}: {there}"
        );
        assert!(!other.contains("JST"), "{layout}");
    }
    let model = Model::says("ok");
    let form = json!({ "timeFormat": "%Q%" });
    let mut editor = stage.launch(&model).user_setting("prompt", form).start();
    let params = editor.turn_params("hi");
    let problems = editor.preview(&params)["problems"].to_string();
    assert!(problems.contains("prompt.timeFormat"), "{problems}");
}

/// ZE-25: a memory is matched with the conversation, not with the last prompt alone.
#[test]
fn a_related_memory_stays_while_the_conversation_is_about_it() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    let memory = "- [fact] The database schema is made by sqitch.\n";
    config(&stage, "memory/topics/fact.md", memory);
    let mut editor = stage.editor(&model);
    session(&mut editor, "zeus");
    for (prompt, there) in [
        ("Tell me a joke.", false),
        ("Change the database schema please.", true),
        ("ok, continue", true),
    ] {
        model.allow_new_epoch();
        editor.run(prompt);
        let all = format!("{}{}", model.last().system(), model.last().last_user_text());
        assert_eq!(all.contains("made by sqitch"), there, "{prompt}: {all}");
    }
}

/// OC-60, OC-07: the level of thinking is the session's, else the agent's, else the setting's; it
/// reaches the runtime line and the request, also after a restart.
#[test]
fn the_level_of_thinking_reaches_the_runtime_line_and_the_request() {
    let stage = Stage::new(TEXT);
    config(
        &stage,
        "agents/deep.md",
        "---\nthinking: medium\n---\nThink.",
    );
    let model = Model::says("ok");
    let start = || {
        stage
            .launch(&model)
            .user_setting("thinking", json!("high"))
            .start()
    };
    let holds = |editor: &mut Editor, level: &str| {
        model.allow_new_epoch();
        editor.run("hi");
        let (system, sent) = (model.last().system(), model.last().raw_text());
        assert!(
            system.contains(&format!(" | thinking={level} | ")),
            "{system}"
        );
        let effort = format!("\"output_config\":{{\"effort\":\"{level}\"}}");
        assert_eq!(sent.contains(&effort), level != "off", "{level}");
        assert_eq!(sent.contains("\"thinking\":{"), level != "off", "{level}");
    };
    let mut editor = start();
    session(&mut editor, "openclaw");
    holds(&mut editor, "high");
    editor.configure("agent", json!("deep"));
    holds(&mut editor, "medium");
    editor.configure("thinking", json!("low"));
    holds(&mut editor, "low");
    let id = editor.session();
    editor.process.kill();
    let mut editor = start();
    editor.resume(&id);
    holds(&mut editor, "low");
    editor.configure("thinking", json!("off"));
    holds(&mut editor, "off");
}

/// ZE-64, ZE-85: a PDF reaches the model as a document with its name, a Markdown file as its text;
/// a model that reads none gets the name and the reason.
#[test]
fn attached_documents_reach_the_model_with_their_names() {
    let stage = Stage::new("//- /notes.md\n# Notes\n");
    stage.write("plan.pdf", b"%PDF-1.4 plan");
    stage.write("odd.pdf", b"plain text");
    let resource = |name: &str| json!({ "type": "resource", "uri": stage.uri(name) });
    let attached = |editor: &mut Editor| {
        let mut params = editor.turn_params("read them");
        let input = params["input"].as_array_mut().unwrap();
        input.extend(["plan.pdf", "odd.pdf", "notes.md"].map(resource));
        params
    };
    let model = Model::says("ok");
    let mut editor = stage.editor(&model);
    session(&mut editor, "zeus");
    let params = attached(&mut editor);
    preview_holds(&mut editor, &model, params);
    let content = model.last().messages()[0]["content"].clone();
    assert_eq!(content[0]["type"], "document", "{content}");
    assert_eq!(content[0]["title"], "plan.pdf");
    assert_eq!(content[0]["source"]["data"], "JVBERi0xLjQgcGxhbg==");
    let prompt = model.last().user_text();
    assert!(
        prompt.contains("the document `plan.pdf`") && prompt.contains("# Notes"),
        "{prompt}"
    );
    assert!(
        prompt.contains("`odd.pdf`, which could not be read: it is not a PDF"),
        "{prompt}"
    );
    let all = format!("{}{prompt}", model.last().system());
    assert!(all.contains("- plan.pdf (application/pdf)"), "{all}");
}

/// ZE-64, ZE-85: an editor sends the document itself; what is no PDF is named with the reason.
#[test]
fn documents_that_the_client_sends_reach_the_model_with_their_names() {
    let model = Model::says("ok");
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    session(&mut editor, "zeus");
    let mut params = editor.turn_params("read them");
    for (name, kind, data) in [
        ("plan.pdf", "application/pdf", "JVBERi0xLjQgcGxhbg=="),
        ("odd.pdf", "application/pdf", "cGxhaW4="),
        ("torn.pdf", "application/pdf", "%%"),
        ("a.doc", "application/msword", "cGxhaW4="),
    ] {
        let part = json!({ "type": "document", "name": name, "mimeType": kind, "data": data });
        params["input"].as_array_mut().unwrap().push(part);
    }
    preview_holds(&mut editor, &model, params);
    let content = model.last().messages()[0]["content"].clone();
    assert_eq!(content[0]["title"], "plan.pdf", "{content}");
    assert_eq!(content[0]["source"]["data"], "JVBERi0xLjQgcGxhbg==");
    assert_ne!(content[1]["type"], "document");
    let prompt = model.last().user_text();
    for words in [
        "`odd.pdf`, which could not be read: it is not a PDF",
        "is not Base64",
        "msword",
    ] {
        assert!(prompt.contains(words), "{words}: {prompt}");
    }
    let all = format!("{}{prompt}", model.last().system());
    assert!(all.contains("- plan.pdf (application/pdf)"), "{all}");
}

/// ZE-84: the documents of the user's folder are listed in their tier and found by a tool; without
/// a folder neither is there.
#[test]
fn a_knowledge_base_is_listed_in_its_tier_and_searched() {
    let search = Reply::call(
        "knowledge_search",
        json!({ "query": "which port has the proxy?" }),
    );
    for named in [true, false] {
        let model = Model::steps(vec![search.clone()]);
        let stage = Stage::new(TEXT);
        config(&stage, "kb/net.md", "The proxy has port 8443.\n");
        let folders: &[&str] = if named { &["kb"] } else { &[] };
        let launch = stage.launch(&model);
        let setting = json!({ "folders": folders });
        let mut editor = launch.user_setting("knowledge", setting).start();
        session(&mut editor, "zeus");
        editor.run("which port?");
        let system = model.request(0).system();
        assert_eq!(system.contains("Documents: net.md"), named, "{system}");
        assert_eq!(
            model
                .last()
                .tools()
                .contains(&"knowledge_search".to_owned()),
            named
        );
        let result = model.last().result();
        assert_eq!(
            result.contains("net.md:1\nThe proxy has port 8443."),
            named,
            "{result}"
        );
    }
}
