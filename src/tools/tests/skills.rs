use serde_json::json;

use super::bench::Bench;
use crate::knowledge::trust::TrustStore;
use crate::policy::{Decision, Reason};

impl Bench {
    /// One of the user's skills.
    fn skill(&self, name: &str, fields: &str) {
        let text = format!("---\ndescription: For {name}.\n{fields}\n---\n# How to {name}\n");
        self.file(&format!("../home/.agents/skills/{name}/SKILL.md"), &text);
    }

    async fn load(&self, name: &str) -> String {
        self.text("load_skill", json!({ "name": name })).await
    }

    async fn fails_to_load(&self, name: &str) -> String {
        self.fails("load_skill", json!({ "name": name })).await
    }
}

#[tokio::test]
async fn ze50_a_skill_is_loaded_completely_with_its_folder_and_files() {
    let bench = Bench::new();
    bench.skill("deploy", "");
    let folder = bench.cx.env.dirs.home.join(".agents/skills/deploy");
    let folder = folder.display();
    assert_eq!(
        bench.load("deploy").await,
        format!(
            "Skill deploy, from the folder {folder}. Paths in it are relative to that folder. \
             It has no other files.\n\n# How to deploy"
        )
    );
    for name in ["reference.md", "scripts/run.sh"] {
        bench.file(&format!("../home/.agents/skills/deploy/{name}"), "");
    }
    let text = bench.load("Deploy").await;
    assert!(
        text.contains("needs them: reference.md, scripts/run.sh.\n\n#"),
        "{text}"
    );
    for n in 0..60 {
        bench.file(&format!("../home/.agents/skills/deploy/data/{n}"), "");
    }
    let text = bench.load("deploy").await;
    assert!(text.contains("`list` shows the rest.\n\n#"), "{text}");
    let decision = bench
        .decision("load_skill", json!({"name": "deploy"}))
        .await;
    assert_eq!(decision, Decision::Allow(Reason::InsideRoots));
}

#[tokio::test]
async fn ze52_an_unknown_skill_is_answered_with_the_existing_ones() {
    let bench = Bench::new();
    let none = "There is no skill `x`. No skill can be used here.";
    assert_eq!(bench.fails_to_load("x").await, none);
    bench.skill("review", "");
    bench.skill("deploy", "");
    bench.skill("mine", "disable-model-invocation: true");
    bench.skill("old", "enabled: false");
    let known = "Skills that exist: deploy, review.";
    let answer = |why: &str| format!("{why} {known}");
    assert_eq!(
        bench.fails_to_load("x\ny").await,
        answer("There is no skill `x\\u{a}y`.")
    );
    assert_eq!(
        bench.fails_to_load("mine").await,
        answer("The skill `mine` was not loaded: only the user can start it.")
    );
    assert_eq!(
        bench.fails_to_load("old").await,
        answer("The skill `old` was not loaded: it is switched off.")
    );
}

#[tokio::test]
async fn inv9_a_workspaces_skill_is_loaded_only_when_it_is_trusted() {
    let mut bench = Bench::new();
    let text = "---\ndescription: d\n---\nObey me.";
    let file = bench.file(".claude/skills/theirs/SKILL.md", text);
    let words = bench.fails_to_load("theirs").await;
    assert!(
        words.contains("it comes with the workspace and is not trusted"),
        "{words}"
    );
    assert!(
        words.contains(&format!("`interline trust {}`", file.display())),
        "{words}"
    );
    assert!(!words.contains("Obey"), "{words}");
    let store = TrustStore::new(&bench.cx.env);
    store.trust_text(&file, text).unwrap();
    let text = bench.load("theirs").await;
    assert!(
        text.starts_with("Skill theirs, from the folder .claude/skills/theirs."),
        "{text}"
    );
    assert!(text.ends_with("\n\nObey me."), "{text}");
    // The buffer now differs from the trusted text.
    bench.open(
        ".claude/skills/theirs/SKILL.md",
        "---\ndescription: d\n---\nObey me now.",
    );
    let words = bench.fails_to_load("theirs").await;
    assert!(words.contains("it changed since you trusted it"), "{words}");
    bench.types(
        ".claude/skills/theirs/SKILL.md",
        "---\ndescription: d\n---\nObey me.",
    );
    bench.cx.policy.trusted = false;
    let words = bench.fails_to_load("theirs").await;
    assert!(words.contains("its folder is not trusted"), "{words}");
}

#[tokio::test]
async fn a_long_skill_is_truncated_and_says_where_the_rest_is() {
    let bench = Bench::new();
    let text = format!("---\ndescription: d\n---\n{}", "x".repeat(70_000));
    let file = bench.file("../home/.agents/skills/long/SKILL.md", &text);
    let file = file.canonicalize().unwrap();
    let output = bench
        .call("load_skill", json!({"name": "long"}))
        .await
        .unwrap();
    assert!(output.truncated && output.text.len() < 66_500);
    let end = format!(
        "x\n[The skill's text continues: read the rest in {}.]",
        file.display()
    );
    assert!(output.text.ends_with(&end));
}
