//! How often five typical tasks ask the user, with the sandbox and without it.

use serde_json::json;

use super::world::{World, grade};
use crate::editor::Approval;
use crate::model::{Model, Reply};

const CHECK: &str = "sh check.sh";

fn tasks() -> Vec<(&'static str, Vec<Reply>)> {
    let read = |path: &str| Reply::read(path);
    let check = || Reply::exec(CHECK);
    let write = Reply::call("write", json!({ "path": "new.txt", "content": "new\n" }));
    let search = Reply::call("grep", json!({ "pattern": "x" }));
    let edit = |old: &str, new: &str| Reply::edit("a.txt", old, new);
    vec![
        (
            "fix a test",
            vec![check(), read("a.txt"), edit("x", "y"), check()],
        ),
        (
            "rename a function",
            vec![search.clone(), read("a.txt"), edit("x", "z"), check()],
        ),
        ("add a file", vec![read("a.txt"), write, check()]),
        (
            "run the tests and fix",
            vec![check(), read("a.txt"), edit("x", "z"), check(), check()],
        ),
        (
            "explain code",
            vec![
                Reply::call("list", json!({})),
                search,
                read("a.txt"),
                Reply::exec("git log --oneline -5; ls | wc -l"),
                Reply::exec("head -3 a.txt && grep -c x a.txt"),
            ],
        ),
    ]
}

/// Questions for each task, each in a session of its own, where a user allows what may be
/// remembered for the session.
fn questions(settings: &str) -> Option<Vec<usize>> {
    let mut counts = Vec::new();
    for (_, steps) in tasks() {
        let model = Model::steps(steps);
        let world = World::new(settings, &model);
        if settings.contains("auto") && grade(&world) != "full" {
            println!("skipped: the sandbox is not complete here");
            return None;
        }
        world.stage.write("check.sh", "cat a.txt\n");
        let mut editor = world.editor(&model, &[]);
        editor.open("a.txt");
        editor.approvals(&[Approval::AllowSession; 9]);
        editor.run("go");
        editor.script.approvals.clear();
        counts.push(editor.script.asked.len());
    }
    Some(counts)
}

#[test]
fn five_typical_tasks_ask_at_most_once_each() {
    let Some(inside) = questions("sandbox.mode = \"auto\"\n") else {
        return;
    };
    let outside = questions("sandbox.mode = \"off\"\n").expect("it needs no sandbox");
    for (((task, _), with), without) in tasks().iter().zip(&inside).zip(&outside) {
        println!("{task}: {with} with the sandbox, {without} without");
    }
    assert!(inside.iter().all(|asked| *asked <= 1), "{inside:?}");
    assert_eq!(inside[4], 0, "reading asks nothing");
    assert!(outside[4] > 0, "{outside:?}");
    let auto = questions("sandbox.mode = \"auto\"\napprovals = \"auto\"\n");
    assert_eq!(auto, Some(vec![0; 5]));
}
