use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{LONGEST, native_name};

#[test]
fn a_plain_name_stays_readable() {
    assert_eq!(
        native_name("time", "get_current_time"),
        "mcp__time__get_current_time"
    );
    assert_eq!(native_name("my-docs", "search"), "mcp__my-docs__search");
}

/// P22, M03.
#[test]
fn names_that_providers_reject_are_mapped_and_stay_distinct() {
    let names = [
        native_name("a", "x.y"),
        native_name("a", "x/y"),
        native_name("a", "x y"),
        native_name("a", "x_y"),
        native_name("a", &"x".repeat(100)),
        native_name("a", &"x".repeat(101)),
        native_name("a", "ünï"),
        native_name("a__b", "c"),
        native_name("a", "b__c"),
        native_name("a_", "b"),
        native_name("a", "_b"),
        native_name("a", ""),
    ];
    let different: std::collections::BTreeSet<&String> = names.iter().collect();
    assert_eq!(different.len(), names.len(), "{names:?}");
}

#[test]
fn a_tool_cannot_take_the_name_of_a_mapped_one() {
    let mapped = native_name("a", "x.y");
    let tool = mapped.strip_prefix("mcp__a__").unwrap();
    assert_ne!(native_name("a", tool), mapped);
}

proptest! {
    #[test]
    fn names_are_legal_and_no_two_tools_share_one(
        pairs in proptest::collection::vec(("[a-z_.]{0,6}", "[a-z_./ é]{0,70}"), 1..20),
    ) {
        let mut seen: BTreeMap<String, (String, String)> = BTreeMap::new();
        for (server, tool) in pairs {
            let name = native_name(&server, &tool);
            prop_assert!(name.len() <= LONGEST);
            let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            prop_assert!(name.chars().all(legal), "{}", name);
            let pair = (server, tool);
            let other = seen.insert(name, pair.clone());
            prop_assert!(other.is_none_or(|other| other == pair));
        }
    }
}
