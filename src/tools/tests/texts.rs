use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::json;

use super::bench::Bench;
use crate::policy::Reason;
use crate::prompt::{Facts, Layout, Texts, assemble};
use crate::tools::{Registry, messages};

/// All sources but tests.
fn sources() -> Vec<String> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            match name {
                "tests" | "tests.rs" => {}
                _ if path.is_dir() => folders.push(path),
                _ if name.ends_with(".rs") => found.push(std::fs::read_to_string(path).unwrap()),
                _ => {}
            }
        }
    }
    found
}

/// Every `"results/….md"` in our sources, with the keys of the list that follows it.
fn used() -> BTreeMap<String, BTreeSet<String>> {
    let mut used: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for source in &sources() {
        for (at, _) in source.match_indices("\"results/") {
            let (name, rest) = source[at + 1..].split_once('"').unwrap();
            let keys = used.entry(name.to_owned()).or_default();
            let call = rest.split(';').next().unwrap_or_default();
            let list = call.split("\"results/").next().unwrap_or_default();
            for (at, _) in list.match_indices("(\"") {
                let key = list[at + 2..].split('"').next().unwrap();
                if key.bytes().all(|byte| byte.is_ascii_lowercase()) {
                    keys.insert(key.to_owned());
                }
            }
        }
    }
    used
}

fn placeholders(text: &str) -> BTreeSet<String> {
    text.split("{{")
        .skip(1)
        .filter_map(|rest| Some(rest.split_once("}}")?.0.to_owned()))
        .collect()
}

#[test]
fn every_text_that_is_used_exists_and_every_text_is_used() {
    let texts = Texts::load(None);
    let used = used();
    for (name, keys) in &used {
        let text = texts
            .get(name)
            .unwrap_or_else(|| panic!("{name} is missing"));
        for placeholder in placeholders(text) {
            // The outcomes of edits share one list of values, and texts of hooks another.
            let shared = match name {
                _ if name.starts_with("results/edit-") => {
                    ["path", "text", "who", "added", "removed"].contains(&placeholder.as_str())
                }
                _ => name.starts_with("results/hook-") && placeholder == "text",
            };
            assert!(
                keys.contains(&placeholder) || shared,
                "{name}: {placeholder}"
            );
        }
        for key in keys {
            assert!(
                placeholders(text).contains(key),
                "{name} does not use {key}"
            );
        }
    }
    let ours = texts
        .names("results/")
        .into_iter()
        .filter(|name| !used.contains_key(*name));
    assert_eq!(ours.collect::<Vec<_>>(), Vec::<&str>::new());
}

#[test]
fn descriptions_say_enough_in_700_bytes() {
    let texts = Texts::load(None);
    for tool in Registry::built_in().facts(&texts) {
        let spec = tool.spec;
        let text = &spec.description;
        assert!(
            (200..=700).contains(&text.len()),
            "{}: {}",
            spec.name,
            text.len()
        );
        assert!(text.lines().count() > 1, "{}", spec.name);
        let schema = &spec.input_schema;
        assert_eq!(schema["additionalProperties"], json!(false));
        let keys: Vec<&String> = schema.as_object().unwrap().keys().collect();
        assert_eq!(
            keys,
            ["type", "properties", "required", "additionalProperties"]
        );
    }
}

/// The default layout's tools and system text, as sent, within 18 KB with the core tools.
#[test]
fn the_default_prompt_stays_within_18_kb() {
    let texts = Texts::load(None);
    let layout = Layout::load(&texts, "default").unwrap();
    let core = [
        "read",
        "write",
        "edit",
        "list",
        "glob",
        "grep",
        "exec",
        "write_todos",
        "ask_user",
        "load_skill",
        "save_memory",
        "memory_search",
    ];
    let mut tools = Registry::built_in().facts(&texts);
    tools.retain(|tool| core.contains(&tool.spec.name.as_str()));
    assert_eq!(tools.len(), core.len());
    for model in ["anthropic/claude-opus-5", "openai/gpt-6", "x/llama"] {
        let facts = Facts {
            model: model.to_owned(),
            cwd: "/home/user/projects/app".to_owned(),
            platform: "linux".to_owned(),
            tools: tools.clone(),
            ..Facts::default()
        };
        let system: usize = assemble(&layout, &texts, &facts)
            .system
            .iter()
            .map(|block| block.text.len())
            .sum();
        let specs = layout.tools(&texts, &tools, facts.mode);
        let json = serde_json::to_string(&specs).unwrap().len();
        assert!(system + json <= 18 * 1024, "{model}: {system} + {json}");
    }
}

/// MC-22: what it does in the first line, then when to use it, and a limit or a condition.
#[test]
fn mc22_descriptions_say_what_when_and_which_limits() {
    let limits = [
        "at most", "not ", "never", "must", "only", "takes no", "alone",
    ];
    let texts = Texts::load(None);
    for tool in Registry::built_in().facts(&texts) {
        let text = tool.spec.description;
        let (what, rest) = text.split_once('\n').unwrap();
        assert!(text.len() >= 40 && what.ends_with('.'), "{what}");
        let rest = rest.to_lowercase();
        let when = ["use it ", " first", " when "];
        assert!(when.iter().any(|word| rest.contains(word)), "{what}");
        assert!(limits.iter().any(|word| rest.contains(word)), "{what}");
    }
}

/// ZY-69-C: registered twice, it is there once.
#[test]
fn inv5_specifications_come_sorted_and_the_same_every_time() {
    let texts = Texts::load(None);
    let registry = Registry::built_in();
    let names = registry.names();
    assert_eq!(
        names,
        [
            "apply_patch",
            "ask_user",
            "code_action",
            "current_time",
            "delegate",
            "diagnostics",
            "edit",
            "exec",
            "glob",
            "grep",
            "knowledge_search",
            "list",
            "load_skill",
            "lookup",
            "memory_search",
            "project_create",
            "project_glob",
            "project_list",
            "project_read",
            "project_write",
            "read",
            "rename_symbol",
            "save_memory",
            "self_delete_env",
            "self_install_skill",
            "self_list_skills",
            "self_rename",
            "self_set_env",
            "self_uninstall_skill",
            "self_update_soul",
            "send_file",
            "settings",
            "show_image",
            "web_fetch",
            "write",
            "write_todos",
        ]
    );
    assert_eq!(registry.facts(&texts), Registry::built_in().facts(&texts));
    let mut twice = registry.clone();
    for name in names {
        twice.register(registry.get(&name).unwrap());
    }
    assert_eq!(twice.names(), registry.names());
}

#[test]
fn p31_an_unknown_tool_is_answered_with_similar_names() {
    let texts = Texts::load(None);
    let registry = Registry::built_in();
    let words = messages::unknown_tool(&texts, &registry.names(), "raed");
    assert!(words.contains("Similar names: read."), "{words}");
    let words = messages::unknown_tool(&texts, &registry.names(), "teleport");
    assert!(words.contains("edit, exec, glob"), "{words}");
}

#[test]
fn refusals_say_what_to_do() {
    let texts = Texts::load(None);
    for reason in [
        Reason::Mode(crate::conversation::Mode::Ask),
        Reason::Git,
        Reason::OwnFiles,
        Reason::Special,
        Reason::ThroughLink,
        Reason::HardLink,
        Reason::DangerousCharacters,
        Reason::Secret,
        Reason::Confined,
        Reason::Setting,
        Reason::NewFolder,
    ] {
        assert!(
            messages::denied(&texts, reason).starts_with("Not done"),
            "{reason:?}"
        );
        assert!(messages::explain(reason).ends_with('.'));
    }
    let words = messages::rejected(&texts, "user", Some("use npm"));
    assert!(words.ends_with("The user says: use npm"), "{words}");
}

#[tokio::test]
async fn targets_name_documents_however_they_are_spelled() {
    let bench = Bench::new();
    bench.file("a.rs", "");
    let registry = Registry::built_in();
    let edit = registry.get("edit").unwrap();
    let first = edit.targets(&bench.cx, &json!({"path": "a.rs"}));
    let second = edit.targets(&bench.cx, &json!({"path": "./x/../a.rs"}));
    assert_eq!((first.writes.len(), &first), (1, &second));
    assert!(
        registry
            .get("exec")
            .unwrap()
            .targets(&bench.cx, &json!({}))
            .unnamed
    );
    assert_eq!(
        edit.targets(&bench.cx, &json!({"path": 3})),
        crate::tools::Targets::default()
    );
}
