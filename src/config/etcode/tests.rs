use proptest::prelude::*;
use secrecy::ExposeSecret as _;

use super::*;

const TEXT: &str = r#"{
    "provider": [
        { "id": "anthropic", "apiKey": "sk-plain-1", "model": "claude-opus-5-5" },
        { "id": "local", "model": "m" }
    ],
    "instructions": ["docs/rules.md", "~/mine.md"]
}"#;

fn keys(ignored: &[Ignored]) -> Vec<&str> {
    ignored.iter().map(|one| one.key.as_str()).collect()
}

/// ET-47.
#[test]
fn the_form_parses_and_a_plain_text_key_is_reported() {
    let file = parse(TEXT);
    let key = file.providers[0].api_key.as_ref().unwrap();
    assert_eq!(key.expose_secret(), "sk-plain-1");
    let settings = file.settings();
    assert_eq!(settings["model"], "anthropic/claude-opus-5-5");
    assert_eq!(settings["providers"]["local"]["models"], json!(["m"]));
    assert_eq!(
        settings["instructions"],
        json!(["docs/rules.md", "~/mine.md"])
    );
    assert_eq!(keys(&file.ignored), ["provider.anthropic.apiKey"]);
    let reason = &file.ignored[0].reason;
    assert!(reason.contains("interline login anthropic"), "{reason}");
    assert!(!format!("{file:?}").contains("sk-plain"), "{file:?}");
    assert!(!settings.to_string().contains("sk-plain"));
}

/// ET-47, INV-9.
#[test]
fn a_workspace_may_only_name_instructions_inside_it() {
    let text = TEXT.replace(
        "\"~/mine.md\"",
        "\"~/m.md\", \"../up\", \"https://e.example\", \"/x\"",
    );
    let (instructions, ignored) = parse(&text).workspace();
    assert_eq!(instructions, ["docs/rules.md"]);
    let expected = [
        "provider.anthropic",
        "provider.local",
        "instructions",
        "instructions",
        "instructions",
        "instructions",
    ];
    assert_eq!(keys(&ignored), expected);
    assert!(ignored[0].reason.contains("replace the key"), "{ignored:?}");
    assert!(!format!("{ignored:?}").contains("sk-plain"), "{ignored:?}");
}

/// ET-47.
#[test]
fn unknown_keys_and_wrong_types_affect_only_themselves() {
    let file = parse(
        r#"{"theme": 1, "provider": [7, {"id": "a b"}, {"id": "x", "apiKey": 5, "url": "u"},
            {"id": "x"}], "instructions": [3, "ok.md", ""]}"#,
    );
    assert_eq!(file.providers.len(), 1);
    assert_eq!(file.instructions, ["ok.md"]);
    let expected = [
        "theme",
        "provider.0",
        "provider.1",
        "provider.x.apiKey",
        "provider.x.url",
        "provider.x",
        "instructions.0",
        "instructions.2",
    ];
    assert_eq!(keys(&file.ignored), expected);
    for text in [
        "",
        "[]",
        "{\"provider\": {}}",
        "{\"instructions\": \"x\"}",
        "\u{feff}{",
    ] {
        assert_eq!(parse(text).ignored.len(), 1, "{text:?}");
    }
    assert_eq!(parse("\u{feff}{}").ignored, []);
}

#[test]
fn long_lists_are_bounded() {
    let many = json!({ "instructions": vec![0; 5_000], "provider": vec![0; 5_000] });
    let file = parse(&many.to_string());
    assert!(file.ignored.len() <= ENTRIES + 1, "{}", file.ignored.len());
}

proptest! {
    /// INV-10: whatever surrounds a key, no notice and no setting carries it.
    #[test]
    fn a_key_is_in_no_message(key in "[!-~]{12,40}", id in "[a-z. ]{0,8}", broken in any::<bool>()) {
        let mut text = json!({ "provider": [{ "id": id, "apiKey": key }] }).to_string();
        if broken {
            text.pop();
        }
        let file = parse(&text);
        let words = format!("{file:?}{}", file.settings());
        prop_assert!(!words.contains(&key), "{}", words);
        let (_, ignored) = file.workspace();
        let ignored = format!("{ignored:?}");
        prop_assert!(!ignored.contains(&key), "{}", ignored);
    }
}
