//! Sizes of files and functions, module docs, and words that never stay.

use crate::{File, files, report, root, sources};

const FILE_LINES: usize = 800;
const FUNCTION_LINES: usize = 70;
const FILE_BYTES: u64 = 200 * 1024;
const DOC_LINES: usize = 8;
const ARCHITECTURE_WORDS: usize = 1800;
/// Written by `scripts/types` from the server's types.
const GENERATED: [&str; 2] = [
    "editors/nvim/lua/interline/protocol.lua",
    "editors/vscode/src/protocol.ts",
];

fn rust() -> Vec<File> {
    let mut all = files();
    all.retain(|file| file.name.ends_with(".rs"));
    all
}

/// Functions over the limit: line, name, length. Rustfmt's indentation tells where one ends.
fn long_functions(text: &str) -> Vec<(usize, String, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let indent = &line[..line.len() - code.len()];
        let Some(name) = function_name(code) else {
            continue;
        };
        let body = lines[start..]
            .iter()
            .position(|line| line.ends_with(['{', ';', '}']));
        let opens = body.is_some_and(|at| lines[start + at].ends_with('{'));
        if !opens {
            continue;
        }
        let close = format!("{indent}}}");
        let Some(length) = lines[start..].iter().position(|line| *line == close) else {
            continue;
        };
        let around = &lines[start.saturating_sub(3)..start + length];
        let excused = around
            .iter()
            .any(|line| line.contains("// tidy: long because"));
        if length + 1 > FUNCTION_LINES && !excused {
            found.push((start + 1, name, length + 1));
        }
    }
    found
}

fn function_name(code: &str) -> Option<String> {
    let mut words = code.split_whitespace();
    let marks = ["pub", "async", "const", "unsafe", "extern", "\"C\""];
    let word = words.find(|word| !marks.contains(word) && !word.starts_with("pub("))?;
    if word != "fn" {
        return None;
    }
    let name = words.next()?;
    Some(name.split(['(', '<']).next().unwrap_or(name).to_owned())
}

#[test]
fn files_are_at_most_800_lines_and_200_kilobytes() {
    let mut findings = Vec::new();
    for file in files() {
        let lines = file.text.lines().count();
        let code = [".rs", ".lua", ".ts", ".py", ".sh"];
        let fixture = file.name.starts_with("tests/fixtures/");
        let written = !fixture && !GENERATED.contains(&file.name.as_str());
        if code.iter().any(|end| file.name.ends_with(end)) && written && lines > FILE_LINES {
            findings.push(format!("{}: {lines} lines", file.name));
        }
        if file.bytes > FILE_BYTES && !file.name.ends_with(".lock") {
            findings.push(format!("{}: {} bytes", file.name, file.bytes));
        }
    }
    report("too big", findings);
}

/// The page stays an overview: reasons belong to the modules that they are about.
#[test]
fn the_architecture_page_has_at_most_1800_words() {
    let page = std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("the page");
    let words = page.split_whitespace().count();
    assert!(words <= ARCHITECTURE_WORDS, "{words} words");
}

#[test]
fn functions_are_at_most_70_lines() {
    let mut findings = Vec::new();
    for file in rust() {
        for (line, name, length) in long_functions(&file.text) {
            findings.push(format!("{}:{line}: {name} has {length} lines", file.name));
        }
    }
    report(
        "functions too long (split, or `// tidy: long because …`)",
        findings,
    );
}

#[test]
fn every_source_begins_with_its_doc() {
    let mut findings = Vec::new();
    for file in rust().iter().filter(|file| !is_sibling_test(file)) {
        let doc = file
            .text
            .lines()
            .take_while(|line| line.starts_with("//!"))
            .count();
        if doc == 0 {
            findings.push(format!("{}: no //!", file.name));
        } else if doc > DOC_LINES {
            findings.push(format!("{}: {doc} lines of //!", file.name));
        }
    }
    report("module docs of 1 to 8 lines", findings);
}

/// The tests of the module next to them.
fn is_sibling_test(file: &File) -> bool {
    file.name.starts_with("src/") && file.is_test()
}

#[test]
fn there_is_no_mod_rs() {
    let all = rust().into_iter().map(|file| file.name);
    report(
        "mod.rs",
        all.filter(|name| name.ends_with("mod.rs")).collect(),
    );
}

/// Words in code that mean "not done", and output on the protocol's channel.
#[test]
fn nothing_unfinished_and_no_stray_output_is_left() {
    let unfinished = ["FIXME", "todo!(", "unimplemented!(", "#[ignore", "dbg!("];
    let mut findings = Vec::new();
    for file in rust() {
        let own = file.name.starts_with("tests/tidy");
        let speaks = ["src/cli", "src/terminal", "benches/", "fuzz/", "build.rs"];
        let may_print = file.is_test() || speaks.iter().any(|start| file.name.starts_with(start));
        for (n, line) in file.text.lines().enumerate() {
            let word = unfinished.iter().find(|word| !own && line.contains(**word));
            if let Some(word) = word {
                findings.push(format!("{}:{}: {word}", file.name, n + 1));
            }
            let prints = ["println!(", "print!("].iter().any(|call| {
                line.match_indices(call)
                    .any(|(at, _)| !line[..at].ends_with('e') && !line[..at].contains("//"))
            });
            if prints && !may_print {
                findings.push(format!(
                    "{}:{}: stdout carries protocol only",
                    file.name,
                    n + 1
                ));
            }
        }
    }
    report("leftovers", findings);
}

#[test]
fn unwrap_and_expect_stay_in_tests() {
    let mut findings = Vec::new();
    for file in sources().iter().filter(|file| !file.is_test()) {
        for (n, line) in file.code().lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            if code.contains(".unwrap()") || code.contains(".expect(\"") {
                findings.push(format!("{}:{}: {}", file.name, n + 1, line.trim()));
            }
        }
    }
    report("unwrap outside tests", findings);
}

#[test]
fn no_line_ends_in_spaces() {
    let mut findings = Vec::new();
    for file in files() {
        if file.name.starts_with("tests/fixtures/") || file.name.starts_with("fuzz/seeds/") {
            continue;
        }
        let bad = file
            .text
            .lines()
            .position(|line| line.ends_with([' ', '\t']));
        findings.extend(bad.map(|n| format!("{}:{}", file.name, n + 1)));
    }
    report("trailing spaces", findings);
}

#[test]
fn long_functions_are_found_and_excused() {
    let body = "    x();\n".repeat(80);
    let text = format!(
        "pub(crate) async fn long(\n    a: u8,\n) -> u8 {{\n{body}}}\nfn short();\nfn one() {{}}\n"
    );
    assert_eq!(long_functions(&text), [(1, "long".to_owned(), 84)]);
    let excused = format!("// tidy: long because a table\n{text}");
    assert!(long_functions(&excused).is_empty());
}
