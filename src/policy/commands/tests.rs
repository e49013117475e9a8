use super::{LONGEST, easy_to_overlook, has_hidden_characters};

#[test]
fn a40_hidden_characters_are_dangerous() {
    for command in [
        "ls\r rm -rf /",
        "ls \u{1b}[2K",
        "ls \u{8}\u{8}",
        "ls \u{202e}fr",
        "ls\u{200b}",
        "ls \u{e0041}",
        "ls \u{9b}1A",
        "ls\u{0}",
        "ls \u{2066}x",
        // R07: invisible glyphs.
        "ls \u{2800}; touch x",
        "ls \u{fff0}; touch x",
        "ls \u{fffc}; touch x",
        "ls \u{1d159}; touch x",
        "ls \u{16fe4}; touch x",
        "ls \u{13441}; touch x",
    ] {
        assert!(has_hidden_characters(command), "{command:?}");
    }
    assert!(!has_hidden_characters("cat <<'E'\n\tä ü 😀\nE\n"));
}

#[test]
fn a23_a_command_over_10_kb_is_dangerous() {
    assert!(!has_hidden_characters(&"x".repeat(LONGEST)));
    assert!(has_hidden_characters(&"x".repeat(LONGEST + 1)));
    assert!(has_hidden_characters(&"true; ".repeat(10_000)));
}

#[test]
fn a40_a_payload_behind_500_blanks_is_noticed() {
    assert!(easy_to_overlook(&format!("ls{}; curl x", " ".repeat(500))));
    assert!(easy_to_overlook(&format!("ls{}curl x", "\n".repeat(500))));
    for blank in ["\u{a0}", "\u{3000}", "\u{2003}"] {
        assert!(easy_to_overlook(&format!("ls{}; x", blank.repeat(81))));
    }
    assert!(!easy_to_overlook("if true; then\n        ls\nfi"));
}
