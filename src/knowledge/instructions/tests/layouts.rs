use super::*;

/// The table `[instructions]` of a layout.
fn table(text: &str) -> Result<Search, toml::de::Error> {
    toml::from_str(text)
}

fn search(text: &str) -> Search {
    table(text).unwrap()
}

fn sources(gathered: &Gathered) -> Vec<&str> {
    let found = gathered.found.iter();
    found.map(|one| one.source.as_str()).collect()
}

fn origins(gathered: &Gathered) -> Vec<Origin> {
    gathered.found.iter().map(|one| one.origin).collect()
}

#[test]
fn an_empty_table_is_the_default_and_wrong_ones_are_errors() {
    assert_eq!(search(""), Search::default());
    for wrong in [
        "unknown = 1",
        "each = \"some\"",
        "origins = [\"global\", \"global\"]",
        "origins = [\"web\"]",
    ] {
        assert!(table(wrong).is_err(), "{wrong}");
    }
}

const ALL_NAMES: &str = "names = ['AGENTS.md', 'ETCODE.md']\neach = 'all'\n\
    order = 'nearestFirst'\nstop = 'git'\n\
    origins = ['workspace', 'global', 'configured', 'urls']\nglobs = false\n";

#[test]
fn every_name_of_every_level_counts_from_the_nearest_up_to_the_git_top_et20_et24_et35_k16() {
    let mut place = place(&[
        ("config/AGENTS.md", "global"),
        ("repo/AGENTS.md", "above the work tree"),
        ("repo/g/.git/HEAD", "ref: refs/heads/main"),
        ("repo/g/AGENTS.md", "top"),
        ("repo/g/ETCODE.md", "top too"),
        ("repo/g/packages/foo/ETCODE.md", "foo"),
        ("repo/g/packages/foo/CLAUDE.md", "not ours"),
        ("repo/g/packages/foo/CONTEXT.md", "not ours either"),
        ("repo/g/packages/foo/src/AGENTS.md", "src"),
        ("repo/g/extra.md", "extra"),
    ]);
    place.config.instructions = vec!["extra.md".into()];
    let gathered = place.gather_by("repo/g/packages/foo/src", &search(ALL_NAMES));
    let extra = gathered.problems.first().map(|(source, _)| source.as_str());
    assert_eq!(extra, Some("extra.md"), "neither in src nor in the root");
    // ET-21: nothing above the git top. ET-46: CLAUDE.md and CONTEXT.md are not read.
    let expected = ["src", "foo", "top", "top too", "global"];
    let texts: Vec<&str> = gathered.found.iter().map(|one| one.text.as_str()).collect();
    assert_eq!(texts, expected);
    let at_top = place.gather_by("repo/g", &search(ALL_NAMES));
    assert_eq!(
        origins(&at_top),
        [
            Origin::Workspace,
            Origin::Workspace,
            Origin::Global,
            Origin::Configured
        ]
    );
}

#[test]
fn the_walk_ends_at_the_nearest_git_folder_the_root_or_the_directory_et21_et34() {
    let place = place(&[
        ("repo/AGENTS.md", "root"),
        ("repo/a/AGENTS.md", "a"),
        ("repo/a/b/AGENTS.md", "b"),
    ]);
    let texts = |cwd: &str| {
        let gathered = place.gather_by(cwd, &search("stop = 'git'"));
        assert_eq!(gathered.problems, [], "nothing else is looked for");
        let found = gathered.found.into_iter();
        found.map(|one| one.text).collect::<Vec<_>>()
    };
    assert_eq!(texts("repo/a/b"), ["b"], "outside git: the directory only");
    place.write("repo/.git/HEAD", "ref: refs/heads/main");
    assert_eq!(texts("repo/a/b"), ["root", "a", "b"]);
    place.write("repo/a/.git/HEAD", "ref: refs/heads/main");
    assert_eq!(texts("repo/a/b"), ["a", "b"], "the nearest one");
}

/// ET-20, ET-21, ET-52, K16, K22: what was opened is no end of the walk, and gives no trust.
#[test]
fn the_walk_continues_above_the_opened_folder_up_to_the_git_top() {
    let place = place(&[
        ("repo/AGENTS.md", "above the git top"),
        ("repo/g/.git/HEAD", "ref: refs/heads/main"),
        ("repo/g/AGENTS.md", "top"),
        ("repo/g/vendor/AGENTS.md", "vendored"),
        ("repo/g/vendor/b/AGENTS.md", "b"),
    ]);
    place.roots(&["repo/g/vendor/b"]);
    let gathered = |stop: &str| place.gather_by("repo/g/vendor/b", &search(stop));
    let fenced = Standing::Folder { trusted: false };
    for stop in ["stop = 'git'", "stop = 'root'"] {
        let gathered = gathered(stop);
        let found = gathered.found.iter();
        let found: Vec<_> = found.map(|one| (one.text.as_str(), one.standing)).collect();
        assert_eq!(found, [("top", fenced), ("b", Standing::Session)], "{stop}");
        assert!(gathered.problems[0].1.contains("vendored folder vendor"));
        assert_eq!(gathered.unverified, Some(place.path("repo/g")));
        assert!(
            gathered.problems[1]
                .1
                .contains("trusts the whole repository")
        );
    }
    assert_eq!(sources(&gathered("stop = 'directory'")), ["AGENTS.md"]);
    TrustStore::new(&place.env)
        .set_folder(&place.path("repo/g"), true)
        .unwrap();
    let trusted = gathered("");
    assert_eq!(
        trusted.found[0].standing,
        Standing::Folder { trusted: true }
    );
    assert_eq!(trusted.unverified, None);
    // The session's own trust does not extend to the folders above.
    assert!(trusted.found[0].source.ends_with("repo/g/AGENTS.md"));
}

#[test]
fn a_further_name_is_one_word_of_data_et32() {
    let place = place(&[("repo/.cursorrules", "cursor"), ("repo/AGENTS.md", "a")]);
    let gathered = place.gather_by("repo", &search("names = ['.cursorrules']"));
    assert_eq!(sources(&gathered), [".cursorrules"]);
}

#[test]
fn a_settings_files_relative_entry_lies_beside_it_first_et23() {
    let mut place = place(&[
        ("config/rules.md", "beside config.toml"),
        ("config/team/a.md", "team a"),
        ("home/dots.md", "dots"),
        ("repo/rules.md", "of the repository"),
        ("repo/only.md", "only here"),
    ]);
    let entries = ["rules.md", "only.md", "team/*.md", "../home/dots.md"];
    place.config.instructions = entries.map(str::to_owned).to_vec();
    place.config.own_instructions = place.config.instructions.clone();
    let gathered = place.gather("repo");
    assert_eq!(gathered.problems, []);
    let texts: Vec<&str> = gathered.found.iter().map(|one| one.text.as_str()).collect();
    assert_eq!(texts, ["beside config.toml", "only here", "team a", "dots"]);
    let own: Vec<bool> = gathered
        .found
        .iter()
        .map(|one| one.standing == Standing::User)
        .collect();
    assert_eq!(own, [true, false, true, true]);
    // What a repository can carry says nothing of the config folder.
    place.config.own_instructions = Vec::new();
    let gathered = place.gather("repo");
    let texts: Vec<&str> = gathered.found.iter().map(|one| one.text.as_str()).collect();
    assert_eq!(texts, ["of the repository", "only here"]);
    assert_eq!(gathered.problems.len(), 2, "{:?}", gathered.problems);
}

#[test]
fn without_globs_a_pattern_is_the_name_of_a_file_et23() {
    let mut place = place(&[("repo/r/a.md", "a"), ("repo/r/[x].md", "x")]);
    place.config.instructions = vec!["r/*.md".into(), "r/[x].md".into()];
    let gathered = place.gather_by("repo", &search("globs = false"));
    assert_eq!(sources(&gathered), ["r/[x].md"]);
    assert!(reason_of(&gathered, "r/*.md").contains("takes patterns for paths"));
}

#[test]
fn sources_that_the_layout_does_not_use_are_reported() {
    let mut place = place(&[("config/AGENTS.md", "global"), ("repo/x.md", "x")]);
    place.config.instructions = vec!["x.md".into(), "https://u:pw@example.com/y".into()];
    let gathered = place.gather_by("repo", &search("origins = ['workspace']"));
    assert_eq!(gathered.found, []);
    assert!(reason_of(&gathered, "x.md").contains("does not include files"));
    // INV-10: neither does a problem show a password.
    assert!(reason_of(&gathered, "https://example.com/y").contains("fetched"));
}

/// ZY-14-C, K18: bare lines alone, from the root, labelled as written, where the layout asks.
#[test]
fn lines_that_name_files_bring_them_right_after_zy14_zy13() {
    let place = place(&[
        (
            "repo/AGENTS.md",
            "# Files\n\n  docs/style.md  \nmissing.md\n- docs/list.md\n@docs/list.md\n\
             Read docs/list.md.\nsrc\n./docs/second.md\n",
        ),
        ("repo/docs/style.md", "style\ndocs/list.md\n"),
        ("repo/docs/list.md", "listed"),
        ("repo/docs/second.md", "second"),
        ("repo/src/a.rs", "fn a() {}"),
        ("config/AGENTS.md", "docs/list.md\n"),
    ]);
    let table = search("references = true\norigins = ['workspace', 'global']");
    let gathered = place.gather_by("repo", &table);
    let global = place.path("config/AGENTS.md").display().to_string();
    assert_eq!(
        sources(&gathered),
        ["AGENTS.md", "docs/style.md", "./docs/second.md", &global],
        "one level, in order, each labelled as written"
    );
    assert_eq!(gathered.problems, [], "what is missing is skipped silently");
    assert_eq!(origins(&gathered)[1], Origin::Reference);
    assert_eq!(gathered.found[1].standing, Standing::Session);
    // K18: only when the layout asks.
    assert_eq!(sources(&place.gather("repo")), [&global, "AGENTS.md"]);
}

#[test]
fn a_reference_is_taken_once_and_from_its_buffer() {
    // INV-2, ET-25
    let place = place(&[
        (
            "repo/AGENTS.md",
            "AGENTS.md\na.md\n./a.md\nnever-saved.md\n",
        ),
        ("repo/a.md", "disk\nAGENTS.md\n"),
    ]);
    place.open("repo/a.md", "buffer");
    place.open("repo/never-saved.md", "new");
    let gathered = place.gather_by("repo", &search("references = true"));
    assert_eq!(gathered.problems, []);
    let texts: Vec<&str> = gathered.found.iter().map(|one| one.text.as_str()).collect();
    assert_eq!(texts[1..], ["buffer", "new"]);
}

/// INV-9: a repository wrote these lines.
#[test]
fn references_stay_in_the_workspace_and_are_regular_files() {
    let place = place(&[
        ("secret/x.md", "SECRET"),
        ("home/x.md", "SECRET"),
        ("repo/.env", "TOKEN=1"),
        ("repo/large.md", ""),
        ("repo/binary.md", ""),
    ]);
    symlink(place.path("secret/x.md"), place.path("repo/link.md")).unwrap();
    let fifo = place.path("repo/fifo.md");
    rustix::fs::mkfifoat(rustix::fs::CWD, fifo, rustix::fs::Mode::RUSR).unwrap();
    let large = fs::File::create(place.path("repo/large.md")).unwrap();
    large.set_len(50 * 1024 * 1024).unwrap();
    place.write("repo/binary.md", [0xff, 0xfe]);
    let absolute = place.path("secret/x.md").display().to_string();
    let lines = format!(
        "../secret/x.md\n{absolute}\n~/x.md\nlink.md\nfifo.md\nfile://{absolute}\n\
         .env\nlarge.md\nbinary.md\n/dev/zero\nhttps://example.com/x\n"
    );
    place.write("repo/AGENTS.md", lines);
    let gathered = place.gather_by("repo", &search("references = true"));
    assert_eq!(sources(&gathered), ["AGENTS.md"]);
    let sources: Vec<&str> = gathered.problems.iter().map(|it| it.0.as_str()).collect();
    assert_eq!(sources, [".env", "large.md", "binary.md"]);
}

#[test]
fn references_are_bounded() {
    let place = place(&[]);
    let mut lines = String::new();
    for number in 0..70 {
        place.write(&format!("repo/{number}.md"), format!("text {number}"));
        lines.push_str(&format!("{number}.md\n"));
    }
    place.write("repo/AGENTS.md", &lines);
    let gathered = place.gather_by("repo", &search("references = true"));
    assert_eq!(gathered.found.len(), 51);
    assert!(reason_of(&gathered, "AGENTS.md").contains("only the first 50 files"));
    place.write("repo/AGENTS.md", "nothing\n".repeat(100_000) + "1.md\n");
    let gathered = place.gather_by("repo", &search("references = true\nbudget = 9000000"));
    assert_eq!(gathered.found.len(), 1);
    assert!(reason_of(&gathered, "AGENTS.md").contains("2000 lines"));
}

#[test]
fn a_label_that_is_used_already_gives_way_to_the_path() {
    let place = place(&[
        ("repo/AGENTS.md", "root"),
        ("repo/pkg/.keep", ""),
        ("repo/pkg/CLAUDE.md", "AGENTS.md\n"),
        ("repo/pkg/AGENTS.md", "of the package"),
    ]);
    let table = search("references = true\nnames = ['CLAUDE.md', 'AGENTS.md']");
    let gathered = place.gather_by("repo/pkg", &table);
    assert_eq!(
        sources(&gathered),
        ["AGENTS.md", "pkg/CLAUDE.md", "pkg/AGENTS.md"]
    );
}

#[test]
fn the_budget_is_data() {
    let place = place(&[("repo/AGENTS.md", &"a".repeat(BUDGET + 1))]);
    let whole = place.gather_by("repo", &search("budget = 100000"));
    assert_eq!(
        (whole.found[0].text.len(), whole.problems.len()),
        (BUDGET + 1, 0)
    );
    let cut = place.gather_by("repo", &search("budget = 100"));
    assert!(cut.found[0].text.len() < 300 && cut.problems.len() == 1);
}

proptest::proptest! {
    /// Whatever a repository writes, only its own files are used, and none twice.
    #[test]
    fn references_never_leave_the_root(
        lines in proptest::collection::vec("[a-c./~ \\\\#-]{0,12}|\\PC{0,20}", 0..30)
    ) {
        let place = place(&[
            ("repo/a", "a"), ("repo/b/c", "bc"), ("repo/b/a", "ba"), ("b/c", "OUT"), ("a", "OUT"),
        ]);
        place.write("repo/b/AGENTS.md", lines.join("\n"));
        let gathered = place.gather_by("repo/b", &search("references = true"));
        let mut paths = std::collections::BTreeSet::new();
        for one in &gathered.found {
            let path = one.path.clone().unwrap();
            proptest::prop_assert!(path.starts_with(place.path("repo")), "{one:?}");
            proptest::prop_assert!(paths.insert(path), "{gathered:?}");
        }
    }
}
