//! What truncated results and descriptions must say.

use serde_json::json;

use super::bench::Bench;
use crate::prompt::{Layout, Texts};
use crate::tools::{Registry, ToolOutput};

/// MC-20, MC-21: the truncated result itself says how to get the rest.
#[track_caller]
fn cut(output: &ToolOutput, hint: &str) {
    assert!(output.truncated);
    let last = output.text.lines().last().unwrap_or_default();
    assert!(last.starts_with('[') && last.contains(hint), "{last}");
}

/// MC-20, MC-21.
#[tokio::test]
async fn every_truncated_result_says_how_to_read_the_rest() {
    let bench = Bench::new();
    bench.file("long.txt", &"line\n".repeat(2_500));
    for n in 0..600 {
        bench.file(&format!("many/{n}.txt"), "line\n");
    }
    let read = bench
        .call("read", json!({ "path": "long.txt" }))
        .await
        .unwrap();
    cut(&read, "Read on with offset 2001.");
    let list = bench.call("list", json!({ "path": "many" })).await.unwrap();
    cut(&list, "narrow the path or the pattern");
    let glob = bench
        .call("glob", json!({ "pattern": "many/*" }))
        .await
        .unwrap();
    cut(&glob, "narrow the path or the pattern");
    let grep = bench
        .call("grep", json!({ "pattern": "line" }))
        .await
        .unwrap();
    cut(&grep, "narrow the path or the pattern");
    let project = json!({ "project": "repo", "path": "long.txt" });
    cut(
        &bench.call("project_read", project).await.unwrap(),
        "offset 2001",
    );
}

/// MC-21: the rest of a command's output is in a file that `read` opens.
#[tokio::test]
async fn a_truncated_output_names_the_file_with_all_of_it() {
    let bench = Bench::new();
    let flood =
        json!({ "command": "i=0; while [ $i -lt 9000 ]; do echo line $i; i=$((i+1)); done" });
    let output = bench.call("exec", flood).await.unwrap();
    assert!(output.truncated);
    let hint = output
        .text
        .lines()
        .find(|line| line.contains("omitted here"));
    let path = hint.and_then(|hint| hint.strip_suffix(']')?.rsplit_once("is in "));
    let (_, path) = path.expect("a hint that names the file");
    let rest = json!({ "path": path, "offset": 5000, "limit": 1 });
    assert!(
        bench
            .text("read", rest)
            .await
            .starts_with("5000\tline 4999")
    );
}

/// MC-22: what it does, when to use it, and a limit or condition.
#[test]
fn every_description_says_what_when_and_its_limits() {
    let limits = [
        "at most", "only", "never", "not ", "must", "until", "always", "fails", "refused", " no ",
        "cannot",
    ];
    for tool in Registry::built_in().facts(&Texts::load(None)) {
        let (name, text) = (tool.spec.name, tool.spec.description);
        let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
        assert!(
            text.chars().count() >= 40 && first.ends_with('.') || first.ends_with('`'),
            "{name}"
        );
        let when = ["Use it", "Read the file first"];
        assert!(
            when.iter().any(|words| rest.contains(words)),
            "{name} does not say when to use it"
        );
        let lower = text.to_lowercase();
        assert!(
            limits.iter().any(|word| lower.contains(word)),
            "{name} names no limit"
        );
    }
}

/// ZY-64, ZY-67, OC-18: layouts ask for opt-in tools by names that exist; `default` for none.
#[test]
fn layouts_ask_for_opt_in_tools_that_exist() {
    let (texts, registry) = (Texts::load(None), Registry::built_in());
    let opt_in = registry.only(|tool| tool.spec().opt_in).names();
    let asked = |layout: &str| Layout::load(&texts, layout).unwrap().head.optional_tools;
    for layout in Layout::names(&texts) {
        for tool in asked(&layout) {
            assert!(opt_in.contains(&tool), "{layout} asks for {tool}");
        }
    }
    assert_eq!(asked("default"), Vec::<String>::new());
    assert_eq!(asked("openclaw"), ["settings"]);
    let mut team = asked("zyhive");
    team.sort();
    let own = |name: &&String| name.starts_with("self_") || name.starts_with("project_");
    assert_eq!(team, opt_in.iter().filter(own).cloned().collect::<Vec<_>>());
    assert_eq!(opt_in.len(), team.len() + 1);
}
