use std::fs;

use super::*;

struct Place {
    dir: tempfile::TempDir,
    store: TrustStore,
}

fn place() -> Place {
    let dir = tempfile::tempdir().unwrap();
    for name in ["repo/sub", "repo-evil", "other"] {
        fs::create_dir_all(dir.path().join(name)).unwrap();
    }
    let now = jiff::Timestamp::UNIX_EPOCH.to_zoned(jiff::tz::TimeZone::UTC);
    let store = TrustStore::new(&Env::fixed(dir.path(), now, BTreeMap::new()));
    Place { dir, store }
}

impl Place {
    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn trusted(&self, name: &str) -> bool {
        self.store.folder(&self.path(name))
    }

    fn file(&self) -> PathBuf {
        self.path("state/trust.json")
    }
}

#[test]
fn nothing_is_trusted_by_default_and_asking_writes_nothing() {
    // INV-9
    let place = place();
    assert!(!place.trusted("repo") && !place.store.file(&place.path("repo"), "x"));
    assert!(!place.path("state").exists());
}

#[test]
fn a_trusted_folder_covers_what_is_below_and_nothing_beside() {
    // A12
    let place = place();
    place.store.set_folder(&place.path("repo"), true).unwrap();
    assert!(place.trusted("repo") && place.trusted("repo/sub") && place.trusted("repo/./sub/.."));
    assert!(!place.trusted("repo-evil") && !place.trusted("other") && !place.trusted("missing"));
    assert!(!place.store.folder(place.dir.path()));
    let by = place.store.trusted_by(&place.path("repo/sub")).unwrap();
    assert_eq!(by, place.path("repo").canonicalize().unwrap());
}

#[test]
fn another_store_on_the_same_file_sees_a_change_at_once() {
    let place = place();
    let other = place.store.clone();
    place.store.set_folder(&place.path("repo"), true).unwrap();
    other.set_folder(&place.path("other"), true).unwrap();
    assert!(other.folder(&place.path("repo")) && place.trusted("other"));
    other.set_folder(&place.path("repo"), false).unwrap();
    assert!(!place.trusted("repo") && place.trusted("other"));
}

#[test]
fn withdrawing_covers_what_is_below_and_says_when_a_folder_above_is_trusted() {
    let place = place();
    place
        .store
        .set_folder(&place.path("repo/sub"), true)
        .unwrap();
    place.store.set_folder(&place.path("repo"), true).unwrap();
    let error = place
        .store
        .set_folder(&place.path("repo/sub"), false)
        .unwrap_err();
    assert!(error.to_string().contains("trusted through"), "{error}");
    assert!(place.trusted("repo/sub"));
    place.store.set_folder(&place.path("repo"), false).unwrap();
    assert!(!place.trusted("repo") && !place.trusted("repo/sub"));
}

#[test]
fn a_folder_that_is_gone_can_be_forgotten_but_not_trusted() {
    let place = place();
    let gone = place.path("repo").canonicalize().unwrap();
    place.store.set_folder(&gone, true).unwrap();
    fs::remove_dir_all(&gone).unwrap();
    assert!(place.store.set_folder(&gone, true).is_err());
    place.store.set_folder(&gone, false).unwrap();
    fs::create_dir(&gone).unwrap();
    assert!(!place.store.folder(&gone));
}

#[test]
fn a_file_is_trusted_with_one_content_only() {
    // A28
    let place = place();
    let file = place.path("repo/.mcp.json");
    fs::write(&file, "{}").unwrap();
    let old = place.store.trust_text(&file, "{}").unwrap();
    let new = sha256(b"[]");
    assert_eq!(old, sha256(b"{}"));
    assert!(place.store.file(&file, &old));
    assert!(!place.store.file(&file, &new) && !place.store.file(&file, ""));
    assert!(!place.trusted("repo"), "a file's trust is not its folder's");
    assert_eq!(place.store.trust_text(&file, "[]").unwrap(), new);
    assert!(place.store.file(&file, &new) && !place.store.file(&file, &old));
    place.store.forget_file(&file).unwrap();
    assert!(!place.store.file(&file, &new));
}

#[test]
fn a_corrupt_store_trusts_nothing_and_is_kept_aside() {
    let place = place();
    place.store.set_folder(&place.path("repo"), true).unwrap();
    for broken in [
        "{\"version\":1,\"folders\":[",
        "[]",
        "{\"version\":1,\"x\":2}",
    ] {
        fs::write(place.file(), broken).unwrap();
        assert!(!place.trusted("repo"), "{broken}");
        place.store.set_folder(&place.path("other"), true).unwrap();
        assert!(place.trusted("other") && !place.trusted("repo"));
        let kept = fs::read_to_string(place.path("state/trust.json.bad")).unwrap();
        assert_eq!(kept, broken);
    }
}

#[test]
fn a_store_of_a_newer_version_trusts_nothing_and_is_not_overwritten() {
    let place = place();
    let repo = place.path("repo").canonicalize().unwrap();
    let text = format!("{{\"version\":99,\"folders\":[{repo:?}]}}");
    fs::create_dir_all(place.path("state")).unwrap();
    fs::write(place.file(), &text).unwrap();
    assert!(!place.trusted("repo"));
    assert!(place.store.set_folder(&place.path("other"), true).is_err());
    assert_eq!(fs::read_to_string(place.file()).unwrap(), text);
}

/// INV-9: what is kept serves to show a change; it grants nothing.
#[test]
fn a_trusted_text_is_kept_until_its_trust_ends() {
    let place = place();
    place.store.set_folder(&place.path("repo"), true).unwrap();
    let file = place.path("repo/a.md");
    fs::write(&file, "one").unwrap();
    let hash = place.store.trust_text(&file, "one").unwrap();
    assert!(place.store.file(&file, &hash));
    assert_eq!(place.store.trusted_copy(&hash).as_deref(), Some("one"));
    let newer = place.store.trust_text(&file, "two").unwrap();
    assert!(!place.store.file(&file, &hash) && place.store.file(&file, &newer));
    assert_eq!(place.store.trusted_copy(&hash), None);
    fs::write(place.path("state/trusted").join(&newer), "forged").unwrap();
    assert_eq!(place.store.trusted_copy(&newer), None);
    assert_eq!(place.store.trusted_copy("../trust.json"), None);
    let long = "x".repeat(usize::try_from(COPY_LIMIT).unwrap() + 1);
    assert!(place.store.trust_text(&file, &long).is_err());
    place.store.forget_file(&file).unwrap();
    assert!(!place.store.file(&file, &newer));
    let left = fs::read_dir(place.path("state/trusted")).unwrap().count();
    assert_eq!(left, 0);
}

#[test]
fn a_folder_that_is_no_longer_trusted_takes_its_files_along() {
    // INV-9
    let place = place();
    for name in ["repo", "other"] {
        place.store.set_folder(&place.path(name), true).unwrap();
        fs::write(place.path(name).join("a.md"), name).unwrap();
        let file = place.path(name).join("a.md");
        place.store.trust_text(&file, name).unwrap();
    }
    place.store.set_folder(&place.path("repo"), false).unwrap();
    assert_eq!(place.store.known(&place.path("repo/a.md")), None);
    assert!(place.store.known(&place.path("other/a.md")).is_some());
}

mod unix {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn the_store_is_private() {
        let place = place();
        place.store.set_folder(&place.path("repo"), true).unwrap();
        let mode =
            |path: &str| fs::metadata(place.path(path)).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode("state/trust.json"), 0o600);
        assert_eq!(mode("state"), 0o700);
        let file = place.path("repo/a.md");
        fs::write(&file, "text").unwrap();
        let hash = place.store.trust_text(&file, "text").unwrap();
        assert_eq!(mode("state/trusted"), 0o700);
        assert_eq!(mode(&format!("state/trusted/{hash}")), 0o600);
    }

    #[test]
    fn a_store_that_others_may_write_or_that_is_a_link_is_refused() {
        // A08
        let place = place();
        place.store.set_folder(&place.path("repo"), true).unwrap();
        fs::set_permissions(place.file(), fs::Permissions::from_mode(0o666)).unwrap();
        assert!(!place.trusted("repo"));
        let error = place
            .store
            .set_folder(&place.path("other"), true)
            .unwrap_err();
        assert!(
            error.to_string().contains("written by other users"),
            "{error}"
        );

        fs::set_permissions(place.file(), fs::Permissions::from_mode(0o600)).unwrap();
        assert!(place.trusted("repo"));
        fs::rename(place.file(), place.path("elsewhere")).unwrap();
        symlink(place.path("elsewhere"), place.file()).unwrap();
        assert!(!place.trusted("repo"));
        let error = place
            .store
            .set_folder(&place.path("other"), true)
            .unwrap_err();
        assert!(error.to_string().contains("symbolic link"), "{error}");
    }

    #[test]
    fn a_link_to_a_trusted_folder_is_that_folder_and_one_to_another_is_not() {
        // A13
        let place = place();
        place.store.set_folder(&place.path("repo"), true).unwrap();
        symlink(place.path("repo"), place.path("alias")).unwrap();
        symlink(place.path("other"), place.path("repo/out")).unwrap();
        assert!(place.trusted("alias") && !place.trusted("repo/out"));
    }
}

#[test]
fn a_snapshot_answers_as_the_store_does() {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().canonicalize().unwrap();
    let env = Env::fixed(
        &base,
        "2026-01-01T00:00:00[UTC]".parse().unwrap(),
        Default::default(),
    );
    let store = TrustStore::new(&env);
    let (folder, file) = (base.join("repo"), base.join("repo/file"));
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(&file, "text").unwrap();
    assert!(!store.snapshot().folder(&folder) && store.snapshot().hash(&file).is_none());
    store.set_folder(&folder, true).unwrap();
    let hash = store.trust_text(&file, "text").unwrap();
    let now = store.snapshot();
    assert!(now.folder(&folder) && now.folder(&file) && !now.folder(&base));
    assert_eq!(now.hash(&file), Some(hash.as_str()));
    // A store that is odd trusts nothing.
    std::fs::write(env.dirs.state.join("trust.json"), "{").unwrap();
    let now = store.snapshot();
    assert!(!now.folder(&folder) && now.hash(&file).is_none());
}
