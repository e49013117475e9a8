use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{LONGEST, native};

#[test]
fn a_plain_name_stays_readable() {
    assert_eq!(
        native("time", "get_current_time"),
        "mcp__time__get_current_time"
    );
    assert_eq!(native("my-docs", "search"), "mcp__my-docs__search");
}

/// P22, M03.
#[test]
fn what_providers_refuse_is_mapped_and_stays_different() {
    let names = [
        native("a", "x.y"),
        native("a", "x/y"),
        native("a", "x y"),
        native("a", "x_y"),
        native("a", &"x".repeat(100)),
        native("a", &"x".repeat(101)),
        native("a", "ünï"),
        native("a__b", "c"),
        native("a", "b__c"),
        native("a_", "b"),
        native("a", "_b"),
        native("a", ""),
    ];
    let different: std::collections::BTreeSet<&String> = names.iter().collect();
    assert_eq!(different.len(), names.len(), "{names:?}");
}

#[test]
fn a_tool_cannot_take_the_name_of_a_mapped_one() {
    let mapped = native("a", "x.y");
    let tool = mapped.strip_prefix("mcp__a__").unwrap();
    assert_ne!(native("a", tool), mapped);
}

proptest! {
    #[test]
    fn names_are_legal_and_no_two_tools_share_one(
        pairs in proptest::collection::vec(("[a-z_.]{0,6}", "[a-z_./ é]{0,70}"), 1..20),
    ) {
        let mut seen: BTreeMap<String, (String, String)> = BTreeMap::new();
        for (server, tool) in pairs {
            let name = native(&server, &tool);
            prop_assert!(name.len() <= LONGEST);
            let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            prop_assert!(name.chars().all(legal), "{}", name);
            let pair = (server, tool);
            let other = seen.insert(name, pair.clone());
            prop_assert!(other.is_none_or(|other| other == pair));
        }
    }
}
