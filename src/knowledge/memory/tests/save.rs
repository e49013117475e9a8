use super::{Home, texts_of};
use crate::knowledge::memory::bullets::Unfit;
use crate::knowledge::memory::{Kind, Memory, Scope, Unsaved, forget};
use crate::secrets::Secret;

/// ZE-23.
#[test]
fn ze23_the_user_s_memories_hold_everywhere_a_project_s_there_a_session_s_once() {
    let home = Home::new();
    home.save(Kind::Preference, Scope::User, "likes tea");
    home.save(Kind::Fact, Scope::Project, "uses Postgres");
    home.save(Kind::Fact, Scope::Session, "works on parsing");
    let here = home.load("one", "s");
    assert_eq!(texts_of(&here, Scope::User), ["likes tea"]);
    assert_eq!(texts_of(&here, Scope::Project), ["uses Postgres"]);
    assert_eq!(texts_of(&here, Scope::Session), ["works on parsing"]);
    assert_eq!(here.problems, []);
    let later = home.load("one", "other");
    assert_eq!(
        Scope::ALL.map(|scope| texts_of(&later, scope).len()),
        [1, 1, 0]
    );
    let elsewhere = home.load("two", "s2");
    assert_eq!(
        (
            texts_of(&elsewhere, Scope::User).len(),
            elsewhere.entries.len()
        ),
        (1, 1)
    );
    // Nothing was written into the project.
    assert_eq!(std::fs::read_dir(home.project("one")).unwrap().count(), 0);
}

#[test]
fn a_memory_is_a_bullet_in_its_topic_and_the_diary_and_a_line_of_the_index() {
    let home = Home::new();
    home.save(Kind::Preference, Scope::User, "likes\n  short answers");
    home.save(Kind::Preference, Scope::User, "likes tea");
    home.save(Kind::Fact, Scope::User, "is called Jane");
    let tea = "- [preference] likes tea (2026-11-21)";
    let answers = "- [preference] likes short answers (2026-11-21)";
    let jane = "- [fact] is called Jane (2026-11-21)";
    assert_eq!(
        home.read("topics/preference.md"),
        format!("# Preferences\n\n{answers}\n{tea}\n")
    );
    let diary = format!("# 2026-11-21\n\n{answers}\n{tea}\n{jane}\n");
    assert_eq!(home.read("daily/2026-11-21.md"), diary);
    assert_eq!(
        home.read("INDEX.md"),
        "# Memory\n\n- [fact](topics/fact.md) (1, 2026-11-21): is called Jane\n\
         - [preference](topics/preference.md) (2, 2026-11-21): likes tea\n"
    );
}

#[test]
fn the_same_text_twice_is_saved_once() {
    let home = Home::new();
    home.save(Kind::Fact, Scope::User, "is called Jane");
    let before = home.read("topics/fact.md");
    let again = home
        .memory("two", "t")
        .save(Kind::Preference, Scope::User, " is  called\nJane", |_| {
            false
        })
        .unwrap();
    assert!(again.known);
    assert_eq!(again.entry.kind, Kind::Fact);
    assert_eq!(home.read("topics/fact.md"), before);
    assert_eq!(home.load("one", "s").entries.len(), 1);
    // In another scope it is another memory.
    home.save(Kind::Fact, Scope::Project, "is called Jane");
}

#[test]
fn what_a_person_wrote_keeps_its_bytes() {
    let home = Home::new();
    let own = "my notes\r\n\r\n* likes coffee\r\n<!-- later -->";
    home.write("topics/preference.md", own);
    let index = "# Mine\n\nread this first\n\n- [old](topics/gone.md) (9): gone\n\nthe end\n";
    home.write("INDEX.md", index);
    home.save(Kind::Preference, Scope::User, "likes tea");
    assert_eq!(
        home.read("topics/preference.md"),
        format!("{own}\r\n- [preference] likes tea (2026-11-21)\r\n")
    );
    assert_eq!(
        home.read("INDEX.md"),
        "# Mine\n\nread this first\n\n\
         - [preference](topics/preference.md) (3, 2026-11-21): likes tea\n\nthe end\n"
    );
    let found = home.load("one", "s");
    assert_eq!(
        texts_of(&found, Scope::User),
        ["my notes", "likes coffee", "likes tea"]
    );
    assert_eq!(found.entries[1].kind, Kind::Preference);
    assert_eq!(found.entries[1].date, None);
}

#[test]
fn what_a_person_deletes_is_forgotten_whatever_the_diary_says() {
    let home = Home::new();
    home.save(Kind::Fact, Scope::User, "is called Jane");
    home.write("topics/fact.md", "");
    assert!(home.load("one", "s").entries.is_empty());
    assert!(home.read("daily/2026-11-21.md").contains("Jane"));
    home.save(Kind::Fact, Scope::User, "is called Jane");
}

#[test]
fn a_secret_an_empty_and_a_long_text_are_refused_and_leave_nothing() {
    let home = Home::new();
    let memory = home.memory("one", "s");
    let save = |text: &str| memory.save(Kind::Fact, Scope::User, text, |_| false);
    let long = "a ".repeat(1_001);
    for (text, error) in [
        ("deploys with hunter2", Unsaved::Secret(Secret::Variable)),
        ("password=swordfish", Unsaved::Secret(Secret::Assigned)),
        // Folding brings the parts together.
        ("password =\n swordfish", Unsaved::Secret(Secret::Assigned)),
        (" \n", Unsaved::Unfit(Unfit::Empty)),
        ("a\u{7}", Unsaved::Unfit(Unfit::Hidden)),
        (&long, Unsaved::Unfit(Unfit::TooLong(2_001))),
    ] {
        assert_eq!(save(text), Err(error), "{text:?}");
    }
    assert!(!home.env.dirs.config.exists());
}

#[test]
fn files_and_folders_are_the_user_s_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = Home::new();
    home.save(Kind::Fact, Scope::User, "is called Jane");
    home.save(Kind::Fact, Scope::Project, "uses Postgres");
    home.save(Kind::Fact, Scope::Session, "works on parsing");
    let mut folders = vec![home.env.dirs.config.clone(), home.env.dirs.state.clone()];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&folder) & 0o777, 0o700, "{}", folder.display());
        for found in std::fs::read_dir(&folder).unwrap() {
            let path = found.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files += 1;
                assert_eq!(mode(&path) & 0o777, 0o600, "{}", path.display());
            }
        }
    }
    assert_eq!(files, 3 * 4, "topic, diary, index and lock, three times");
}

/// A lock belongs to an opened file, so threads are to each other as processes are.
#[test]
fn writers_lose_nothing_of_each_other() {
    let home = Home::new();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let memory = home.memory("one", "s");
            scope.spawn(move || {
                for n in 0..10 {
                    let text = format!("memory {n} of writer {writer}");
                    let kind = Kind::ALL[n % 2];
                    memory.save(kind, Scope::User, &text, |_| false).unwrap();
                }
            });
        }
    });
    let found = home.load("one", "s");
    assert_eq!((found.entries.len(), &found.problems[..]), (40, &[][..]));
    assert_eq!(home.read("daily/2026-11-21.md").lines().count(), 42);
    let index = home.read("INDEX.md");
    assert!(index.contains("topics/fact.md) (20,"), "{index}");
}

#[test]
fn inv2_a_file_that_is_open_in_the_editor_is_left_to_it() {
    let home = Home::new();
    home.save(Kind::Fact, Scope::User, "is called Jane");
    let before = home.read("topics/fact.md");
    let topic = home.env.dirs.config.join("memory/topics/fact.md");
    let memory = home.memory("one", "s");
    let saved = memory.save(Kind::Fact, Scope::User, "lives in Bonn", |path| {
        path == topic
    });
    assert_eq!(saved, Err(Unsaved::Open(topic)));
    assert_eq!(home.read("topics/fact.md"), before);
}

#[test]
fn a_line_that_would_not_be_read_back_is_not_written() {
    let home = Home::new();
    let own = "- [fact] a\n<!-- not closed\n";
    home.write("topics/fact.md", own);
    let saved = home
        .memory("one", "s")
        .save(Kind::Fact, Scope::User, "b", |_| false)
        .unwrap_err();
    assert!(saved.to_string().contains("close that first"), "{saved}");
    assert_eq!(home.read("topics/fact.md"), own);
}

#[test]
fn a_full_topic_and_a_full_scope_are_reported() {
    let home = Home::new();
    let full = format!("<!--\n{}\n-->\n", "a".repeat(1024 * 1024 - 30));
    home.write("topics/fact.md", &full);
    let memory = home.memory("one", "s");
    let save = |kind| memory.save(kind, Scope::User, "one more memory", |_| false);
    let error = save(Kind::Fact).unwrap_err().to_string();
    assert!(error.contains("another file"), "{error}");
    let many: String = (0..5_000).map(|n| format!("- number {n}\n")).collect();
    home.write("topics/many.md", many);
    assert!(matches!(save(Kind::Habit), Err(Unsaved::Full(_))));
}

#[test]
fn without_a_plain_session_id_nothing_is_kept_for_a_session() {
    let home = Home::new();
    let none = Memory::new(&home.env, &home.project("one"), None);
    let odd = home.memory("one", "../../one");
    for memory in [none, odd] {
        let saved = memory.save(Kind::Fact, Scope::Session, "a", |_| false);
        assert_eq!(saved, Err(Unsaved::NoSession));
        assert_eq!(memory.folder(Scope::Session), None);
    }
    assert!(!home.env.dirs.state.exists());
}

/// ZE-23.
#[test]
fn a_deleted_session_s_memories_go_with_it() {
    let home = Home::new();
    home.save(Kind::Fact, Scope::Session, "works on parsing");
    home.save(Kind::Fact, Scope::Project, "uses Postgres");
    forget(&home.env, &"s".into()).unwrap();
    forget(&home.env, &"never".into()).unwrap();
    forget(&home.env, &"../one-00000000".into()).unwrap();
    let found = home.load("one", "s");
    assert_eq!(
        (
            texts_of(&found, Scope::Session).len(),
            texts_of(&found, Scope::Project).len()
        ),
        (0, 1)
    );
}
