use super::*;

/// `scripts/mutants` changes built-in texts without a build: those of this folder replace
/// the built-in ones of their names, in every test of the run.
pub(super) fn mutated(files: &mut Files) {
    let Some(folder) = std::env::var_os("INTERLINE_TEST_PROMPTS") else {
        return;
    };
    let (mut changed, mut problems) = (Files::default(), Vec::new());
    overlay(Path::new(&folder), &mut changed, &mut problems);
    assert_eq!(problems, []);
    for (name, text) in changed.0 {
        let text = Text { from: None, ..text };
        assert!(files.insert(name, text).is_some(), "no built-in text");
    }
}

#[test]
fn substitution_is_one_pass_and_leaves_unknown_keys_visible() {
    let values = [("a", "{{b}}"), ("b", "never")];
    for (template, expected) in [
        ("x {{a}} y", "x {{b}} y"),
        ("{{unknown}} {{a}}", "{{unknown}} {{b}}"),
        ("{{{a}}}", "{{{b}}}"),
        ("{{a", "{{a"),
        ("{{}} }} {{", "{{}} }} {{"),
        ("{{ä {{a}}", "{{ä {{b}}"),
        ("", ""),
    ] {
        assert_eq!(substitute(template, &values), expected, "{template}");
    }
}

#[test]
fn every_built_in_text_is_there_without_its_last_newline() {
    let texts = Texts::load(None);
    let text = texts.get("modes/plan.md").expect("embedded");
    assert!(text.starts_with("Mode: plan.") && !text.ends_with('\n'));
    assert_eq!(
        texts.names("modes/"),
        [
            "modes/agent.md",
            "modes/ask.md",
            "modes/placeholder.md",
            "modes/plan.md"
        ]
    );
    assert_eq!(
        texts.origin("modes/plan.md"),
        ("built in: modes/plan.md".to_owned(), Trust::Own)
    );
}

#[test]
fn the_embedded_texts_are_those_of_the_folder() {
    // The build does not notice a new file by itself; a stale build must not pass.
    fn names(dir: &Path, prefix: &str, out: &mut Vec<String>) {
        for entry in std::fs::read_dir(dir).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if entry.file_type().unwrap().is_dir() {
                names(&entry.path(), &format!("{name}/"), out);
            } else {
                out.push(name);
            }
        }
    }
    let mut found = Vec::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("prompts");
    names(&folder, "", &mut found);
    found.sort();
    let texts = Texts::load(None);
    assert_eq!(
        texts.names(""),
        found,
        "touch src/prompt/texts.rs to embed new files"
    );
}

#[test]
fn an_override_replaces_a_text_and_adds_one() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("modes")).unwrap();
    std::fs::create_dir_all(dir.path().join("segments")).unwrap();
    std::fs::write(dir.path().join("modes/ask.md"), "Only answer.\n").unwrap();
    std::fs::write(
        dir.path().join("segments/house.md"),
        "House rules {{a}}\r\n",
    )
    .unwrap();
    let texts = Texts::load(Some(dir.path()));
    assert_eq!(texts.get("modes/ask.md"), Some("Only answer."));
    let path = dir.path().join("modes/ask.md").display().to_string();
    assert_eq!(texts.origin("modes/ask.md"), (path, Trust::User));
    assert_eq!(texts.origin("modes/plan.md").1, Trust::Own);
    assert_eq!(
        texts.render("segments/house.md", &[("a", "x")]),
        "House rules x"
    );
    assert_eq!(texts.problems(), []);
    assert_eq!(texts.render("no/such.md", &[]), "no/such.md");
}

#[test]
fn an_unusable_override_is_reported_and_the_built_in_text_stays() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("modes")).unwrap();
    std::fs::write(dir.path().join("modes/ask.md"), [0xff, 0xfe]).unwrap();
    let large = std::fs::File::create(dir.path().join("modes/plan.md")).unwrap();
    large.set_len(FILE_LIMIT + 1).unwrap();
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        dir.path().join("title.md"),
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
    )
    .unwrap();
    let texts = Texts::load(Some(dir.path()));
    assert!(texts.get("modes/ask.md").unwrap().starts_with("Mode: ask."));
    assert!(
        texts
            .get("modes/plan.md")
            .unwrap()
            .starts_with("Mode: plan.")
    );
    let reasons: Vec<&str> = texts
        .problems()
        .iter()
        .map(|(_, why)| why.as_str())
        .collect();
    assert_eq!(reasons.len(), 3, "{reasons:?}");
    assert!(reasons.iter().any(|why| why.contains("not UTF-8")));
    assert!(
        reasons
            .iter()
            .any(|why| why.contains("more than the limit"))
    );
    assert!(reasons.iter().any(|why| why.contains("not a regular file")));
}

#[test]
fn the_schema_of_a_tool_cannot_be_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let built_in = Texts::load(None);
    let schema = built_in.get("tools/read.json").unwrap();
    std::fs::create_dir_all(dir.path().join("tools")).unwrap();
    std::fs::write(dir.path().join("tools/read.json"), "{}").unwrap();
    std::fs::write(
        dir.path().join("tools/list.json"),
        built_in.get("tools/list.json").unwrap(),
    )
    .unwrap();
    let texts = Texts::load(Some(dir.path()));
    assert_eq!(texts.get("tools/read.json"), Some(schema));
    let path = dir.path().join("tools/read.json").display().to_string();
    assert_eq!(texts.problems(), [(path, SCHEMA.to_owned())]);
}

#[test]
fn a_missing_override_folder_is_no_problem() {
    let texts = Texts::load(Some(Path::new("/nonexistent/prompts")));
    assert_eq!(texts.problems(), []);
}
