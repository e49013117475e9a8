//! What each mode permits: policy decides, whatever the prompt said.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::bench::Bench;
use crate::config::Approvals;
use crate::conversation::Mode;
use crate::policy::{Decision, Policy};
use crate::tools::{LANGUAGES, Registry, Tool};

/// Valid arguments for each tool on the bench of [`bench`].
fn arguments(tool: &str) -> Value {
    match tool {
        "ask_user" => json!({ "question": "Which?" }),
        "current_time" => json!({}),
        // A sub-agent's calls are judged one by one, in the same mode.
        "apply_patch" => {
            json!({ "input": "*** Add File: made.txt\n+x\n*** Update File: a.txt\n-one\n+1\n" })
        }
        "delegate" => json!({ "task": "look" }),
        "diagnostics" => json!({}),
        "lookup" => json!({ "what": "documentSymbols", "path": "a.txt" }),
        "edit" => json!({ "path": "a.txt", "old_string": "one", "new_string": "two" }),
        "exec" => json!({ "command": "touch made.txt" }),
        "glob" => json!({ "pattern": "*" }),
        "grep" => json!({ "pattern": "one" }),
        "knowledge_search" => json!({ "query": "tests" }),
        "list" => json!({}),
        "load_skill" => json!({ "name": "tidy" }),
        "memory_search" => json!({ "query": "tests" }),
        "project_create" => json!({ "name": "made" }),
        "project_glob" => json!({ "project": "repo", "pattern": "*" }),
        "project_list" | "self_list_skills" => json!({}),
        "project_read" => json!({ "project": "repo", "path": "a.txt" }),
        "project_write" => json!({ "project": "repo", "path": "made.txt", "content": "x" }),
        "read" => json!({ "path": "a.txt" }),
        "self_delete_env" => json!({ "name": "NPM_TOKEN" }),
        "self_install_skill" => json!({ "path": "pdf" }),
        "self_rename" => json!({ "name": "Ada" }),
        "self_set_env" => json!({ "name": "NPM_TOKEN", "value": "x" }),
        "self_uninstall_skill" => json!({ "name": "tidy" }),
        "self_update_soul" => json!({ "text": "Be brief." }),
        // It may be restricted in every mode, because that changes none of the user's files.
        "settings" => json!({ "action": "set", "key": "mode", "value": "ask" }),
        "save_memory" => {
            json!({ "type": "fact", "scope": "project", "text": "The tests need a database." })
        }
        "show_image" | "send_file" => json!({ "path": "a.txt" }),
        "web_fetch" => json!({ "url": "https://docs.rs/" }),
        "write" => json!({ "path": "made.txt", "content": "x" }),
        "write_todos" => json!({ "todos": [{ "text": "look", "status": "pending" }] }),
        other => panic!("name arguments for {other}, so that its modes are tested"),
    }
}

/// The tools that change something or run commands: forbidden outside agent mode.
const CHANGING: [&str; 13] = [
    "apply_patch",
    "edit",
    "exec",
    "project_create",
    "project_write",
    "save_memory",
    "self_delete_env",
    "self_install_skill",
    "self_rename",
    "self_set_env",
    "self_uninstall_skill",
    "self_update_soul",
    "write",
];

async fn bench(mode: Mode) -> Bench {
    let mut bench = Bench::new();
    bench.file("a.txt", "one\n");
    bench.file("pdf/SKILL.md", "---\ndescription: d\n---\nb");
    let skill = bench.cx.env.dirs.config.join("skills/tidy");
    std::fs::create_dir_all(&skill).unwrap();
    let text = "---\nname: tidy\ndescription: Tidies up.\n---\nTidy.\n";
    std::fs::write(skill.join("SKILL.md"), text).unwrap();
    bench.text("read", json!({ "path": "a.txt" })).await;
    bench.cx.policy.mode = mode;
    bench.cx.delegate = Some(super::delegation::idle());
    bench
}

/// All names, as static strings, but of changes that only a language server can prepare.
fn names() -> Vec<&'static str> {
    let prepared = |tool: &dyn Tool| !tool.spec().changes || tool.spec().needs != Some(LANGUAGES);
    let names = Registry::built_in().only(prepared).names().into_iter();
    names.map(|name| &*name.leak()).collect()
}

async fn allowed(bench: &Bench) -> BTreeSet<&'static str> {
    let mut allowed = BTreeSet::new();
    for name in names() {
        if !matches!(
            bench.decision(name, arguments(name)).await,
            Decision::Deny(_)
        ) {
            allowed.insert(name);
        }
    }
    allowed
}

/// ZE-31, ZE-32, ZE-33, ZE-81: agent has every tool; ask and plan have those that change nothing.
#[tokio::test]
async fn ze81_other_modes_have_agents_tools_except_those_that_change_something() {
    let every: BTreeSet<&str> = names().into_iter().collect();
    assert_eq!(allowed(&bench(Mode::Agent).await).await, every);
    for mode in [Mode::Ask, Mode::Plan] {
        let narrowed = allowed(&bench(mode).await).await;
        assert!(narrowed.is_subset(&every));
        let missing: Vec<&str> = every.difference(&narrowed).copied().collect();
        assert_eq!(missing, CHANGING, "{mode:?}");
    }
}

/// ZE-34, ZE-35: a forged call has no effect; the answer says why and which mode can do it.
#[tokio::test]
async fn ze35_a_forged_call_has_no_effect_and_names_the_mode_to_switch_to() {
    for mode in [Mode::Ask, Mode::Plan] {
        let bench = bench(mode).await;
        for tool in CHANGING {
            let words = bench.fails(tool, arguments(tool)).await;
            let of_mode = format!("mode `{}`", mode.as_str());
            assert!(words.contains(&of_mode), "{tool}: {words}");
            assert!(words.contains("switch to mode `agent`"), "{tool}: {words}");
        }
        let text = std::fs::read_to_string(bench.root.join("a.txt")).unwrap();
        assert_eq!(text, "one\n");
        assert!(!bench.root.join("made.txt").exists() && !bench.root.join("made").exists());
        let kept = crate::knowledge::user_state::UserState::new(&bench.cx.env).read();
        assert_eq!(kept.unwrap(), Default::default());
        assert!(bench.cx.env.dirs.config.join("skills/tidy").exists());
        assert!(!bench.cx.env.dirs.config.join("skills/pdf").exists());
        assert!(bench.log.events.lock().unwrap().is_empty());
        assert!(bench.log.entries.lock().unwrap().is_empty());
    }
}

/// ZE-34: in the default layout a mode changes no description, so the tools stay cached.
#[test]
fn ze34_every_tool_stays_visible_in_every_mode() {
    let texts = crate::prompt::Texts::load(None);
    let facts = Registry::built_in().facts(&texts);
    let changing: Vec<&str> = facts
        .iter()
        .filter(|tool| tool.changes)
        .map(|tool| tool.spec.name.as_str())
        .collect();
    for tool in CHANGING {
        assert!(changing.contains(&tool), "{tool}");
    }
}

fn rank(decision: Decision) -> u8 {
    match decision {
        Decision::Allow(_) => 0,
        Decision::Ask { .. } => 1,
        Decision::Deny(_) => 2,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// ZE-81: no mode allows more than agent, whatever is trusted, approved or named.
    #[test]
    fn ze81_no_mode_is_wider_than_agent(
        trusted in any::<bool>(),
        ask in any::<bool>(),
        place in prop::sample::select(vec![
            "a.txt", "new/b.txt", ".env", ".git/config", ".vscode/tasks.json", "../out.txt", "/etc/hosts",
        ]),
        command in prop::sample::select(vec!["ls", "rm -rf /", "echo \u{202e}x", ""]),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let mut bench = bench(Mode::Agent).await;
            bench.cx.policy = Policy {
                trusted,
                approvals: if ask { Approvals::Ask } else { Approvals::Edits },
                ..bench.cx.policy.clone()
            };
            for name in names() {
                let mut arguments = arguments(name);
                if arguments.get("path").is_some() {
                    arguments["path"] = json!(place);
                }
                if arguments.get("command").is_some() {
                    arguments["command"] = json!(command);
                }
                let mut ranks = Vec::new();
                for mode in [Mode::Agent, Mode::Ask, Mode::Plan] {
                    bench.cx.policy.mode = mode;
                    let Ok(prepared) = bench.prepare(name, arguments.clone()).await else {
                        continue;
                    };
                    let decision = crate::policy::decide(&bench.cx.policy, &prepared.facts);
                    ranks.push(rank(decision));
                }
                assert!(ranks.iter().all(|other| *other >= ranks[0]), "{name}: {ranks:?}");
            }
        });
    }
}
