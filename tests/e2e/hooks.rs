//! Hooks: what each outcome does on each event, and which files are obeyed.

use serde_json::{Value, json};

use crate::editor::process::until_dead;
use crate::editor::turn::Turn;
use crate::editor::{Approval, Editor};
use crate::fixture::{Stage, sha256};
use crate::model::{Model, Reply};

const TEXT: &str = "//- /a.txt\nalpha\n//- /b.txt\nbeta\n";
const SUMMARY: &str = "## Task\nMend.\n## State\nWrong.\n## Next\nLook.";
const OF_WORK: &str = ".interline/hooks.json";

/// Outcomes: what the hook's command does after it has noted its input.
const OUTCOMES: [(&str, &str); 8] = [
    ("nothing", "true"),
    (
        "context",
        r#"echo '{"hookSpecificOutput":{"additionalContext":"MARK"}}'"#,
    ),
    ("block", "echo MARK >&2; exit 2"),
    ("deny", r#"echo '{"decision":"block","reason":"MARK"}'"#),
    ("error", "echo MARK >&2; exit 1"),
    ("late", "echo $$ > \"$STAGE/pid\"; exec sleep 600"),
    ("not JSON", "echo '{MARK'"),
    ("missing", "./no-such-program"),
];

/// Follows the words of the prompt; a sub-agent reads a file.
fn model() -> Model {
    Model::start(|request| {
        let said = request.user_text();
        let last = said.rsplit("do: ").next().unwrap_or_default().to_owned();
        match (request.step(), last.split_whitespace().next()) {
            _ if said.contains("Write a summary of the conversation") => Reply::text(SUMMARY),
            (0, Some("read")) => Reply::read("a.txt"),
            (0, Some("exec")) => Reply::exec("true"),
            (0, Some("delegate")) => Reply::call("delegate", json!({ "task": "do: nothing" })),
            _ => Reply::text("ok"),
        }
    })
}

fn file(event: &str, matcher: &str, commands: &[&str]) -> Value {
    let late = |command: &str| command.contains("sleep 600");
    let limit = |command: &str| if late(command) { 1.5 } else { 60.0 };
    let hook = |command: &&str| json!({ "type": "command", "command": command, "timeout": limit(command) });
    let hooks: Vec<Value> = commands.iter().map(hook).collect();
    json!({ "hooks": { event: [{ "matcher": matcher, "hooks": hooks }] } })
}

/// Writes the user's own hooks. Each notes its input below the stage.
fn own(stage: &Stage, event: &str, command: &str) {
    let (place, input) = (stage.folder("run"), stage.folder("run/input.json"));
    let _ = std::fs::remove_file(&input);
    let note = format!(
        "STAGE={0}; cat > $STAGE/part; mv $STAGE/part {1}",
        place.display(),
        input.display()
    );
    let hooks = file(event, "", &[&format!("{note}; {command}")]);
    write_own(stage, &hooks);
}

fn write_own(stage: &Stage, hooks: &Value) {
    let path = stage.folder("config/interline/hooks.json");
    std::fs::write(path, hooks.to_string()).unwrap();
}

fn input(stage: &Stage) -> Option<Value> {
    let text = std::fs::read_to_string(stage.folder("run/input.json")).ok()?;
    serde_json::from_str(&text).ok()
}

/// What users and models saw of a marked hook.
struct Seen {
    turn: Turn,
    input: Value,
    model_saw: bool,
    user_saw: bool,
    requests: usize,
}

/// The prompt whose turn meets an event.
fn prompt_for(event: &str) -> &str {
    match event {
        "PreToolUse" | "PostToolUse" => "do: read",
        "Notification" => "do: exec",
        "SubagentStop" => "do: delegate",
        _ => "do: nothing",
    }
}

/// The turn of a new session whose hook of `event` does this.
fn meet(stage: &Stage, editor: &mut Editor, model: &Model, event: &str, command: &str) -> Seen {
    own(stage, event, command);
    editor.new_session(json!({}));
    let before = model.count();
    editor.approvals(&[Approval::Allow]);
    let turn = editor.run(prompt_for(event));
    editor.script.approvals.clear();
    let input = editor.until("the hook's input", |_| input(stage));
    let sent = (before..model.count()).map(|n| model.request(n));
    let notices = turn.of("notice").into_iter();
    let mut notices = notices.map(|it| it["text"].to_string().to_lowercase());
    Seen {
        model_saw: sent.map(|it| it.raw_text()).any(|it| it.contains("MARK")),
        user_saw: notices.any(|it| it.contains("hook")),
        requests: model.count() - before,
        turn,
        input,
    }
}

fn stops(seen: &Seen, event: &str) -> bool {
    match event {
        "PreToolUse" => seen.turn.statuses() == ["rejected"],
        "UserPromptSubmit" => seen.requests == 0 && seen.turn.stop_reason() == "error",
        "Stop" => seen.requests == 9,
        "SubagentStop" => seen.requests == 11,
        _ => false,
    }
}

/// What the hooks of an event can do.
struct Row {
    event: &'static str,
    /// Context reaches the model.
    adds: bool,
    /// A refusal stops what happens.
    refuses: bool,
    /// The model reads a refusal.
    hears: bool,
    /// Failures are shown in the turn.
    shows: bool,
}

impl Row {
    fn check(&self, outcome: &str, seen: &Seen) {
        let what = format!("{}, {outcome}", self.event);
        assert_eq!(seen.input["hook_event_name"], self.event, "{what}");
        let block = matches!(outcome, "block" | "deny");
        let expected = (outcome == "context" && self.adds) || (block && self.hears);
        assert_eq!(seen.model_saw, expected, "{what}");
        let stopped = stops(seen, self.event);
        assert_eq!(stopped, block && self.refuses, "{what}: {}", seen.requests);
        let fails = matches!(outcome, "error" | "late" | "not JSON" | "missing");
        let shown = match self.event {
            "Stop" => fails || block,
            "SessionStart" => fails || outcome == "block",
            _ => fails && self.shows,
        };
        assert_eq!(seen.user_saw, shown, "{what}: {:?}", seen.turn.of("notice"));
    }

    /// Every outcome.
    fn table(&self) {
        let model = model();
        let stage = Stage::new(TEXT);
        let mut editor = stage.editor(&model);
        for (outcome, command) in OUTCOMES {
            let seen = meet(&stage, &mut editor, &model, self.event, command);
            self.check(outcome, &seen);
            let pid = std::fs::read_to_string(stage.folder("run/pid")).ok();
            if let Some(pid) = pid.filter(|_| outcome == "late") {
                until_dead(pid.trim().parse().unwrap());
            }
        }
    }
}

fn table(event: &'static str, [adds, refuses, hears, shows]: [bool; 4]) {
    Row {
        event,
        adds,
        refuses,
        hears,
        shows,
    }
    .table();
}

#[test]
fn hooks_before_a_call_refuse_it_or_add_context() {
    table("PreToolUse", [true, true, true, true]);
}

#[test]
fn hooks_after_a_call_give_feedback() {
    table("PostToolUse", [true, false, true, true]);
}

#[test]
fn hooks_of_a_prompt_refuse_it_or_add_context() {
    table("UserPromptSubmit", [true, true, false, true]);
}

/// A hook that never agrees ends after eight rounds.
#[test]
fn hooks_of_the_end_let_a_turn_continue() {
    table("Stop", [false, true, true, true]);
}

#[test]
fn hooks_of_a_sub_agents_end_let_it_continue() {
    table("SubagentStop", [false, true, true, false]);
}

#[test]
fn hooks_of_a_sessions_start_add_context() {
    table("SessionStart", [true, false, false, true]);
}

#[test]
fn hooks_of_notifications_change_nothing() {
    table("Notification", [false, false, false, false]);
}

/// The session is closed before its slow hook ends.
#[test]
fn hooks_of_a_sessions_end_run_when_it_is_closed() {
    let model = model();
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    own(&stage, "SessionEnd", "echo $$ > $STAGE/pid; exec sleep 600");
    let session = editor.new_session(json!({}));
    assert_eq!(editor.run("do: nothing").stop_reason(), "endTurn");
    assert!(input(&stage).is_none());
    editor.request("interline/session/close", json!({ "sessionId": session }));
    assert_eq!(input(&stage).unwrap()["reason"], "other");
    let pid = std::fs::read_to_string(stage.folder("run/pid")).unwrap();
    until_dead(pid.trim().parse().unwrap());
}

/// A compaction that the user asks for.
#[test]
fn hooks_before_a_compaction_refuse_it() {
    let model = model();
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    own(&stage, "PreCompact", "echo MARK >&2; exit 2");
    let session = editor.new_session(json!({}));
    for prompt in ["do: nothing", "do: nothing more", "do: nothing else"] {
        editor.run(&format!("{prompt} {}", "and so on ".repeat(3_000)));
    }
    let params = json!({ "sessionId": session, "focus": "the tax" });
    let refused = editor.refused("interline/session/compact", params.clone());
    assert!(refused["message"].to_string().contains("MARK"), "{refused}");
    let input = input(&stage).unwrap();
    assert_eq!(
        (&input["trigger"], &input["custom_instructions"]),
        (&json!("manual"), &json!("the tax"))
    );
    let again = file("SessionStart", "compact", &["echo AGAIN"]);
    write_own(&stage, &again);
    editor.request("interline/session/compact", params);
    model.allow_new_epoch();
    editor.run("do: nothing");
    assert!(model.last().last_user_text().contains("AGAIN"));
}

/// Writes the user's own hook before these calls.
fn own_for(stage: &Stage, matcher: &str, command: &str) {
    own(stage, "PreToolUse", command);
    let path = stage.folder("config/interline/hooks.json");
    let hooks = std::fs::read_to_string(&path).unwrap();
    let matched = format!("\"matcher\":{}", json!(matcher));
    std::fs::write(path, hooks.replace("\"matcher\":\"\"", &matched)).unwrap();
}

/// Matchers and inputs use Claude Code's names beside ours; keys in use never reach a hook.
#[test]
fn a_hook_reads_the_call_with_canonical_paths_and_both_names() {
    for matcher in ["Read", "read", "Edit|Read", "^Re.d$", "Bash"] {
        let key = if matcher == "Bash" {
            crate::fixture::KEY
        } else {
            "key"
        };
        let command = format!("echo {key}");
        let model = Model::steps(vec![Reply::read("./b.txt"), Reply::exec(&command)]);
        let stage = Stage::new(TEXT);
        // The model never gets back the command without the key.
        let ends = r#"echo '{"continue":false}'"#;
        own_for(
            &stage,
            matcher,
            if matcher == "Bash" { ends } else { "true" },
        );
        let mut editor = stage.editor(&model);
        if matcher != "Bash" {
            editor.approvals(&[Approval::Reject]);
        }
        editor.run("go");
        let input = input(&stage).unwrap();
        assert!(!input.to_string().contains(crate::fixture::KEY), "{input}");
        if matcher == "Bash" {
            assert_eq!(input["tool_name"], "Bash");
            continue;
        }
        assert_eq!(input["tool_name"], "Read", "{matcher}");
        assert_eq!(input["interline"]["tool"], "read");
        let path = stage.path("b.txt").display().to_string();
        assert_eq!(input["tool_input"]["file_path"], path);
        let cwd = input["cwd"].as_str().map(std::path::PathBuf::from);
        assert_eq!(cwd, Some(stage.root()));
    }
}

/// The second hook starts while the first one waits for it; the model reads them in file order.
#[test]
fn hooks_run_side_by_side_and_are_joined_in_order() {
    let model = model();
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    let first = "mkfifo p; cat p; echo FIRST";
    let second = "until test -p p; do :; done; echo > p; echo SECOND";
    write_own(
        &stage,
        &file("UserPromptSubmit", "", &[first, second, second]),
    );
    editor.run("do: nothing");
    let text = model.last().last_user_text();
    let (one, two) = (text.find("FIRST"), text.find("SECOND"));
    assert!(one.is_some() && one < two, "{text}");
    assert_eq!(text.matches("SECOND").count(), 1);
}

const ALLOWS: &str = r#"echo '{"decision":"approve","hookSpecificOutput":{"permissionDecision":"allow","updatedInput":{"command":"touch other"}}}'"#;
const ASKS: &str = r#"echo '{"hookSpecificOutput":{"permissionDecision":"ask"}}'"#;

/// INV-8: a hook may ask, never allow or change.
#[test]
fn a_hook_cannot_allow_or_change_a_call() {
    let model = Model::steps(vec![Reply::exec("touch made")]);
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    write_own(&stage, &file("PreToolUse", "Bash", &[ALLOWS]));
    editor.approvals(&[Approval::Reject]);
    let turn = editor.run("go");
    assert_eq!(turn.statuses(), ["rejected"]);
    assert_eq!(editor.script.asked.len(), 1);
    let notices = turn.of("notice").into_iter();
    let said: String = notices.map(|it| it["text"].to_string()).collect();
    for part in ["`allow`", "`approve`", "`updatedInput`"] {
        assert!(said.contains(part), "{said}");
    }
}

/// Each time, whatever the user has allowed for the session.
#[test]
fn a_hook_can_have_the_user_asked_each_time() {
    let model = Model::steps(vec![Reply::exec("true"), Reply::read("a.txt")]);
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    editor.approvals(&[Approval::AllowSession]);
    assert_eq!(editor.run("go").statuses(), ["completed"; 2]);
    assert_eq!(editor.run("go").statuses(), ["completed"; 2]);
    assert_eq!(editor.script.asked.len(), 1);
    write_own(&stage, &file("PreToolUse", "", &[ASKS]));
    editor.approvals(&[Approval::Allow, Approval::Reject]);
    assert_eq!(editor.run("go").statuses(), ["completed", "rejected"]);
    assert_eq!(editor.script.asked.len(), 3);
    assert_eq!(
        editor.script.asked[2]["reason"],
        "A hook asks for your approval."
    );
}

/// `continue: false` ends the turn after the results.
#[test]
fn a_hook_can_end_the_turn() {
    let model = model();
    let stage = Stage::new(TEXT);
    let mut editor = stage.editor(&model);
    let answer = r#"echo '{"continue":false,"stopReason":"ENOUGH"}'"#;
    write_own(&stage, &file("PostToolUse", "Read", &[answer]));
    let turn = editor.run("do: read");
    assert_eq!((model.count(), turn.stop_reason()), (1, "endTurn"));
    assert!(turn.of("notice").iter().any(|it| it["text"] == "ENOUGH"));
}

fn trust(editor: &mut Editor, stage: &Stage, name: &str) {
    let hash = sha256(&stage.read(name));
    let params = json!({ "file": stage.uri(name), "hash": hash, "decision": "trust" });
    editor.request("interline/trust/set", params);
}

fn runs(stage: &Stage) -> usize {
    std::fs::read_to_string(stage.path("ran")).map_or(0, |text| text.lines().count())
}

/// A prompt of a new session.
fn go(editor: &mut Editor) -> Turn {
    editor.new_session(json!({}));
    editor.run("do: read")
}

/// A repository with a hook on five events of [`go`].
fn hostile(stage: &Stage, name: &str) -> String {
    let command = "sh \"$CLAUDE_PROJECT_DIR\"/tools/note.sh";
    let mut hooks = json!({ "hooks": {} });
    for event in [
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "Stop",
    ] {
        hooks["hooks"][event] = file(event, "", &[command])["hooks"][event].clone();
    }
    stage.write(name, hooks.to_string());
    stage.write("tools/note.sh", "echo x >> ran\n");
    hooks.to_string()
}

/// INV-9, A27: nothing of a repository runs before its file is trusted, nor after the file or a
/// script that it names has changed.
#[test]
fn inv9_hooks_of_a_repository_run_only_with_trusted_content() {
    for name in [OF_WORK, ".claude/settings.json"] {
        let model = model();
        let stage = Stage::new(TEXT);
        let hooks = hostile(&stage, name);
        let mut editor = stage.editor(&model);
        let said = format!("{:?}", go(&mut editor).of("notice"));
        assert!(
            said.contains("not trusted") && said.contains("interline trust"),
            "{said}"
        );
        assert_eq!(runs(&stage), 0, "{name}");
        trust(&mut editor, &stage, name);
        go(&mut editor);
        assert_eq!(runs(&stage), 5, "{name}");
        stage.write("tools/note.sh", "echo evil >> ran\n");
        let said = format!("{:?}", go(&mut editor).of("notice"));
        assert!(said.contains("changed since you trusted it"), "{said}");
        assert_eq!(runs(&stage), 5, "{name}");
        trust(&mut editor, &stage, name);
        stage.write(name, hooks.replace("note.sh", "note.sh; echo >> ran"));
        go(&mut editor);
        assert_eq!(runs(&stage), 5, "{name}");
    }
}

/// A trusted file in an untrusted folder runs nothing. A script of a hook asks before the model
/// changes it, and the change ends the trust within the turn.
#[test]
fn a_repositorys_hooks_need_a_trusted_folder_and_unchanged_scripts() {
    let write = json!({ "path": "tools/note.sh", "content": "echo evil >> ran\n" });
    let first = Reply::read("tools/note.sh");
    let model = Model::steps(vec![
        first,
        Reply::call("write", write),
        Reply::read("a.txt"),
    ]);
    let stage = Stage::new(TEXT);
    let hooks = file("PostToolUse", "", &["sh tools/note.sh"]);
    stage.write(OF_WORK, hooks.to_string());
    stage.write("tools/note.sh", "echo x >> ran\n");
    let launch = stage.launch(&model).untrusted();
    let mut editor = launch
        .user_setting("edits", json!({ "closedFiles": "disk" }))
        .start();
    trust(&mut editor, &stage, OF_WORK);
    editor.approvals(&[Approval::Reject]);
    editor.run("go");
    assert_eq!(runs(&stage), 0);
    let folder = json!({ "folder": stage.root().display().to_string(), "decision": "trust" });
    editor.request("interline/trust/set", folder);
    editor.approvals(&[Approval::Allow]);
    assert_eq!(editor.run("go").statuses(), ["completed"; 3]);
    assert_eq!(editor.script.asked.len(), 2);
    // After the first call; the second one changed the script.
    assert_eq!(runs(&stage), 1);
}

/// A26: in an untrusted folder the user's own hooks run, but find no program of the folder.
#[test]
fn an_untrusted_folder_supplies_nothing_to_the_users_hooks() {
    let model = model();
    let stage = Stage::new(TEXT);
    let ran = stage.path("ran").display().to_string();
    stage.write("evil.sh", format!("echo x >> {ran}\n"));
    let tries = "sh ./evil.sh; sh \"$CLAUDE_PROJECT_DIR\"/evil.sh; sh \"$PWD\"/evil.sh";
    let command = format!("{tries}; test -e {ran} || echo MARK >&2; exit 2");
    write_own(&stage, &file("PreToolUse", "", &[&command]));
    let mut editor = stage.launch(&model).untrusted().start();
    assert_eq!(editor.run("do: read").statuses(), ["rejected"]);
    assert!(model.last().result().contains("MARK"));
}

/// A hook, an unknown event and type, and a file that is not trusted.
fn listed(stage: &Stage) {
    let mut hooks = file("PreToolUse", "Bash", &["check-it"]);
    hooks["hooks"]["Nope"] = json!([]);
    hooks["hooks"]["Stop"] = json!([{ "hooks": [{ "type": "prompt", "prompt": "x" }] }]);
    write_own(stage, &hooks);
    stage.write(OF_WORK, file("Stop", "", &["of-work"]).to_string());
}

#[test]
fn the_preview_lists_hooks_and_why_others_do_not_run() {
    let model = model();
    let stage = Stage::new(TEXT);
    listed(&stage);
    let mut editor = stage.editor(&model);
    let preview = editor.preview(&json!({}));
    let rows = preview["segments"].as_array().unwrap();
    let row = rows.iter().find(|row| row["id"] == "hook").unwrap();
    let reason = row["reason"].as_str().unwrap();
    assert!(reason.starts_with("PreToolUse Bash: check-it"), "{reason}");
    let problems = preview["problems"].to_string();
    for part in [
        "Nope",
        "is not supported",
        "do not run, because the file is not trusted",
    ] {
        assert!(problems.contains(part), "{part}: {problems}");
    }
}

#[test]
fn the_doctor_lists_hooks_and_why_others_do_not_run() {
    let stage = Stage::new(TEXT);
    listed(&stage);
    let doctor = std::process::Command::new(env!("CARGO_BIN_EXE_interline"))
        .arg("doctor")
        .current_dir(stage.root())
        .env_clear()
        .envs(stage.environment("http://127.0.0.1:9"))
        .output();
    let doctor = String::from_utf8(doctor.unwrap().stdout).unwrap();
    for part in [
        "PreToolUse Bash: check-it",
        "The hooks of .interline/hooks.json do not run",
    ] {
        assert!(doctor.contains(&format!("hook     {part}")), "{doctor}");
    }
}
