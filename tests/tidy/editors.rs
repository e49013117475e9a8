//! docs/editors.md names a test for each habit of an editor: each of them is there.

use crate::{files, report};

#[test]
fn every_test_that_the_page_of_editors_names_exists() {
    let files = files();
    let page = files.iter().find(|file| file.name == "docs/editors.md");
    let page = &page.expect("docs/editors.md").text;
    let tests: Vec<&str> = files
        .iter()
        .filter(|file| file.is_test())
        .map(|file| file.text.as_str())
        .collect();
    let mut wrong = Vec::new();
    let rows = page
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| habit"));
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
    report("docs/editors.md", wrong);
}
