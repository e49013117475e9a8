use tracing::Level;

use super::{SILENT, filter};

#[test]
fn a_filter_names_a_level_or_targets_with_levels() {
    let chosen = filter("debug");
    assert!(chosen.would_enable("interline::edit", &Level::DEBUG));
    assert!(!chosen.would_enable("interline::edit", &Level::TRACE));
    let chosen = filter("info, interline::edit=trace,");
    assert!(chosen.would_enable("interline::edit::plan", &Level::TRACE));
    assert!(!chosen.would_enable("interline::agent", &Level::DEBUG));
    assert!(chosen.would_enable("interline::agent", &Level::INFO));
}

#[test]
fn a_filter_that_cannot_be_read_is_that_of_no_variable() {
    for text in [",", "interline=loud", ""] {
        let chosen = filter(text);
        assert!(chosen.would_enable("interline", &Level::INFO), "{text}");
        assert!(!chosen.would_enable("interline", &Level::DEBUG), "{text}");
    }
}

#[test]
fn what_mcp_servers_are_quoted_in_is_never_logged() {
    for text in ["trace".to_owned(), format!("{SILENT}=trace")] {
        assert!(!filter(&text).would_enable(SILENT, &Level::ERROR), "{text}");
    }
}
