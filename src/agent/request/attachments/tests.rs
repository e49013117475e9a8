use std::path::PathBuf;
use std::sync::Arc;

use super::*;
use crate::workspace::Root;

struct Scene {
    dir: tempfile::TempDir,
    workspace: Arc<Workspace>,
    env: Env,
}

/// A root `repo`, and the skills `deploy`, `hidden` (not for users) of the user.
fn scene() -> Scene {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().canonicalize().unwrap();
    std::fs::create_dir(base.join("repo")).unwrap();
    let workspace = Workspace::new();
    let root = Root::new(Uri::from_path(&base.join("repo")), None).unwrap();
    workspace.set_roots(vec![root]);
    let now = jiff::Timestamp::UNIX_EPOCH.to_zoned(jiff::tz::TimeZone::UTC);
    for (name, fields) in [("deploy", "x: y"), ("hidden", "user-invocable: false")] {
        let folder = base.join("home/.agents/skills").join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let text = format!("---\ndescription: d\n{fields}\n---\nHow to {name}.");
        std::fs::write(folder.join("SKILL.md"), text).unwrap();
    }
    Scene {
        env: Env::fixed(&base, now, Default::default()),
        workspace,
        dir,
    }
}

impl Scene {
    fn cwd(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("repo")
    }

    fn blocks(&self, input: &[Input]) -> Vec<String> {
        let reader = Reader {
            workspace: &self.workspace,
            texts: &Texts::load(None),
            facts: &ModelFacts::default(),
            policy: &Policy::default(),
            cwd: &self.cwd(),
            env: &self.env,
            config: &Config::default(),
            encoding: Encoding::Utf16,
            picked: &Default::default(),
            documents: false,
            placed: false,
        };
        blocks(&reader, input)
            .into_iter()
            .map(|block| match block {
                Block::Text { text } => text,
                other => panic!("{other:?}"),
            })
            .collect()
    }

    fn text(&self, text: &str) -> Vec<String> {
        self.blocks(&[Input::Text {
            text: text.to_owned(),
        }])
    }

    fn skill(&self, name: &str, arguments: Option<&str>) -> Vec<String> {
        self.blocks(&[Input::Skill {
            name: name.to_owned(),
            arguments: arguments.map(str::to_owned),
        }])
    }
}

#[test]
fn a_started_skill_comes_before_the_users_text() {
    let scene = scene();
    let started = scene.skill("deploy", Some(" to staging "));
    let [skill, words] = &started[..] else {
        panic!("{started:?}")
    };
    let start = "The user started this skill for the current request; follow it.\nSkill deploy,";
    assert!(skill.starts_with(start), "{skill}");
    assert!(skill.ends_with("\n\nHow to deploy."), "{skill}");
    assert_eq!(words, "to staging");
    // `/name` is the same.
    assert_eq!(scene.text("/deploy to staging"), started);
    assert_eq!(scene.text("/deploy\nto staging\n"), started);
    assert_eq!(scene.text("/deploy"), scene.skill("deploy", None));
    assert_eq!(scene.text("/deploy").len(), 1);
}

/// ZE-52.
#[test]
fn an_unknown_skill_is_reported_and_an_unknown_slash_word_is_text() {
    let scene = scene();
    let answer = "There is no skill `deplow`. Skills that exist: deploy.";
    assert_eq!(scene.skill("deplow", Some("now")), [answer, "now"]);
    let answer = "The skill `hidden` was not loaded: users cannot start it. Skills that \
                  exist: deploy.";
    assert_eq!(scene.skill("hidden", None), [answer]);
    for text in [
        "/deplow now",
        "/hidden",
        "/etc/passwd is odd",
        "/",
        " /deploy",
        "// x",
        "a /deploy",
    ] {
        assert_eq!(scene.text(text), [text]);
    }
}
