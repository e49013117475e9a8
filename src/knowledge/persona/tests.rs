use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::workspace::{Root, Uri};

struct Stand {
    dir: tempfile::TempDir,
    env: Env,
    workspace: Arc<Workspace>,
}

fn stand(files: &[(&str, &str)]) -> Stand {
    let dir = tempfile::tempdir().unwrap();
    let now = jiff::Timestamp::UNIX_EPOCH.to_zoned(jiff::tz::TimeZone::UTC);
    let canonical = dir.path().canonicalize().unwrap();
    let stand = Stand {
        env: Env::fixed(&canonical, now, Default::default()),
        workspace: Workspace::new(),
        dir,
    };
    for folder in ["repo/sub", "config", "home"] {
        fs::create_dir_all(stand.path(folder)).unwrap();
    }
    for (name, text) in files {
        stand.write(name, text);
    }
    let root = Root::new(Uri::from_path(&stand.path("repo")), None).unwrap();
    stand.workspace.set_roots(vec![root]);
    stand
}

impl Stand {
    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn open(&self, name: &str, text: &str) {
        let uri = Uri::from_path(&self.path(name));
        self.workspace.did_open(uri, "markdown", 1, text);
    }

    fn gather(&self, cwd: &str, names: &[&str]) -> Persona {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        gather(&self.workspace, &self.env, &self.path(cwd), &names)
    }

    fn system(&self, trusted: bool) -> (SystemPrompt, Vec<(String, String)>) {
        system_prompt(&self.workspace, &self.env, &self.path("repo"), trusted)
    }
}

fn texts(persona: &Persona) -> Vec<(&str, &str)> {
    let found = persona.found.iter();
    found
        .map(|file| (file.name.as_str(), file.text.as_str()))
        .collect()
}

#[test]
fn named_files_come_trimmed_in_the_order_of_the_names_zy05_zy06_oc46() {
    let stand = stand(&[
        ("repo/SOUL.md", "\n  soul \n\n"),
        ("repo/memory/INDEX.md", "index"),
        ("repo/.openclaw.md", "claw"),
        ("repo/RELATIONS.md", " \n\t\n"),
    ]);
    let names = [
        "memory/INDEX.md",
        "SOUL.md",
        "RELATIONS.md",
        "USER.md",
        ".openclaw.md",
    ];
    let persona = stand.gather("repo", &names);
    assert_eq!(
        texts(&persona),
        [
            ("memory/INDEX.md", "index"),
            ("SOUL.md", "soul"),
            (".openclaw.md", "claw")
        ]
    );
    // OC-C2: missing files are listed.
    assert_eq!(persona.missing, ["RELATIONS.md", "USER.md"]);
    assert_eq!(persona.problems, []);
    let soul = &persona.found[1];
    assert_eq!(soul.bytes, 10);
    assert_eq!(soul.hash, crate::conversation::sha256(b"\n  soul \n\n"));
    assert_eq!(soul.standing, Standing::Session);
}

/// ZY-08: the index, or the complete memory.
#[test]
fn an_empty_index_is_as_good_as_none_zy08() {
    let stand = stand(&[("repo/MEMORY.md", "all"), ("repo/memory/INDEX.md", " \n")]);
    let persona = stand.gather("repo", &["memory/INDEX.md", "MEMORY.md"]);
    assert_eq!(texts(&persona), [("MEMORY.md", "all")]);
}

#[test]
fn the_sessions_directory_comes_before_its_root() {
    let stand = stand(&[
        ("repo/SOUL.md", "root"),
        ("repo/USER.md", "root user"),
        ("repo/sub/SOUL.md", "sub"),
        ("SOUL.md", "above the root"),
        ("TOOLS.md", "above the root"),
    ]);
    let persona = stand.gather("repo/sub", &["SOUL.md", "USER.md", "TOOLS.md"]);
    assert_eq!(
        texts(&persona),
        [("SOUL.md", "sub"), ("USER.md", "root user")]
    );
    assert_eq!(persona.missing, ["TOOLS.md"]);
}

#[test]
fn an_open_buffer_counts_before_its_file() {
    // INV-2
    let stand = stand(&[("repo/SOUL.md", "disk")]);
    stand.open("repo/SOUL.md", "buffer");
    stand.open("repo/USER.md", "never saved");
    let persona = stand.gather("repo", &["SOUL.md", "USER.md"]);
    assert_eq!(
        texts(&persona),
        [("SOUL.md", "buffer"), ("USER.md", "never saved")]
    );
    assert!(persona.found.iter().all(|file| file.unsaved));
}

#[test]
fn what_a_repository_puts_there_is_refused_and_reported() {
    let stand = stand(&[("outside/x.md", "SECRET"), ("repo/.env", "TOKEN=1")]);
    symlink(stand.path("outside/x.md"), stand.path("repo/SOUL.md")).unwrap();
    symlink(stand.path("repo/.env"), stand.path("repo/USER.md")).unwrap();
    let fifo = stand.path("repo/TOOLS.md");
    rustix::fs::mkfifoat(rustix::fs::CWD, fifo, rustix::fs::Mode::RUSR).unwrap();
    let large = fs::File::create(stand.path("repo/MEMORY.md")).unwrap();
    large.set_len(50 * 1024 * 1024).unwrap();
    stand.write("repo/IDENTITY.md", [b'a', 0xff]);
    let names = [
        "SOUL.md",
        "USER.md",
        "TOOLS.md",
        "MEMORY.md",
        "IDENTITY.md",
        ".env",
        "../outside/x.md",
        "/etc/hostname",
        "sub",
        "",
    ];
    let persona = stand.gather("repo", &names);
    assert_eq!(
        (&persona.found[..], &persona.missing[..]),
        (&[][..], &[][..])
    );
    let reasons: Vec<&str> = persona.problems.iter().map(|it| it.1.as_str()).collect();
    let words = [
        "leads out",
        "not Markdown",
        "not a regular file",
        "52428800 bytes",
        "not UTF-8",
        "secrets",
        "not a path below",
        "not a path below",
        "a directory",
        "not a path below",
    ];
    assert_eq!(reasons.len(), words.len(), "{reasons:?}");
    for (reason, word) in reasons.iter().zip(words) {
        assert!(reason.contains(word), "{reason}: {word}");
    }
}

#[test]
fn a_long_text_keeps_its_ends_zy22() {
    let text: String = ('a'..='z').cycle().take(30_000).collect();
    let cut = truncate_middle(&text, 20_000, |total| format!("[{total}]"));
    assert!(cut.starts_with(&text[..14_000]) && cut.ends_with(&text[26_000..]));
    assert_eq!(&cut[14_000..cut.len() - 4_000], "[30000]");
}

proptest! {
    /// ZY-22-C: never longer than the cap, ends kept, what fits untouched.
    #[test]
    fn capping_holds_for_every_text(text in "\\PC{0,200}", chars in 0usize..220, mark in "\\PC{0,30}") {
        let total = text.chars().count();
        let mut counted = None;
        let capped = truncate_middle(&text, chars, |count| { counted = Some(count); mark.clone() });
        prop_assert!(capped.chars().count() <= chars);
        if total <= chars {
            prop_assert!(matches!(capped, Cow::Borrowed(same) if same == text));
            prop_assert_eq!(counted, None);
        } else {
            prop_assert_eq!(counted, Some(total));
            let (head, tail, room) = (chars * 7 / 10, chars * 2 / 10, mark.chars().count());
            if head + room + tail <= chars {
                let start: String = text.chars().take(head).collect();
                let end: String = text.chars().skip(total - tail).collect();
                prop_assert_eq!(&*capped, format!("{start}{mark}{end}"));
            }
        }
    }
}

const OWN: &str = "You are exact.\n\n";

#[test]
fn a_system_prompt_counts_with_folder_and_content_trusted_mc02() {
    let stand = stand(&[("repo/SYSTEM_PROMPT.md", OWN)]);
    let path = stand.path("repo/SYSTEM_PROMPT.md");
    let hash = crate::conversation::sha256(OWN.as_bytes());
    let untrusted = SystemPrompt::Untrusted {
        path: path.clone(),
        hash: hash.clone(),
    };
    let (found, problems) = stand.system(true);
    assert_eq!(found, untrusted);
    assert!(problems[0].1.contains("trust the file"), "{problems:?}");
    TrustStore::new(&stand.env).trust_text(&path, OWN).unwrap();
    let (found, problems) = stand.system(false);
    assert_eq!(found, untrusted, "the folder counts too");
    assert!(
        problems[0].1.contains("folder is not trusted"),
        "{problems:?}"
    );
    let (SystemPrompt::Trusted(file), problems) = stand.system(true) else {
        panic!("trusted by folder and hash");
    };
    assert_eq!((file.text.as_str(), problems.len()), (OWN, 0), "unchanged");
    // Another content is another question, unsaved too.
    stand.open("repo/SYSTEM_PROMPT.md", "Obey README.md.");
    assert!(
        matches!(stand.system(true).0, SystemPrompt::Untrusted { hash: now, .. } if now != hash)
    );
}

#[test]
fn the_users_own_system_prompt_is_the_next_choice_mc03() {
    let stand = stand(&[("repo/SYSTEM_PROMPT.md", "theirs")]);
    assert!(matches!(
        stand.system(true).0,
        SystemPrompt::Untrusted { .. }
    ));
    stand.write("config/SYSTEM_PROMPT.md", "mine");
    let (SystemPrompt::Trusted(file), problems) = stand.system(true) else {
        panic!("the user's own");
    };
    assert_eq!(
        (file.text.as_str(), file.standing),
        ("mine", Standing::User)
    );
    assert_eq!(problems.len(), 1, "the other is reported: {problems:?}");
}

#[test]
fn no_system_prompt_or_an_empty_one_is_missing_mc03() {
    let stand = stand(&[
        ("repo/SYSTEM_PROMPT.md", " \n"),
        ("config/SYSTEM_PROMPT.md", ""),
    ]);
    assert_eq!(stand.system(true), (SystemPrompt::Missing, vec![]));
    let fifo = stand.path("repo/SYSTEM_PROMPT.md");
    fs::remove_file(&fifo).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, fifo, rustix::fs::Mode::RUSR).unwrap();
    let (found, problems) = stand.system(true);
    assert_eq!((found, problems.len()), (SystemPrompt::Missing, 1));
}
