use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;

use super::*;

fn desk() -> (tempfile::TempDir, LastingRules) {
    let dir = tempfile::tempdir().unwrap();
    let now = Timestamp::UNIX_EPOCH.to_zoned(jiff::tz::TimeZone::UTC);
    let rules = LastingRules::new(&Env::fixed(dir.path(), now, BTreeMap::new()));
    (dir, rules)
}

fn patterns(texts: &[&str]) -> Vec<Pattern> {
    texts.iter().map(|it| Pattern::parse(it).unwrap()).collect()
}

#[test]
fn rules_last_in_a_file_for_its_owner_alone() {
    let (_dir, rules) = desk();
    assert_eq!(rules.read().unwrap(), []);
    let epoch = Timestamp::UNIX_EPOCH;
    let folder = Path::new("/w/repo");
    rules
        .add(&patterns(&["cargo test"]), Some(folder), epoch)
        .unwrap();
    rules
        .add(&patterns(&["cargo test"]), Some(folder), epoch)
        .unwrap();
    rules
        .add(&patterns(&["make", "npm run lint"]), None, epoch)
        .unwrap();
    let mode = std::fs::metadata(rules.path())
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let read = rules.read().unwrap();
    let shown: Vec<_> = read.iter().map(|it| (it.id, it.text())).collect();
    assert_eq!(
        shown,
        [
            (1, "cargo test …".to_owned()),
            (2, "make …, npm run lint …".to_owned())
        ]
    );
    assert_eq!(read[0].folder.as_deref(), Some(folder));
    assert_eq!(rules.in_force().len(), 2);
}

/// A late removal removes no newer rule.
#[test]
fn a_removed_rule_is_gone_and_its_id_is_not_used_again() {
    let (_dir, rules) = desk();
    let epoch = Timestamp::UNIX_EPOCH;
    rules.add(&patterns(&["make"]), None, epoch).unwrap();
    assert_eq!(rules.remove(1).unwrap().unwrap().text(), "make …");
    assert_eq!(rules.remove(1).unwrap(), None);
    rules.add(&patterns(&["make"]), None, epoch).unwrap();
    assert_eq!(rules.read().unwrap()[0].id, 2);
}

#[test]
fn a_file_that_is_not_valid_allows_nothing_and_is_left_unchanged() {
    let (_dir, rules) = desk();
    rules
        .add(&patterns(&["make"]), None, Timestamp::UNIX_EPOCH)
        .unwrap();
    let good = std::fs::read_to_string(rules.path()).unwrap();
    for bad in [
        "{".to_owned(),
        good.replace("\"make\"", "\"make; rm\""),
        good.replace("[\n        \"make\"\n      ]", "[]"),
        good.replace("\"id\": 1", "\"id\": 1, \"folder\": \"w\""),
        good.replace("\"id\": 1", "\"id\": 1, \"network\": true"),
    ] {
        assert_ne!(bad, good);
        std::fs::write(rules.path(), &bad).unwrap();
        let error = rules.read().unwrap_err().to_string();
        assert!(error.contains("allows nothing"), "{error}");
        assert_eq!(rules.in_force(), []);
        assert!(
            rules
                .add(&patterns(&["ls"]), None, Timestamp::UNIX_EPOCH)
                .is_err()
        );
        assert_eq!(std::fs::read_to_string(rules.path()).unwrap(), bad);
    }
    std::fs::write(rules.path(), good).unwrap();
    std::fs::set_permissions(rules.path(), std::fs::Permissions::from_mode(0o666)).unwrap();
    assert_eq!(rules.in_force(), []);
}
