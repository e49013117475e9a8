use proptest::prelude::*;

use super::*;
use crate::conversation::ToolSpec;
use crate::provider::openai::names::Names;

fn tool(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: String::new(),
        input_schema: serde_json::json!({}).into(),
    }
}

#[test]
fn a_legal_name_stays() {
    for name in ["read", "_x", "mcp.a:b-c", &"a".repeat(64)] {
        assert_eq!(wire(name), name);
    }
}

/// M03: two names that differ only in characters that the API refuses are mapped back.
#[test]
fn a_long_or_odd_name_is_mapped_and_mapped_back_m03() {
    let long = format!("mcp__server__{}", "x".repeat(60));
    let names = [
        &long,
        "\u{e9}crire",
        "9lives",
        "a/b",
        "a b",
        &format!("{long}y"),
    ];
    let tools: Vec<ToolSpec> = names.iter().map(|name| tool(name)).collect();
    let back = Names::by(&tools, wire);
    let mut sent = std::collections::BTreeSet::new();
    for name in names {
        let wired = wire(name).into_owned();
        assert!(begins(&wired) && wired.len() <= MOST, "{wired}");
        assert_eq!(back.own(&wired), name);
        assert!(sent.insert(wired), "{name}: taken");
    }
    assert_eq!(back.own("read"), "read");
}

proptest! {
    #[test]
    fn any_name_has_a_valid_form(name in ".{0,100}") {
        let wired = wire(&name);
        prop_assert!(begins(&wired) && wired.len() <= MOST && wired.chars().all(is_legal));
        prop_assert_eq!(wire(&wired), wired.as_ref());
    }
}
