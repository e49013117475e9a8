use super::{Home, entry, loaded};
use crate::knowledge::memory::{Kind, Loaded, Scope, index, project_profile, user_profile};

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
        user_profile(&all, 1_000),
        [
            "constraint: never push",
            "preference: wants short answers; likes tea",
            "skill: knows SQL",
        ]
    );
    assert_eq!(
        project_profile(&all, 1_000),
        ["constraint: no unwrap", "technology: uses Postgres"]
    );
    assert!(user_profile(&Loaded::default(), 1_000).is_empty());
}

#[test]
fn a_budget_keeps_the_newest() {
    let all = some();
    let newest = "preference: wants short answers";
    let profile = user_profile(&all, newest.len() + 1);
    assert_eq!(profile, [newest]);
    assert!(user_profile(&all, 0).is_empty());
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

/// ZE-26, ZE-87: technology, constraints and goals of a project; equal statements are merged.
#[test]
fn ze87_a_projects_profile_is_merged_by_what_it_is_about() {
    let fact = |text, date| entry(Kind::Fact, Scope::Project, text, date);
    let all = loaded(vec![
        fact("uses Postgres", "2026-01-01"),
        fact("Uses Postgres 16.", "2026-01-02"),
        fact("is written in Rust", "2026-01-03"),
        fact("the goal is a release in May", "2026-01-04"),
        fact("目标: 支持中文", "2026-01-05"),
        fact("Ann knows the billing code", "2026-01-06"),
        fact("the goalkeeper is Bob", "2026-01-05"),
        entry(Kind::Constraint, Scope::Project, "no unwrap", "2026-01-01"),
        entry(
            Kind::Constraint,
            Scope::Project,
            "No `unwrap`!",
            "2026-01-02",
        ),
    ]);
    assert_eq!(
        project_profile(&all, 1_000),
        [
            "constraint: No `unwrap`!",
            "goal: 目标: 支持中文; the goal is a release in May",
            "technology: is written in Rust; Uses Postgres 16.",
            "fact: Ann knows the billing code; the goalkeeper is Bob",
        ]
    );
}
