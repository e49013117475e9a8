use super::*;

fn taken(text: &str) -> Found {
    let mut found = Found::default();
    found.take(text, "hooks.json", Author::User);
    found
}

#[test]
fn a_file_in_claude_codes_format_is_read() {
    let found = taken(
        r#"{"permissions": {"deny": []}, "hooks": {
        "PreToolUse": [{"matcher": "Bash|Edit", "hooks": [
            {"type": "command", "command": "a", "timeout": 5}, {"type": "command", "command": "b"}]},
            {"hooks": [{"type": "command", "command": "c", "timeout": 9999, "async": true}]}],
        "Stop": [{"matcher": "*", "hooks": [{"type": "command", "command": "d"}]}]}}"#,
    );
    let rows: Vec<_> = found
        .hooks
        .iter()
        .map(|it| (it.command.as_str(), it.timeout.as_secs(), it.apart))
        .collect();
    assert_eq!(
        rows,
        [
            ("a", 5, false),
            ("b", 60, false),
            ("c", 600, true),
            ("d", 60, false)
        ]
    );
    assert!(found.problems.is_empty());
    assert_eq!(
        found.hooks[0].line(),
        "PreToolUse Bash|Edit: a (hooks.json)"
    );
    assert!(
        taken(r#"{"disableAllHooks": true, "hooks": {"Stop": []}}"#)
            .hooks
            .is_empty()
    );
}

#[test]
fn what_is_not_supported_does_not_run_and_is_reported() {
    for hook in [
        r#"{"type": "prompt", "prompt": "x"}"#,
        r#"{"type": "command", "command": " "}"#,
        r#"{"type": "command", "command": "x", "if": "Bash(rm *)"}"#,
        r#"{"type": "command", "command": "x", "shell": "powershell"}"#,
        r#"{"command": "x"}"#,
    ] {
        let text = format!(r#"{{"hooks": {{"Stop": [{{"hooks": [{hook}]}}]}}}}"#);
        let found = taken(&text);
        assert_eq!((found.hooks.len(), found.problems.len()), (0, 1), "{hook}");
    }
    for text in ["{", "[]", r#"{"hooks": 1}"#, r#"{"hooks": {"Nope": []}}"#] {
        assert_eq!(taken(text).problems.len(), 1, "{text}");
    }
    let pattern = r#"{"hooks": {"PreToolUse": [{"matcher": "(", "hooks": [{"type": "command", "command": "x"}]}]}}"#;
    assert_eq!(taken(pattern).problems.len(), 1);
    let one = r#"{"type": "command", "command": "x"}"#;
    let many = vec![one; 101].join(",");
    let found = taken(&format!(
        r#"{{"hooks": {{"Stop": [{{"hooks": [{many}]}}]}}}}"#
    ));
    assert_eq!((found.hooks.len(), found.problems.len()), (100, 1));
}

#[test]
fn matchers_compare_whole_names_or_are_patterns() {
    let matches = |text: &str, name: &str| Matcher::new(text).unwrap().matches(&[name]);
    for (text, name, wanted) in [
        ("", "Bash", true),
        ("*", "Bash", true),
        ("Bash", "Bash", true),
        ("Bash", "BashOutput", false),
        ("Edit | Write", "Write", true),
        ("mcp__.*", "mcp__s__echo", true),
        ("Notebook.*", "Read", false),
        ("^Ba", "Bash", true),
    ] {
        assert_eq!(matches(text, name), wanted, "{text} {name}");
    }
    assert!(
        Matcher::new("Bash").unwrap().matches(&[]),
        "an event without names"
    );
}
