//! The tools with which the agent changes how it works for the user.

use serde_json::json;

use super::bench::{Bench, Conduct};
use crate::conversation::Mode;
use crate::host::Subject;
use crate::knowledge::user_state::UserState;
use crate::policy::{Decision, Reason};
use crate::tools::Registry;

const VALUE: &str = "npm-hunter2-5b1f0c9d";

impl Bench {
    async fn subject(&self, tool: &str, arguments: serde_json::Value) -> (String, String, String) {
        let prepared = self.prepare(tool, arguments).await.unwrap();
        match prepared.subject {
            Some(Subject::Setting { key, change, hash }) => (key, change, hash),
            other => panic!("{other:?}"),
        }
    }

    async fn listed(&self) -> String {
        self.text("self_list_skills", json!({})).await
    }
}

fn asks() -> Decision {
    Decision::Ask {
        reason: Reason::Setting,
        remember: false,
    }
}

/// INV-8: each lasting change asks, whatever `approvals` is, and needs mode agent.
#[tokio::test]
async fn lasting_changes_always_ask_and_need_mode_agent() {
    let mut bench = Bench::new();
    bench.file("pdf/SKILL.md", "---\ndescription: d\n---\nb");
    let calls = [
        ("self_set_env", json!({ "name": "A_KEY", "value": "b" })),
        ("self_delete_env", json!({ "name": "A" })),
        ("self_rename", json!({ "name": "Ada" })),
        ("self_install_skill", json!({ "path": "pdf" })),
    ];
    for approvals in [
        crate::config::Approvals::Ask,
        crate::config::Approvals::Auto,
    ] {
        bench.cx.policy.approvals = approvals;
        for (tool, arguments) in &calls {
            let decision = bench.decision(tool, arguments.clone()).await;
            assert_eq!(decision, asks(), "{tool}");
        }
    }
    for mode in [Mode::Ask, Mode::Plan] {
        bench.cx.policy.mode = mode;
        for (tool, arguments) in &calls {
            let decision = bench.decision(tool, arguments.clone()).await;
            assert_eq!(decision, Decision::Deny(Reason::Mode(mode)), "{tool}");
        }
    }
}

/// ZY-65: the value is only in a command's environment.
#[tokio::test]
async fn commands_see_a_private_variable_until_it_is_deleted() {
    let bench = Bench::new();
    let set = json!({ "name": "NPM_TOKEN", "value": VALUE });
    let answer = bench.text("self_set_env", set).await;
    assert!(
        answer.contains("NPM_TOKEN") && !answer.contains(VALUE),
        "{answer}"
    );
    let show = json!({ "command": "printf %s \"$NPM_TOKEN\"" });
    let output = bench.text("exec", show.clone()).await;
    assert!(output.ends_with(VALUE), "{output}");
    bench
        .text("self_delete_env", json!({ "name": "NPM_TOKEN" }))
        .await;
    let output = bench.text("exec", show).await;
    assert!(
        output.ends_with("(no output)") || !output.contains(VALUE),
        "{output}"
    );
    let again = bench.fails("self_delete_env", json!({ "name": "NPM_TOKEN" }));
    assert!(
        again
            .await
            .starts_with("There is no stored variable NPM_TOKEN")
    );
}

/// ZY-65, INV-10: neither approvals nor errors show the value, or a hash to guess it from.
#[tokio::test]
async fn the_question_does_not_show_the_value() {
    let bench = Bench::new();
    let set = json!({ "name": "NPM_TOKEN", "value": VALUE });
    let (key, change, hash) = bench.subject("self_set_env", set.clone()).await;
    assert_eq!(key, "variables.NPM_TOKEN");
    assert!(
        change.contains("20 characters") && !change.contains(VALUE),
        "{change}"
    );
    let (_, _, again) = bench.subject("self_set_env", set.clone()).await;
    assert_ne!(hash, again);
    let title = bench.prepare("self_set_env", set).await.unwrap().title;
    assert!(!title.contains(VALUE), "{title}");
    for (wrong, part) in [
        (json!({ "name": VALUE, "value": "x" }), "A-Z"),
        (json!({ "name": "PATH", "value": VALUE }), "load or run"),
        (
            json!({ "name": "LD_PRELOAD", "value": VALUE }),
            "load or run",
        ),
        (json!({ "name": "A", "value": [VALUE] }), "must be a text"),
        (
            json!({ "name": "A_KEY", "value": format!("{VALUE}\0") }),
            "no NUL",
        ),
        (json!({ "name": VALUE }), "missing field"),
    ] {
        let words = bench.fails("self_set_env", wrong).await;
        assert!(words.contains(part) && !words.contains(VALUE), "{words}");
    }
    assert_eq!(
        UserState::new(&bench.cx.env).read().unwrap(),
        Default::default()
    );
}

/// No silent fallback: a command without its variables is not started.
#[tokio::test]
async fn a_broken_store_stops_commands_and_is_named() {
    let bench = Bench::new();
    bench.file("../state/kept.json", "{broken");
    let words = bench
        .fails("exec", json!({ "command": "touch made" }))
        .await;
    assert!(words.contains("kept.json"), "{words}");
    assert!(!bench.root.join("made").exists());
}

/// ZY-66.
#[tokio::test]
async fn the_agent_is_renamed() {
    let bench = Bench::new();
    let (key, change, _) = bench
        .subject("self_rename", json!({ "name": " Ada " }))
        .await;
    assert_eq!(
        (key.as_str(), change.as_str()),
        ("agent.name", "call the agent main Ada")
    );
    bench.text("self_rename", json!({ "name": " Ada " })).await;
    let kept = UserState::new(&bench.cx.env).read().unwrap();
    assert_eq!(kept.called(None), Some("Ada"));
    let words = bench.fails("self_rename", json!({ "name": "a\nb" })).await;
    assert!(words.contains("one line"), "{words}");
}

/// ZY-66, INV-2: through the buffer, and the question shows the difference.
#[tokio::test]
async fn soul_is_rewritten_where_prompts_find_it() {
    let mut bench = Bench::new();
    let ask = Decision::Ask {
        reason: Reason::ExecutesLater,
        remember: false,
    };
    let new = json!({ "text": "Be brief.\nBe kind.\n" });
    assert_eq!(bench.decision("self_update_soul", new.clone()).await, ask);
    bench.text("self_update_soul", new).await;
    assert_eq!(bench.buffer("SOUL.md"), "Be brief.\nBe kind.\n");
    bench.types("SOUL.md", "Be brief.\nBe bold.\n");
    // A session in a subfolder finds the root's file.
    bench.cx.cwd = bench.root.join("sub");
    let newer = json!({ "text": "Be brief.\nBe calm.\n" });
    let prepared = bench.prepare("self_update_soul", newer.clone()).await;
    let diff = prepared.unwrap().diff.unwrap();
    assert!(diff.contains("-Be kind.\n+Be calm."), "{diff}");
    let conflict = bench.fails("self_update_soul", newer.clone()).await;
    assert!(conflict.contains("Be bold."), "{conflict}");
    assert_eq!(bench.buffer("SOUL.md"), "Be brief.\nBe bold.\n");
    bench.text("self_update_soul", newer).await;
    assert_eq!(bench.buffer("SOUL.md"), "Be brief.\nBe calm.\n");
    let words = bench
        .fails("self_update_soul", json!({ "text": " " }))
        .await;
    assert!(words.contains("empty"), "{words}");
}

/// ZY-66: without buffers, on disk.
#[tokio::test]
async fn soul_is_created_on_disk_without_buffers() {
    let bench = Bench::new();
    *bench.editor.conduct.lock().unwrap() = Conduct::Disk;
    bench
        .text("self_update_soul", json!({ "text": "Be brief." }))
        .await;
    let text = std::fs::read_to_string(bench.root.join("SOUL.md")).unwrap();
    assert_eq!(text, "Be brief.");
}

/// ZY-64, R30: its description and text are seen before it is installed.
#[tokio::test]
async fn a_skill_is_installed_listed_and_uninstalled() {
    let bench = Bench::new();
    assert_eq!(bench.listed().await, "No skill can be used here.");
    bench.file(
        "skills/pdf/SKILL.md",
        "---\nname: pdf\ndescription: Fills forms.\n---\nSend it off.",
    );
    bench.file("skills/pdf/run.sh", "true");
    let install = json!({ "path": "skills/pdf" });
    let (key, change, hash) = bench.subject("self_install_skill", install.clone()).await;
    assert_eq!(key, "skills.pdf");
    for shown in [
        "SKILL.md (",
        "\nrun.sh (4 bytes)",
        "Fills forms.",
        "Send it off.",
    ] {
        assert!(change.contains(shown), "{change}");
    }
    let answer = bench.text("self_install_skill", install.clone()).await;
    assert!(
        answer.starts_with("Installed the skill pdf in "),
        "{answer}"
    );
    let listed = bench.listed().await;
    assert!(
        listed.starts_with("- pdf (") && listed.ends_with(": Fills forms."),
        "{listed}"
    );
    let words = bench.fails("self_install_skill", install).await;
    assert!(
        words.contains("already exists: uninstall it first"),
        "{words}"
    );
    let remove = json!({ "name": "pdf" });
    let (_, change, removed) = bench.subject("self_uninstall_skill", remove.clone()).await;
    assert!(
        change.starts_with("delete ") && change.ends_with(" with 2 files"),
        "{change}"
    );
    assert_eq!(removed, hash);
    bench.text("self_uninstall_skill", remove.clone()).await;
    assert_eq!(bench.listed().await, "No skill can be used here.");
    let words = bench.fails("self_uninstall_skill", remove).await;
    assert!(words.contains("no skill named pdf in "), "{words}");
}

/// Calls of one answer that change the skills, and those that list them, run in order.
#[test]
fn skills_are_listed_after_they_are_changed() {
    let bench = Bench::new();
    let registry = Registry::built_in();
    let targets =
        |tool: &str, arguments| registry.get(tool).unwrap().targets(&bench.cx, &arguments);
    let listing = targets("self_list_skills", json!({}));
    assert!(!listing.reads.is_empty() && listing.writes.is_empty());
    let removing = targets("self_uninstall_skill", json!({ "name": "pdf" }));
    assert_eq!(removing.writes, listing.reads);
    let installing = targets("self_install_skill", json!({ "path": "pdf" }));
    assert_eq!(installing.writes, listing.reads);
    assert!(!installing.reads.is_empty(), "the folder that is copied");
}

/// ZY-64, INV-8: only exactly what the user saw is installed.
#[tokio::test]
async fn a_skill_that_changes_after_the_approval_is_not_installed() {
    let bench = Bench::new();
    bench.file("pdf/SKILL.md", "---\ndescription: d\n---\nb");
    bench.file("pdf/run.sh", "true");
    let install = json!({ "path": "pdf" });
    let prepared = bench
        .prepare("self_install_skill", install.clone())
        .await
        .unwrap();
    bench.file("pdf/run.sh", "evil");
    let error = prepared.run(&bench.cx).await.unwrap_err().to_string();
    assert!(error.contains("changed after it was reviewed"), "{error}");
    let skills = bench.cx.env.dirs.config.join("skills");
    assert_eq!(std::fs::read_dir(&skills).unwrap().count(), 0);
    // INV-2: the copy would lack unsaved text.
    bench.open("pdf/run.sh", "unsaved");
    let words = bench.fails("self_install_skill", install).await;
    assert!(words.contains("has unsaved text"), "{words}");
}

/// ZY-64, INV-8: a folder outside the roots is read only after approval; our own folders never.
#[tokio::test]
async fn a_skill_outside_the_roots_asks_and_our_own_folders_are_closed() {
    let bench = Bench::new();
    bench.file("../other/SKILL.md", "---\ndescription: d\n---\nb");
    let outside = bench
        .decision("self_install_skill", json!({ "path": "../other" }))
        .await;
    assert!(matches!(
        outside,
        Decision::Ask {
            remember: false,
            ..
        }
    ));
    bench.file("../state/x/SKILL.md", "---\ndescription: d\n---\nb");
    let own = json!({ "path": "../state/x" });
    let own = bench.decision("self_install_skill", own).await;
    assert_eq!(own, Decision::Deny(Reason::OwnFiles));
    let words = bench
        .fails("self_install_skill", json!({ "path": "." }))
        .await;
    assert!(words.contains("it has no SKILL.md"), "{words}");
}

/// A list of many skills says how many it leaves out.
#[tokio::test]
async fn a_long_list_of_skills_is_cut() {
    let bench = Bench::new();
    let add = |n: usize| {
        let text = format!("---\ndescription: d{n}\n---\nb");
        bench.file(&format!("../home/.agents/skills/s{n:03}/SKILL.md"), &text);
    };
    (0..200).for_each(add);
    let whole = bench.call("self_list_skills", json!({})).await.unwrap();
    assert_eq!((whole.truncated, whole.text.lines().count()), (false, 200));
    add(200);
    let cut = bench.call("self_list_skills", json!({})).await.unwrap();
    assert_eq!((cut.truncated, cut.text.lines().count()), (true, 201));
    let last = cut.text.lines().last().unwrap();
    assert!(last.contains('1') && !last.contains("s200"), "{last}");
}

/// ZY-12, ZY-64: unused skills are listed with the reason.
#[tokio::test]
async fn unused_skills_are_listed_with_the_reason() {
    let bench = Bench::new();
    bench.file(
        "../home/.agents/skills/off/SKILL.md",
        "---\ndescription: d\nenabled: false\n---\n",
    );
    bench.file(
        ".claude/skills/theirs/SKILL.md",
        "---\ndescription: d\n---\nb",
    );
    let listed = bench.listed().await;
    assert!(
        listed.contains("- off (~/.agents/skills/off/SKILL.md): switched off"),
        "{listed}"
    );
    assert!(
        listed.contains("- theirs (") && listed.contains("not used: "),
        "{listed}"
    );
}
