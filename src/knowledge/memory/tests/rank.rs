use proptest::prelude::*;

use super::{entry, loaded};
use crate::knowledge::memory::{Hit, Kind, Loaded, Scope, related, search};

fn some() -> Loaded {
    let user = |kind, text| entry(kind, Scope::User, text, "2026-11-01");
    let project = |kind, text| entry(kind, Scope::Project, text, "2026-11-02");
    loaded(vec![
        user(Kind::Preference, "User likes short answers"),
        user(Kind::Preference, "prefers dark themes in every editor"),
        user(Kind::Habit, "runs the tests before each commit"),
        user(Kind::Fact, "喜欢用数据库迁移脚本"),
        project(
            Kind::Fact,
            "the database is Postgres 16; the schema is in db/schema.sql",
        ),
        project(Kind::Fact, "deployments go to Hetzner by ansible"),
        project(Kind::Constraint, "never use unwrap outside tests"),
    ])
}

fn shown<'a>(hits: &[Hit<'a>]) -> Vec<&'a str> {
    hits.iter().map(|hit| hit.entry.text.as_str()).collect()
}

#[test]
fn the_best_match_comes_first() {
    let all = some();
    for (query, first, count) in [
        (
            "database schema",
            "the database is Postgres 16; the schema is in db/schema.sql",
            1,
        ),
        ("ANSWERS", "User likes short answers", 1),
        ("test commit", "runs the tests before each commit", 2),
        ("数据库", "喜欢用数据库迁移脚本", 1),
        ("habits", "runs the tests before each commit", 1),
        ("Hetzner 日本", "deployments go to Hetzner by ansible", 1),
    ] {
        let hits = search(&all, query, 10);
        assert_eq!(shown(&hits).first(), Some(&first), "{query}");
        assert_eq!(hits.len(), count, "{query}: {:?}", shown(&hits));
    }
    assert_eq!(search(&all, "kubernetes", 10), []);
    assert_eq!(search(&all, " ?! ", 10), []);
    assert_eq!(search(&all, "tests", 1).len(), 1);
    // Words of grammar count only if there are no others.
    assert_eq!(search(&all, "the schema", 10).len(), 1);
    assert!(search(&all, "the", 10).len() > 1);
}

#[test]
fn equal_scores_come_newest_first_then_by_text() {
    let at = |text, date| entry(Kind::Fact, Scope::User, text, date);
    let all = loaded(vec![
        at("tea b", "2026-01-01"),
        at("tea c", "none"),
        at("tea a", "2026-01-01"),
        at("tea d", "2026-02-02"),
    ]);
    let hits = search(&all, "tea", 10);
    assert_eq!(shown(&hits), ["tea d", "tea a", "tea b", "tea c"]);
}

/// ZE-25.
#[test]
fn ze25_related_are_those_that_fit_and_never_others() {
    let all = some();
    for (said, wanted) in [
        ("Please write a migration for the database", vec![4]),
        ("how do the deployments work?", vec![5]),
        (
            "Please add a new user to the project, I like it short",
            vec![0],
        ),
        (
            "can you use this file and make it better for the user?",
            vec![],
        ),
        ("帮我写一个数据库迁移脚本", vec![3]),
        ("我喜欢蓝色", vec![]),
        ("remember what I said", vec![]),
        ("", vec![]),
    ] {
        let hits = related(&all, said, 5);
        let texts: Vec<&str> = all.entries.iter().map(|it| it.text.as_str()).collect();
        let wanted: Vec<&str> = wanted.into_iter().map(|n: usize| texts[n]).collect();
        assert_eq!(shown(&hits), wanted, "{said}");
    }
    assert_eq!(related(&all, "database", 0), []);
}

/// ZE-25.
#[test]
fn one_word_of_a_long_prompt_does_not_make_a_long_memory_fit() {
    let text = "the staging cluster in Falkenstein has four nodes behind one balancer since May";
    let all = loaded(vec![entry(Kind::Fact, Scope::Project, text, "2026-01-01")]);
    let long: String = (0..60).map(|n| format!("item{n} ")).collect();
    assert_eq!(related(&all, &format!("{long} nodes"), 5), []);
    assert_eq!(related(&all, "nodes", 5).len(), 1);
    assert_eq!(
        related(&all, &format!("{long} staging cluster"), 5).len(),
        1
    );
}

proptest! {
    /// The order of files and lines decides nothing, and the limit only cuts.
    #[test]
    fn order_and_limit_change_no_ranking(
        texts in prop::collection::vec("[a-e 中文字]{1,12}", 0..12),
        query in "[a-e 中文字]{0,8}",
        limit in 0usize..6,
    ) {
        let memory = |text: &String| entry(Kind::Fact, Scope::User, text, "2026-01-01");
        let forward = loaded(texts.iter().map(memory).collect());
        let backward = loaded(texts.iter().rev().map(memory).collect());
        let all = search(&forward, &query, 100);
        let other = search(&backward, &query, 100);
        prop_assert_eq!(shown(&all), shown(&other));
        prop_assert!(all.windows(2).all(|pair| pair[0].score >= pair[1].score));
        let few = search(&forward, &query, limit);
        prop_assert_eq!(shown(&few), shown(&all[..limit.min(all.len())]));
        for hit in related(&forward, &query, 100) {
            prop_assert!(hit.score > 0.0);
        }
    }
}
