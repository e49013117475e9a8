use super::super::super::tests::bench::Bench;
use super::*;

fn named(bench: &Bench, command: &str) -> Vec<String> {
    let entries = contents(&bench.cx, command, &bench.root);
    let name = |entry: &String| {
        let path = entry
            .split_once(' ')
            .map_or(entry.as_str(), |(path, _)| path);
        let root = bench.root.display().to_string();
        path.trim_start_matches(&root)
            .trim_start_matches('/')
            .to_owned()
    };
    entries.iter().map(name).collect()
}

/// R04: scripts, files they name and modules they import, but not files that are only written.
#[test]
fn r04_the_files_that_a_command_runs_are_found() {
    let bench = Bench::new();
    for (name, text) in [
        ("check.sh", "#!/bin/sh\n. ./lib.sh\npython3 tool/t.py\n"),
        ("lib.sh", "echo lib\n"),
        ("tool/t.py", "import helper\nfrom pkg.mod import x\n"),
        ("tool/helper.py", "y = 1\n"),
        ("tool/pkg/mod.py", "x = 1\n"),
        ("notes.md", "see check.sh\n"),
        ("out.txt", "old\n"),
    ] {
        let path = bench.root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let all = [
        "check.sh",
        "lib.sh",
        "tool/helper.py",
        "tool/pkg/mod.py",
        "tool/t.py",
    ];
    for command in [
        "sh check.sh",
        "./check.sh >> out.txt",
        "A=1 sh 'check.sh'; ls",
    ] {
        assert_eq!(named(&bench, command), all, "{command}");
    }
    assert_eq!(named(&bench, "cat notes.md > \"out.txt\""), ["notes.md"]);
    assert_eq!(named(&bench, "cat out.txt"), ["out.txt"]);
    assert_eq!(named(&bench, "cargo test"), Vec::<String>::new());
}

/// R04: a changed text has another entry, and so has a changed stored variable.
#[test]
fn r04_a_changed_file_or_variable_is_noticed() {
    let bench = Bench::new();
    let now = || contents(&bench.cx, "sh t.sh", &bench.root);
    assert_eq!(now(), Vec::<String>::new());
    std::fs::write(bench.root.join("t.sh"), "echo 1\n").unwrap();
    let first = now();
    std::fs::write(bench.root.join("t.sh"), "\u{feff}echo 1\n").unwrap();
    assert_eq!(now(), first, "a byte order mark is no change");
    std::fs::write(bench.root.join("t.sh"), "echo 2\n").unwrap();
    assert_ne!(now(), first);
    let before = now().len();
    UserState::new(&bench.cx.env)
        .set_variable("NPM_TOKEN", "x")
        .unwrap();
    assert_eq!(now().len(), before + 1);
    assert!(!format!("{:?}", now()).contains("NPM_TOKEN"));
}
