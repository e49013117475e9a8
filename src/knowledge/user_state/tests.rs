use proptest::prelude::*;

use super::*;

fn desk() -> (tempfile::TempDir, UserState) {
    let dir = tempfile::tempdir().unwrap();
    let now = jiff::Timestamp::UNIX_EPOCH.to_zoned(jiff::tz::TimeZone::UTC);
    let kept = UserState::new(&Env::fixed(dir.path(), now, BTreeMap::new()));
    (dir, kept)
}

/// ZY-65.
#[test]
fn variables_last_in_a_file_for_its_owner_alone_and_no_debug_shows_them() {
    use std::os::unix::fs::PermissionsExt as _;
    let (_dir, kept) = desk();
    assert_eq!(kept.read().unwrap(), Contents::default());
    assert!(!kept.set_variable("NPM_TOKEN", "hunter2").unwrap());
    assert!(kept.set_variable("NPM_TOKEN", "hunter3").unwrap());
    let mode = std::fs::metadata(kept.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let contents = kept.read().unwrap();
    let names: Vec<&str> = contents.variable_names().collect();
    assert_eq!(
        (names, &contents.variables()["NPM_TOKEN"]),
        (vec!["NPM_TOKEN"], &"hunter3".to_owned())
    );
    assert!(!format!("{contents:?}").contains("hunter"));
    assert!(kept.delete_variable("NPM_TOKEN").unwrap());
    assert!(!kept.delete_variable("NPM_TOKEN").unwrap());
    assert_eq!(kept.read().unwrap(), Contents::default());
}

/// ZY-65: what makes programs run other code is no variable to keep.
#[test]
fn names_that_change_how_programs_run_are_refused() {
    for name in ["GITHUB_TOKEN", "_X_ID", "A1_URL"] {
        assert_eq!(check_variable(name, "x"), Ok(()), "{name}");
    }
    for name in [
        "PATH",
        "HOME",
        "LD_PRELOAD",
        "DYLD_INSERT_LIBRARIES",
        "LC_ALL",
        "XDG_CONFIG_HOME",
        "GIT_EDITOR",
        "PAGER",
        "BASH_ENV",
        "IFS",
    ] {
        assert_eq!(check_variable(name, "x"), Err(Invalid::Reserved), "{name}");
    }
    for name in ["", "1A", "token", "A B", "A=B", "Ä", &"A".repeat(65)] {
        assert_eq!(check_variable(name, "x"), Err(Invalid::Variable), "{name}");
    }
    for value in ["", "a\0b", &"x".repeat(40_000)] {
        let unfit = Invalid::Value(value.len());
        assert_eq!(check_variable("A_KEY", value), Err(unfit));
    }
}

/// ZY-66.
#[test]
fn an_agent_is_called_what_it_was_named_last() {
    let (_dir, kept) = desk();
    kept.rename(None, "Ada").unwrap();
    kept.rename(Some("reviewer"), "Bo").unwrap();
    kept.rename(None, "Cleo").unwrap();
    let contents = kept.read().unwrap();
    assert_eq!(contents.called(None), Some("Cleo"));
    assert_eq!(contents.called(Some("reviewer")), Some("Bo"));
    assert_eq!(contents.called(Some("other")), None);
    assert_eq!(check_name(" Ada "), Ok("Ada"));
    for name in ["", "  ", "a\nb", &"x".repeat(65)] {
        assert_eq!(check_name(name), Err(Invalid::Name), "{name}");
    }
}

/// ZY-67-C.
#[test]
fn a_project_s_name_is_one_plain_folder() {
    for name in ["site", "Site 2", "a.b-c_d", "größe"] {
        assert_eq!(check_project(name, Some("what it is")), Ok(()), "{name}");
    }
    for name in [
        "", ".", "..", ".git", "a/b", "a\\b", "a\n", " a", "a ", "a.", "-a", "~",
    ] {
        assert_eq!(check_project(name, None), Err(Invalid::Project), "{name}");
    }
    assert_eq!(check_project("a", Some("b\nc")), Err(Invalid::Description));
}

#[test]
fn a_file_that_is_not_ours_is_neither_trusted_nor_replaced() {
    use std::os::unix::fs::PermissionsExt as _;
    let (dir, kept) = desk();
    kept.set_variable("A", "hunter2").unwrap();
    let open = std::fs::Permissions::from_mode(0o666);
    std::fs::set_permissions(kept.path(), open).unwrap();
    assert!(kept.read().is_err() && kept.set_variable("B", "x").is_err());
    std::fs::remove_file(kept.path()).unwrap();
    let elsewhere = dir.path().join("elsewhere");
    std::fs::write(&elsewhere, "{}").unwrap();
    std::os::unix::fs::symlink(&elsewhere, kept.path()).unwrap();
    assert!(kept.read().is_err() && kept.set_variable("B", "x").is_err());
    std::fs::remove_file(kept.path()).unwrap();
    std::fs::write(kept.path(), "{\"variables\": \"hunter2\"}").unwrap();
    let error = kept.set_variable("B", "x").unwrap_err().to_string();
    assert!(
        error.contains("kept.json") && !error.contains("hunter2"),
        "{error}"
    );
}

proptest! {
    #[test]
    fn a_value_comes_back_exactly(value in "[^\0]{1,200}") {
        let (_dir, kept) = desk();
        prop_assert_eq!(check_variable("A_KEY", &value), Ok(()));
        kept.set_variable("A", &value).unwrap();
        let contents = kept.read().unwrap();
        prop_assert_eq!(&contents.variables()["A"], &value);
    }
}
