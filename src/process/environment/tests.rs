use std::collections::BTreeMap;

use super::allowed;

fn vars(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

#[test]
fn a37_a_child_sees_the_allowlist_and_nothing_else() {
    let env = allowed(
        &vars(&[
            ("PATH", "/bin"),
            ("HOME", "/home/u"),
            ("LC_ALL", "C"),
            ("XDG_CONFIG_HOME", "/c"),
            ("CARGO_HOME", "/cargo"),
            ("ANTHROPIC_API_KEY", "k"),
            ("AWS_SECRET_ACCESS_KEY", "s"),
            ("HTTPS_PROXY", "http://p"),
            ("LD_PRELOAD", "evil.so"),
            ("GIT_SSH_COMMAND", "evil"),
            ("SSH_AUTH_SOCK", "/s"),
            ("path", "/evil"),
        ]),
        &[],
    );
    let names: Vec<_> = env.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "CARGO_HOME",
            "EDITOR",
            "GIT_EDITOR",
            "GIT_PAGER",
            "GIT_TERMINAL_PROMPT",
            "HOME",
            "LC_ALL",
            "PAGER",
            "PATH",
            "TERM",
            "VISUAL",
            "XDG_CONFIG_HOME",
        ]
    );
}

#[test]
fn a37_names_that_look_like_secrets_do_not_ride_on_a_family() {
    let env = allowed(
        &vars(&[
            ("XDG_API_KEY", "1"),
            ("LC_TOKEN", "2"),
            ("XDG_password_x", "3"),
            ("LC_CTYPE", "C.UTF-8"),
        ]),
        &[],
    );
    assert_eq!(env.get("LC_CTYPE").map(String::as_str), Some("C.UTF-8"));
    for name in ["XDG_API_KEY", "LC_TOKEN", "XDG_password_x"] {
        assert!(!env.contains_key(name), "{name}");
    }
}

#[test]
fn a_name_from_the_settings_passes_exactly_and_even_if_it_looks_like_a_secret() {
    let vars = vars(&[
        ("MY_TOKEN", "t"),
        ("MY_TOKEN_2", "u"),
        ("DATABASE_URL", "d"),
    ]);
    let env = allowed(&vars, &["MY_TOKEN".to_owned(), "DATABASE_URL".to_owned()]);
    assert_eq!(env.get("MY_TOKEN").map(String::as_str), Some("t"));
    assert_eq!(env.get("DATABASE_URL").map(String::as_str), Some("d"));
    assert!(!env.contains_key("MY_TOKEN_2"));
}

#[test]
fn x03_nothing_can_open_a_pager_or_an_editor_even_if_the_user_has_one() {
    let env = allowed(
        &vars(&[("PAGER", "less"), ("TERM", "xterm"), ("EDITOR", "vi")]),
        &["PAGER".to_owned(), "EDITOR".to_owned()],
    );
    for (name, value) in [
        ("TERM", "dumb"),
        ("PAGER", "cat"),
        ("GIT_PAGER", "cat"),
        ("GIT_EDITOR", "true"),
        ("EDITOR", "true"),
    ] {
        assert_eq!(env.get(name).map(String::as_str), Some(value), "{name}");
    }
}
