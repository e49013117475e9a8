//! The folders of `tests/fixtures/edits`: see its README.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};

use super::bench::Bench;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    tool: String,
    arguments: Value,
    found: Option<String>,
    #[serde(default)]
    unread: bool,
}

fn folders() -> Vec<PathBuf> {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/edits");
    let entries = std::fs::read_dir(all).unwrap();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    folders.retain(|path| path.is_dir());
    folders.sort();
    folders
}

/// The texts by file name; `None`: there is no such file or folder.
fn texts(path: &Path) -> Option<BTreeMap<String, String>> {
    if path.is_file() {
        let text = std::fs::read_to_string(path).unwrap();
        return Some(BTreeMap::from([("file.txt".to_owned(), text)]));
    }
    let entries = std::fs::read_dir(path).ok()?;
    let files = entries.map(|entry| {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        (name, std::fs::read_to_string(path).unwrap())
    });
    // Git has no empty folders.
    Some(files.filter(|(name, _)| name != ".keep").collect())
}

/// What is wrong with the outcome of the call.
async fn findings(folder: &Path) -> Vec<String> {
    let read = |name: &str| std::fs::read_to_string(folder.join(name));
    let call: Call = serde_json::from_str(&read("call.json").unwrap()).unwrap();
    let bench = Bench::new();
    let input = texts(&folder.join("input")).unwrap();
    for (file, text) in &input {
        bench.file(file, text);
        if !call.unread {
            bench.text("read", json!({"path": file})).await;
        }
    }
    let (said, failed) = match bench.call(&call.tool, call.arguments).await {
        Ok(output) => (output.text, output.is_error),
        Err(words) => (words, true),
    };
    let expected = texts(&folder.join("expected"));
    let said_so = match &expected {
        Some(_) => {
            let note = call.found.map(|found| {
                let how = bench.cx.text(&format!("results/found-{found}.md"), &[]);
                bench.cx.text("results/edit-found.md", &[("how", &how)])
            });
            let loosely = said.contains("exactly as given");
            loosely == note.is_some() && said.contains(&note.unwrap_or_default())
        }
        None => {
            let said = format!("{said}\n");
            if std::env::var_os("UPDATE_FIXTURES").is_some() {
                std::fs::write(folder.join("refused"), &said).unwrap();
            }
            read("refused").unwrap() == said
        }
    };
    let wrong = [
        (failed == expected.is_some(), format!("the result: {said}")),
        (!said_so, format!("the text of the result: {said}")),
        (
            bench.files() != expected.unwrap_or(input),
            format!("the files: {:?}", bench.files()),
        ),
    ];
    let name = folder.file_name().unwrap().to_str().unwrap();
    let wrong = wrong.into_iter().filter(|(is_wrong, _)| *is_wrong);
    wrong.map(|(_, what)| format!("{name}: {what}")).collect()
}

#[tokio::test]
async fn calls_change_files_as_the_fixtures_say_or_are_refused_i3_i6_i7_i11() {
    let folders = folders();
    assert!(folders.len() > 150, "{} folders", folders.len());
    let mut wrong = Vec::new();
    for folder in folders {
        wrong.extend(findings(&folder).await);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
