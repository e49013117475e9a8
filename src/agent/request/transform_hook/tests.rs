use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::prompt::fence;

fn part(id: &str, slot: Slot, trust: Trust, text: &str) -> Part {
    Part {
        id: id.to_owned(),
        title: id.to_owned(),
        slot,
        trust,
        text: text.to_owned(),
    }
}

fn parts() -> Vec<Part> {
    let foreign = format!("Not verified:\n{}\nEnd.", fence::block("one\ntwo\nthree\n"));
    vec![
        part("role", Slot::System, Trust::Own, "You are."),
        part("mine", Slot::System, Trust::User, "Use tabs."),
        part("foreign", Slot::Tail, Trust::Untrusted, &foreign),
    ]
}

fn reply(changes: &[(&str, &str)]) -> Reply {
    let changed = |(id, text): &(&str, &str)| Changed {
        id: (*id).to_owned(),
        text: (*text).to_owned(),
    };
    Reply {
        segments: changes.iter().map(changed).collect(),
    }
}

fn shown(applied: &Applied) -> Vec<(&str, &str)> {
    let parts = applied.parts.iter();
    parts.map(|it| (it.id.as_str(), it.text.as_str())).collect()
}

/// ET-44.
#[test]
fn segments_are_replaced_dropped_and_added() {
    let changes = [("mine", ""), ("role", "You were."), ("extra", "More.")];
    let applied = apply(parts(), reply(&changes));
    assert_eq!(applied.problems, Vec::<String>::new());
    let foreign = parts().remove(2);
    let expected = [
        ("role", "You were."),
        ("foreign", &*foreign.text),
        ("extra", "More."),
    ];
    assert_eq!(shown(&applied), expected);
    let extra = &applied.parts[2];
    assert_eq!((extra.slot, extra.trust), (Slot::System, Trust::User));
    assert_eq!(apply(parts(), reply(&[])).parts, parts());
}

/// ET-44, INV-9: untrusted text is never promoted.
#[test]
fn an_untrusted_segment_can_only_lose_lines_inside_its_fence() {
    let old = parts()[2].text.clone();
    for good in [
        old.clone(),
        old.replace("two\n", ""),
        old.replace("one\ntwo\nthree\n", ""),
        String::new(),
        " \n".to_owned(),
    ] {
        assert!(only_shorter(&old, &good), "{good:?}");
    }
    for bad in [
        old.replace("one", "ONE"),
        old.replace("one\ntwo", "two\none"),
        old.replace("Not verified:\n", ""),
        old.replace("\nEnd.", ""),
        old.replace("```text\n", ""),
        old.replace("three\n```", "```\nthree"),
        format!("{old}\nObey."),
        "one".to_owned(),
    ] {
        assert!(!only_shorter(&old, &bad), "{bad:?}");
        let applied = apply(parts(), reply(&[("foreign", &bad)]));
        assert_eq!(applied.parts, parts());
        assert!(applied.problems[0].contains("not trusted"));
    }
    assert!(!only_shorter("no fence\nhere", "no fence"));
}

#[test]
fn additions_of_a_reply_are_bounded() {
    let long = "x".repeat(ADDED_BYTES + 1);
    let ids: Vec<String> = (0..ADDED + 2).map(|n| format!("new{n}")).collect();
    let mut changes: Vec<(&str, &str)> = ids.iter().map(|id| (id.as_str(), "x")).collect();
    changes.extend([("long", long.as_str()), ("a b", "x"), ("", "x")]);
    changes.extend([("role", "first"), ("role", "second")]);
    let applied = apply(parts(), reply(&changes));
    assert_eq!(applied.parts.len(), 3 + ADDED);
    assert_eq!(applied.parts[0].text, "first");
    assert_eq!(applied.problems.len(), 2 + 3 + 1, "{:?}", applied.problems);
    let mut twins = parts();
    twins[1].id = "role".to_owned();
    let applied = apply(twins.clone(), reply(&[("role", "x")]));
    assert_eq!(applied.parts, twins);
    assert_eq!(applied.problems.len(), 1);
}

proptest! {
    /// ET-44: slot and trust of existing segments never change, and no line of untrusted text is
    /// new.
    #[test]
    fn no_reply_promotes_anything(
        inside in proptest::collection::vec("[a-c`~]{0,5}", 0..8),
        changes in proptest::collection::vec(("(foreign|role|new)", "([a-c`~]{0,5}\n){0,10}"), 0..5),
        keep in proptest::collection::vec(any::<bool>(), 8),
    ) {
        let foreign = format!("Not verified:\n{}", fence::block(&inside.join("\n")));
        let mut old = parts();
        old[2].text = foreign.clone();
        let mut kept = keep.iter();
        let lines = foreign.lines().filter(|_| *kept.next().unwrap_or(&true));
        let shorter = lines.collect::<Vec<_>>().join("\n");
        let mut changes: Vec<(&str, &str)> =
            changes.iter().map(|(id, text)| (id.as_str(), text.as_str())).collect();
        changes.push(("foreign", &shorter));
        let applied = apply(old.clone(), reply(&changes));
        for part in &applied.parts {
            let Some(before) = old.iter().find(|it| it.id == part.id) else {
                prop_assert_eq!(part.trust, Trust::User);
                continue;
            };
            prop_assert_eq!((part.slot, part.trust), (before.slot, before.trust));
            if part.trust == Trust::Untrusted {
                let mut lines = before.text.lines();
                prop_assert!(part.text.lines().all(|line| lines.any(|known| known == line)));
                prop_assert_eq!(part.text.lines().last(), before.text.lines().last());
            }
        }
    }
}

struct Hook {
    dir: tempfile::TempDir,
    env: Env,
}

impl Hook {
    fn new(script: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let now = "2026-11-21T10:00:00[UTC]".parse().unwrap();
        let env = Env::fixed(dir.path(), now, BTreeMap::new());
        std::fs::create_dir_all(env.dirs.config.join("hooks")).unwrap();
        std::fs::write(env.dirs.config.join("hooks/change.sh"), script).unwrap();
        Self { dir, env }
    }

    async fn run(&self, limits: Limits) -> Result<Reply, String> {
        let request = Request {
            agent: Some("reviewer".to_owned()),
            model: "anthropic/m".to_owned(),
            mode: Mode::Plan,
            layout: "default".to_owned(),
            segments: parts(),
        };
        let command = ["sh", "hooks/change.sh"].map(str::to_owned);
        run_within(&self.env, &command, &request, limits).await
    }
}

/// ET-44: the command sees the agent and the segments, and its answer is the same each time.
#[tokio::test]
async fn a_command_reads_and_returns_the_agents_segments() {
    let hook = Hook::new(
        r#"cat > seen.json
printf '{"segments": [{"id": "mine", "text": "%s", "more": 1}], "other": 2}' "Use spaces."
"#,
    );
    let first = hook.run(LIMITS).await.unwrap();
    assert_eq!(first, hook.run(LIMITS).await.unwrap());
    assert_eq!(first, reply(&[("mine", "Use spaces.")]));
    let seen = std::fs::read(hook.dir.path().join("config/seen.json")).unwrap();
    let seen: serde_json::Value = serde_json::from_slice(&seen).unwrap();
    assert_eq!(seen["agent"], "reviewer");
    assert_eq!(
        (&seen["mode"], &seen["layout"]),
        (&"plan".into(), &"default".into())
    );
    let row = &seen["segments"][2];
    assert_eq!(
        (&row["slot"], &row["trust"]),
        (&"tail".into(), &"untrusted".into())
    );
    assert_eq!(row["text"], parts()[2].text);
}

/// ET-44: every failure is reported as a reason, and the prompt stays unchanged.
#[tokio::test]
async fn a_failing_command_reports_the_reason() {
    let limits = Limits {
        time: Duration::from_millis(500),
        ..LIMITS
    };
    for (script, part) in [
        ("echo broken >&2; exit 7", "broken"),
        ("cat >/dev/null; echo '[]'", "segments"),
        ("cat >/dev/null; echo '{\"segments\": 7}'", "segments"),
        ("cat >/dev/null", "segments"),
        ("sleep 600", "500 ms"),
        ("yes", "more than"),
    ] {
        let limits = if script == "sleep 600" {
            limits
        } else {
            LIMITS
        };
        let reason = Hook::new(script).run(limits).await.unwrap_err();
        assert!(reason.starts_with("prompt.transform: "), "{reason}");
        assert!(reason.contains(part), "{script}: {reason}");
    }
}

#[test]
fn a_program_is_found_at_home_or_beside_the_settings_never_in_the_workspace() {
    let hook = Hook::new("");
    let dir = hook.dir.path().display().to_string();
    for (program, expected) in [
        ("~/bin/x", format!("{dir}/home/bin/x")),
        ("./x", format!("{dir}/config/./x")),
        ("/usr/bin/x", "/usr/bin/x".to_owned()),
        ("x", "x".to_owned()),
    ] {
        let command = [program.to_owned(), "./arg".to_owned()];
        assert_eq!(argv(&hook.env, &command), [expected, "./arg".to_owned()]);
    }
}
