fn adds_remote(before: &str, after: &str) -> bool {
    super::adds_remote(|| before.to_owned(), after)
}

#[test]
fn an_address_of_a_schema_on_the_network_is_found_however_it_is_written() {
    for text in [
        r#"{ "$schema": "https://evil.example/s?d=secret" }"#,
        r#"{"$schema":"HTTP://evil.example/s"}"#,
        r#"{ "\u0024schema" : "https:\/\/evil.example/s" }"#,
        r#"{ "$sch\u0065ma": "http\u003a//evil.example" }"#,
        "{ \"$schema\"\n// a comment\n: /* and one */ \"https://evil.example\" }",
        "{ $schema: 'https://evil.example' }",
        r#"{ "$schema": "//evil.example/s" }"#,
        r#"{ "$schema": "ftp://evil.example/s" }"#,
        "# yaml-language-server: $schema=https://evil.example/s\na: 1\n",
        "#:schema https://evil.example/s\na = 1\n",
        r#"{ "$schema": "https://json.schemastore.org.evil.example/" }"#,
        r#"{ "$schema": "https://json.schemastore.org@evil.example/" }"#,
        r#"{ "$schema": "https://raw.githubusercontent.com/evil/vscode/" }"#,
        r#"{ "$schema": "https://raw.githubusercontent.com/microsoft/vscode/../../evil/s" }"#,
    ] {
        assert!(adds_remote("", text), "{text}");
        assert!(!adds_remote(text, &format!("{text}\n")), "{text}");
    }
}

#[test]
fn local_and_known_schemas_and_other_addresses_are_no_reason_to_ask() {
    for text in [
        r#"{ "$schema": "./schema.json", "homepage": "https://evil.example" }"#,
        r#"{ "$schema": "schema.json" }"#,
        r#"{ "$schema": "file:///c/schema.json" }"#,
        r#"{ "$schema": "C:\\schemas\\a.json" }"#,
        r#"{ "$schema": "https://json.schemastore.org/tsconfig" }"#,
        r#"{ "$schema": "http://json-schema.org/draft-07/schema#" }"#,
        r##"{ "$schema": "https://www.schemastore.org/package#" }"##,
        r#"{ "schema": "https://evil.example" }"#,
        r#"{ "$schema": "#,
        r#"{ "$schema" // "#,
        "\\u",
    ] {
        assert!(!adds_remote("", text), "{text}");
    }
}

#[test]
fn another_address_than_before_is_one_more() {
    let before = r#"{ "$schema": "https://a.example/s" }"#;
    assert!(adds_remote(
        before,
        &before.replace("a.example", "b.example")
    ));
    assert!(!adds_remote(before, "{}"));
}
