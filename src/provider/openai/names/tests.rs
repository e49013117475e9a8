use proptest::prelude::*;
use serde_json::json;

use super::*;

fn tool(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: String::new(),
        input_schema: json!({}).into(),
    }
}

#[test]
fn a_plain_name_stays() {
    assert!(matches!(wire("read"), Cow::Borrowed("read")));
    let long = "x".repeat(64);
    assert_eq!(wire(&long), long);
}

#[test]
fn a_long_or_dotted_name_is_mapped_and_mapped_back() {
    let names = [
        "server.tool/a",
        "server.tool.a",
        &"y".repeat(65),
        "größe",
        "a b",
    ];
    let tools: Vec<ToolSpec> = names.iter().map(|name| tool(name)).collect();
    let known = Names::of(&tools);
    for name in names {
        let mapped = wire(name);
        assert!(
            mapped.len() <= MOST && mapped.chars().all(is_plain),
            "{mapped}"
        );
        assert_eq!(known.own(&mapped), name);
    }
    assert_ne!(wire("server.tool/a"), wire("server.tool.a"));
    assert_eq!(known.own("never_offered"), "never_offered");
}

proptest! {
    #[test]
    fn any_name_has_a_valid_form(name in ".{0,100}") {
        let mapped = wire(&name);
        prop_assert!(!mapped.is_empty() && mapped.len() <= MOST && mapped.chars().all(is_plain));
        prop_assert_eq!(wire(&mapped), mapped.clone());
        prop_assert_eq!(Names::of(&[tool(&name)]).own(&mapped), name);
    }
}
