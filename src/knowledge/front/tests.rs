use proptest::prelude::*;

use super::*;

fn text(value: &str) -> Field {
    Field::Text(value.to_owned())
}

fn list(items: &[&str]) -> Field {
    Field::List(items.iter().map(|item| (*item).to_owned()).collect())
}

/// Front matter with one key `x`, and its value.
fn check(yaml: &str, expected: Field) {
    let whole = format!("---\n{yaml}\n---\nbody\n");
    let front = parse(&whole);
    assert_eq!(front.get("x"), Some(&expected), "{yaml}");
    assert_eq!(front.body, "body\n");
    assert_eq!(front.problems, Vec::<String>::new(), "{yaml}");
}

#[test]
fn values_are_read_as_people_write_them() {
    check("x: plain words", text("plain words"));
    check("x:no blank", text("no blank"));
    check("x:", text(""));
    check("x: ~", text(""));
    check("x: true # yes", text("true"));
    check("x: C# and a#b", text("C# and a#b"));
    check(
        "x: Use when: the user asks: now",
        text("Use when: the user asks: now"),
    );
    check(
        "x: see https://example.org/a:b",
        text("see https://example.org/a:b"),
    );
    check("x: \"a: \\\"b\\\" \\u00e9\\n\" # c", text("a: \"b\" é\n"));
    check("x: 'it''s'", text("it's"));
    check("x: don't", text("don't"));
    check("'x': 1", text("1"));
    check("  x: indented", text("indented"));
    check("# first\n\nx: 1", text("1"));
    check(
        "x: one\n  two: three\n\n  four",
        text("one two: three four"),
    );
    check("x: \"one\n  two\" # three", text("one two"));
    check("x:\n  one\n  two", text("one two"));
}

#[test]
fn lists_are_read_in_each_of_their_forms() {
    check("x: [a, 'b, c', \"d\"]", list(&["a", "b, c", "d"]));
    check("x: []", list(&[]));
    check("x: [\n  a,\n  b # two\n]", list(&["a", "b"]));
    check(
        "x:\n  - a\n  # no\n  - 'b: c'\n  - d: e",
        list(&["a", "b: c", "d: e"]),
    );
    check("x:\n- a\n-\n- b\n  c", list(&["a", "b c"]));
    check("x: [don't, won't]", list(&["don't", "won't"]));
    // An argument hint looks like a list but is not one.
    check("x: [file] [mode]", text("[file] [mode]"));
}

#[test]
fn maps_and_blocks_of_text_are_read() {
    let map = |entries: &[(&str, Field)]| {
        let entries = entries
            .iter()
            .map(|(key, it)| ((*key).to_owned(), it.clone()));
        Field::Map(entries.collect())
    };
    let inner = map(&[("git *", text("allow"))]);
    check(
        "x:\n  a: b\n  c:\n    - d\n  e:\n    \"git *\": allow",
        map(&[("a", text("b")), ("c", list(&["d"])), ("e", inner)]),
    );
    check(
        "x: {a: b, c: 'd, e'}",
        map(&[("a", text("b")), ("c", text("d, e"))]),
    );
    check(
        "x: |\n  one\n    two\n\n  three: #\n",
        text("one\n  two\n\nthree: #"),
    );
    check("x: >-\n  one\n  two\n\n  three", text("one two\nthree"));
    check("x: >2 # why\n  - one", text("- one"));
    // These begin no block.
    check("x: |y", text("|y"));
    check("x: |----", text("|----"));
}

#[test]
fn what_follows_a_value_is_the_next_key() {
    let front = parse("---\na: [1\nb: \"2\nc: |\nd:\n- 3\ne: 4\n---\n");
    assert_eq!(front.get("a"), Some(&text("[1")));
    assert_eq!(front.get("b"), Some(&text("\"2")));
    assert_eq!(front.get("c"), Some(&text("")));
    assert_eq!(front.get("d"), Some(&list(&["3"])));
    assert_eq!(front.get("e"), Some(&text("4")));
    assert_eq!(
        front.problems,
        ["line 3: the quotes do not match; they are treated as text"]
    );
}

#[test]
fn fields_are_texts_lists_booleans_or_maps() {
    let front = parse("---\na: x, y ,\nb: [x]\nc: No\nd: {e: f}\ng: ''\n---\n");
    assert_eq!(front.get_text("a"), Some("x, y ,"));
    assert_eq!(
        front.get_list("a"),
        Some(vec!["x".to_owned(), "y".to_owned()])
    );
    assert_eq!(front.get_list("b"), Some(vec!["x".to_owned()]));
    assert_eq!(front.get_text("b"), None);
    assert_eq!(
        (front.get_bool("c"), front.get_bool("a")),
        (Some(false), None)
    );
    assert_eq!(front.get_map("d").unwrap()["e"], text("f"));
    assert_eq!(
        (front.get_text("g"), front.get_list("g")),
        (None, Some(Vec::new()))
    );
    assert_eq!(front.get_list("missing"), None);
}

#[test]
fn a_file_without_front_matter_is_all_body() {
    for whole in [
        "",
        "# Title\n---\na: b\n---\n",
        " ---\na: b\n---\n",
        "----\n",
    ] {
        let front = parse(whole);
        assert_eq!(
            (front.body, front.fields.len(), front.problems.len()),
            (whole, 0, 0)
        );
    }
    let front = parse("---\nname: a\n# Title\n");
    assert_eq!(front.body, "---\nname: a\n# Title\n");
    assert!(front.fields.is_empty() && front.problems[0].contains("not closed"));
}

#[test]
fn windows_line_ends_and_a_byte_order_mark_change_nothing() {
    let front = parse("\u{feff}---\r\nx: |\r\n  one\r\n  two\r\n---\r\nbody\r\n");
    assert_eq!(front.get_text("x"), Some("one\ntwo"));
    assert_eq!(front.body, "body\r\n");
    assert_eq!(parse("\u{feff}body").body, "body");
    assert_eq!(parse("---\nx: 1\n...").body, "");
}

#[test]
fn odd_lines_are_reported_and_only_they_are_skipped() {
    let front = parse("---\nname: a\nprose\n- item\nname: b\n---\n");
    assert_eq!(front.get_text("name"), Some("b"));
    assert_eq!(
        front.problems,
        [
            "line 3: not a `key: value`; the line is ignored",
            "line 4: not a `key: value`; the line is ignored",
            "line 5: the key occurs twice; the last one is used",
        ]
    );
}

#[test]
fn bombs_cost_nothing() {
    // Aliases expand to nothing.
    let front = parse("---\na: &a [x, x]\nb: [*a, *a]\nc: !!binary x\n<<: *a\n---\n");
    assert_eq!(front.get_text("a"), Some("&a [x, x]"));
    assert_eq!(front.get("b"), Some(&list(&["*a", "*a"])));
    assert_eq!(front.get_text("c"), Some("!!binary x"));
    let keys: String = (0..3_000).map(|n| format!("k{n}: 1\n")).collect();
    let many = format!("---\n{keys}---\nbody");
    let front = parse(&many);
    assert_eq!((front.fields.len(), front.body), (500, "body"));
    assert!(front.problems[0].contains("more than 500 fields"));
    let deep: String = (0..150).map(|n| format!("{}k:\n", " ".repeat(n))).collect();
    let deep = format!("---\n{deep}---\nbody");
    let front = parse(&deep);
    assert!(front.problems[0].contains("nested too deeply"), "{front:?}");
    assert_eq!(front.body, "body");
    let large = format!("---\nx: {}\n---\nbody", "y".repeat(LIMIT));
    let front = parse(&large);
    assert!(front.fields.is_empty() && front.body == large);
    assert!(front.problems[0].contains("32 KiB"));
}

/// Pieces out of which hostile front matter is made.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "---\n", "...\n", "\n", "\r\n", "  ", "\t", "- ", "key: ", "k:\n", "|", ">", "[", "]",
            "{", "}", "\"", "'", "\\", "#", " #", ": ", ",", "é", "\u{feff}", "&a", "*a", "~",
        ])
        .prop_map(str::to_owned),
        "[a-z]{1,4}",
        "\\PC{0,3}",
    ]
}

#[test]
fn a_hash_within_the_quotes_of_a_list_is_no_comment() {
    let front = parse("---\nx: ['a #b', \" #c\"] # said\n---\n");
    let items = ["a #b", " #c"].map(str::to_owned).to_vec();
    assert_eq!(front.fields["x"], Field::List(items));
}

proptest! {
    #[test]
    fn any_text_is_read_within_bounds(pieces in prop::collection::vec(piece(), 0..60)) {
        let whole = format!("---\n{}\n---\nbody", pieces.concat());
        for text in [whole.as_str(), &pieces.concat()] {
            let front = parse(text);
            prop_assert!(text.ends_with(front.body));
            prop_assert!(front.problems.len() <= PROBLEMS);
            prop_assert!(front.fields.len() <= ENTRIES);
            prop_assert_eq!(&front, &parse(text));
        }
    }

    #[test]
    fn quoted_texts_come_back_as_they_were(value in "[^\\x00-\\x1f\\x7f]{0,40}") {
        let double = value.replace('\\', "\\\\").replace('"', "\\\"");
        let single = value.replace('\'', "''");
        for yaml in [format!("x: \"{double}\""), format!("x: '{single}'"), format!("x: ['{single}']")] {
            let whole = format!("---\n{yaml}\n---\n");
            let front = parse(&whole);
            let found = match &front.fields["x"] {
                Field::List(items) => items[0].clone(),
                Field::Text(text) => text.clone(),
                Field::Map(_) => String::new(),
            };
            prop_assert_eq!(&found, &value);
        }
    }
}

#[test]
fn a_key_may_have_several_words() {
    let front = parse("---\ndisplay name: Ann: a name\n---\n");
    assert_eq!(front.get("display name"), Some(&text("Ann: a name")));
}

#[test]
fn a_key_ends_at_its_colon() {
    let long = "k".repeat(100);
    for (line, found) in [
        ("a: b", Some(("a", "b"))),
        ("a:b", Some(("a", "b"))),
        ("a:", Some(("a", ""))),
        ("a_b-1:c", Some(("a_b-1", "c"))),
        ("a:\tb", Some(("a", "b"))),
        ("a:b: c", Some(("a:b", "c"))),
        ("https://x.test", None),
        ("see https://x.test", None),
        ("two words:b", None),
        ("two words: b", Some(("two words", "b"))),
        ("'a: b': c", Some(("a: b", "c"))),
        ("\"a\" : c", Some(("a", "c"))),
        ("'it''s': c", Some(("it's", "c"))),
        ("'': c", None),
        ("'a' c", None),
        ("'a", None),
        (": b", None),
        ("- a: b", None),
        ("[a: b", None),
        ("{a: b", None),
        ("# a: b", None),
        ("no colon", None),
    ] {
        let found = found.map(|(key, value): (&str, &str)| (key.to_owned(), value));
        assert_eq!(scalar::key(line), found, "{line}");
    }
    for line in [format!("{long}: x"), format!("'{long}': x")] {
        assert_eq!(scalar::key(&line), Some((long.clone(), "x")));
    }
    for line in [format!("{long}k: x"), format!("'{long}k': x")] {
        assert_eq!(scalar::key(&line), None);
    }
}

#[test]
fn a_comment_begins_with_a_blank_and_a_hash() {
    for (text, left) in [
        ("a # b", "a"),
        ("a\t# b", "a"),
        ("a#b ", "a#b"),
        ("# b", ""),
        ("", ""),
        ("'a # b'", "'a"),
        ("['a # b', c] # d", "['a # b', c]"),
        ("[\"a # b\"] # d", "[\"a # b\"]"),
        ("{k: 'a # b'} # d", "{k: 'a # b'}"),
        ("[it's # d", "[it's"),
        ("['a # d", "['a"),
        ("[a, 'é # b'] #", "[a, 'é # b']"),
    ] {
        assert_eq!(scalar::without_comment(text), left, "{text}");
    }
}

#[test]
fn quotes_end_where_they_say_and_escapes_are_resolved() {
    for (text, inner) in [
        ("'a'", Some("a")),
        ("'a' # b", Some("a")),
        ("'a' b", None),
        ("'a''b'", Some("a'b")),
        ("'a", None),
        ("a", None),
        (r#""a\"b""#, Some("a\"b")),
        (r#""a\n\t\r\\\/\ b""#, Some("a\n\t\r\\/ b")),
        (r#""\x41""#, Some("\\x41")),
        (r#""\u00e9!""#, Some("é!")),
        (r#""\u00e""#, Some("\\u00e")),
        (r#""\ud800""#, Some("\\ud800")),
        (r#"'\n'"#, Some("\\n")),
    ] {
        assert_eq!(scalar::unquoted(text).as_deref(), inner, "{text}");
        let bare = inner.unwrap_or(text);
        assert_eq!(scalar::bare(&format!(" {text} ")), bare, "{text}");
    }
    for (line, ends) in [("a' b", true), ("a'' b", false), ("a", false), ("", false)] {
        assert_eq!(scalar::ends_quote(line, '\''), ends, "{line}");
    }
    assert!(scalar::ends_quote(r#"a\\" b"#, '"') && !scalar::ends_quote(r#"a\" b"#, '"'));
}

#[test]
fn inline_parts_are_separated_by_commas_outside_of_quotes() {
    for (inner, parts) in [
        ("a, b", Some(&["a", " b"][..])),
        ("", Some(&[""])),
        ("a,", Some(&["a", ""])),
        ("'a, b', c", Some(&["'a, b'", " c"])),
        ("k: \"a, b\", c", Some(&["k: \"a, b\"", " c"])),
        ("it's, c", Some(&["it's", " c"])),
        ("'a, b", Some(&["'a", " b"])),
        ("é, 'ü, ö'", Some(&["é", " 'ü, ö'"])),
        ("a] [b", None),
        ("{a", None),
    ] {
        assert_eq!(scalar::split(inner).as_deref(), parts, "{inner}");
    }
}
