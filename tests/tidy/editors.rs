//! docs/editors.md names a test for each habit of an editor, docs/security.md for each claim: each
//! of them is there.

use crate::{files, report};

#[test]
fn every_test_that_the_page_of_editors_names_exists() {
    names_tests("docs/editors.md", &["| habit"]);
}

#[test]
fn every_test_that_the_page_of_security_names_exists() {
    names_tests("docs/security.md", &["| attack"]);
}

/// Each row of the page's tables names tests in its last column, and they exist.
fn names_tests(name: &str, heads: &[&str]) {
    let files = files();
    let page = files.iter().find(|file| file.name == name);
    let page = &page.expect(name).text;
    let tests: Vec<&str> = files
        .iter()
        .filter(|file| file.is_test())
        .map(|file| file.text.as_str())
        .collect();
    let mut wrong = Vec::new();
    let rows = page
        .lines()
        .filter(|line| line.starts_with("| ") && !heads.iter().any(|it| line.starts_with(it)));
    for row in rows {
        let last = row
            .trim_end_matches('|')
            .rsplit('|')
            .next()
            .unwrap_or_default();
        let named: Vec<&str> = last.split('`').skip(1).step_by(2).collect();
        if named.is_empty() {
            wrong.push(format!("no test: {row}"));
        }
        for name in named {
            let head = format!("fn {name}(");
            if !tests.iter().any(|text| text.contains(&head)) {
                wrong.push(format!("there is no test {name}"));
            }
        }
    }
    report(name, wrong);
}
