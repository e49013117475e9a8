use super::{Home, entry, loaded};
use crate::knowledge::memory::{
    Kind, Loaded, Profile, Scope, index, project_profile, user_profile,
};

fn some() -> Loaded {
    loaded(vec![
        entry(Kind::Preference, Scope::User, "likes tea", "2026-01-01"),
        entry(
            Kind::Preference,
            Scope::User,
            "wants short answers",
            "2026-02-01",
        ),
        entry(Kind::Constraint, Scope::User, "never push", "2026-01-01"),
        entry(Kind::Fact, Scope::User, "is called Jane", "2026-01-01"),
        entry(Kind::Skill, Scope::Project, "knows SQL", "none"),
        entry(Kind::Fact, Scope::Project, "uses Postgres", "2026-01-01"),
        entry(Kind::Constraint, Scope::Project, "no unwrap", "2026-01-01"),
        entry(Kind::Habit, Scope::Session, "Likes Tea", "2026-01-01"),
    ])
}

/// ZE-24, ZE-26.
#[test]
fn ze24_ze26_profiles_are_what_the_memories_come_to() {
    let all = some();
    assert_eq!(
        user_profile(&all, 1_000).lines,
        [
            "constraint: never push",
            "preference: wants short answers",
            "preference: likes tea",
            "skill: knows SQL",
        ]
    );
    assert_eq!(
        project_profile(&all, 1_000).lines,
        ["constraint: no unwrap", "fact: uses Postgres"]
    );
    assert_eq!(user_profile(&Loaded::default(), 1_000), Profile::default());
}

#[test]
fn a_budget_keeps_the_newest_and_says_how_many_are_missing() {
    let all = some();
    let newest = "preference: wants short answers";
    let profile = user_profile(&all, newest.len() + 1);
    assert_eq!(
        (&profile.lines[..], profile.left_out),
        (&[newest.to_owned()][..], 3)
    );
    assert_eq!(user_profile(&all, 0).left_out, 4);
}

/// ZY-90.
#[test]
fn zy90_the_index_is_one_line_a_topic() {
    let home = Home::new();
    home.save(Kind::Fact, Scope::Project, "uses Postgres");
    home.save(
        Kind::Fact,
        Scope::Project,
        &format!("is {}", "long ".repeat(40)),
    );
    home.write("topics/rust.md", "- no date\n");
    let lines = index(&home.load("one", "s"));
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0], "user/rust (1): no date");
    assert!(lines[1].starts_with("project/fact (2, 2026-11-21): is long"));
    let shown = lines[1].split_once("): ").unwrap().1;
    assert_eq!((shown.chars().count(), shown.ends_with('…')), (81, true));
    assert_eq!(index(&Loaded::default()), Vec::<String>::new());
}
