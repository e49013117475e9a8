//! The captured `initialize` requests of nine clients.

use super::*;

/// The expectations for a fixture.
struct Row {
    fixture: &'static str,
    encoding: Encoding,
    delay: u64,
    create: bool,
    show_document: bool,
    asks: bool,
    progress: bool,
}

macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!("../../../tests/fixtures/init/", $name, ".json"))
    };
}

fn row(fixture: &'static str, encoding: Encoding, delay: u64) -> Row {
    Row {
        fixture,
        encoding,
        delay,
        create: true,
        show_document: true,
        asks: true,
        progress: true,
    }
}

fn rows() -> Vec<Row> {
    use Encoding::{Utf8, Utf16};
    vec![
        Row {
            create: false,
            show_document: false,
            asks: false,
            progress: false,
            ..row(fixture!("emacs-28.2-eglot-1.9"), Utf16, 600)
        },
        Row {
            create: false,
            asks: false,
            ..row(fixture!("emacs-30.2-eglot-1.17.30"), Utf8, 600)
        },
        // 25.01 shows documents though it does not announce it.
        row(fixture!("helix-25.01.1"), Utf8, 0),
        row(fixture!("helix-25.07.1"), Utf8, 0),
        Row {
            show_document: false,
            asks: false,
            ..row(fixture!("kak-lsp-22.0.0"), Utf8, 250)
        },
        row(fixture!("neovim-0.10.4"), Utf16, 150),
        row(fixture!("neovim-0.12.4"), Utf8, 150),
        row(fixture!("vscode-languageclient-11.0.0"), Utf16, 0),
        Row {
            show_document: false,
            ..row(fixture!("zed-2026-from-source"), Utf16, 0)
        },
    ]
}

#[test]
fn nine_captured_clients_are_bare_and_known_with_their_quirks() {
    for row in rows() {
        let params: Value = serde_json::from_str(row.fixture).unwrap();
        let client = Client::new(&params);
        let name = &client.name;
        assert_eq!(client.tier, Tier::Bare, "{name:?}");
        assert_eq!(client.offer, ClientOffer::default(), "{name:?}");
        assert_eq!(client.encoding, row.encoding, "{name:?}");
        assert_eq!(client.delay.as_millis(), u128::from(row.delay), "{name:?}");
        // Including Neovim, which does not announce it.
        assert!(client.document_changes, "{name:?}");
        assert_eq!(client.create_files, row.create, "{name:?}");
        assert_eq!(client.delete_files, row.create, "{name:?}");
        let neovim = name.as_deref() == Some("Neovim");
        assert_eq!(client.drops_stale, neovim, "{name:?}");
        assert_eq!(client.show_document, row.show_document, "{name:?}");
        assert_eq!(client.show_message_request, row.asks, "{name:?}");
        assert_eq!(client.work_done_progress, row.progress, "{name:?}");
        assert!(client.code_action_literals, "{name:?}");
    }
}

#[test]
fn a_client_that_only_answers_queries_keeps_its_quirks() {
    for row in rows() {
        let mut params: Value = serde_json::from_str(row.fixture).unwrap();
        let before = Client::new(&params);
        params["capabilities"]["experimental"]["interline"] =
            json!({ "version": 1, "query": true });
        let client = Client::new(&params);
        assert!(client.offer.query && !client.offer.edit && !client.offer.commands);
        let name = &client.name;
        assert_eq!(client.delay, before.delay, "{name:?}");
        assert_eq!(client.drops_stale, before.drops_stale, "{name:?}");
        assert_eq!(client.show_document, before.show_document, "{name:?}");
        assert_eq!(
            client.show_message_request, before.show_message_request,
            "{name:?}"
        );
    }
}

fn with(interline: Value) -> Client {
    Client::new(&json!({ "capabilities": { "experimental": { "interline": interline } } }))
}

#[test]
fn the_tier_needs_a_version_and_wrong_fields_count_as_missing() {
    assert_eq!(with(json!(true)).tier, Tier::Bare);
    assert_eq!(with(json!({ "events": true })).tier, Tier::Bare);
    assert_eq!(with(json!({ "version": 0 })).tier, Tier::Bare);
    let client = with(json!({ "version": 2, "events": true, "save": "yes", "new": 1 }));
    assert_eq!(client.tier, Tier::Interline);
    assert!(client.offer.events && !client.offer.save);
}

#[test]
fn inv_4_an_unknown_client_may_delay_as_long_as_the_slowest_known_one() {
    assert_eq!(Client::default().delay.as_millis(), 600);
    let named = json!({ "clientInfo": { "name": "New editor" } });
    assert_eq!(Client::new(&named).delay.as_millis(), 600);
}

#[test]
fn a_client_that_maps_edits_itself_needs_no_quiet_gap() {
    let neovim = |offer: Value| {
        let params = json!({
            "clientInfo": { "name": "Neovim" },
            "capabilities": { "experimental": { "interline": offer } },
        });
        Client::new(&params).delay.as_millis()
    };
    assert_eq!(neovim(json!({ "version": 1, "edit": true })), 0);
    assert_eq!(neovim(json!({ "version": 1, "events": true })), 150);
}

#[test]
fn without_an_offer_columns_are_utf_16() {
    let encoding = |offered: Value| {
        let params = json!({ "capabilities": { "general": { "positionEncodings": offered } } });
        Client::new(&params).encoding
    };
    assert_eq!(encoding(Value::Null), Encoding::Utf16);
    assert_eq!(encoding(json!([])), Encoding::Utf16);
    assert_eq!(encoding(json!(["utf-7"])), Encoding::Utf16);
    assert_eq!(encoding(json!(["utf-32"])), Encoding::Utf32);
    assert_eq!(encoding(json!(["utf-32", "utf-16"])), Encoding::Utf16);
    assert_eq!(encoding(json!(["utf-16", "utf-8"])), Encoding::Utf8);
}

#[test]
fn unavailable_features_are_listed_with_the_reason() {
    let emacs: Value = serde_json::from_str(fixture!("emacs-28.2-eglot-1.9")).unwrap();
    let answer = Client::new(&emacs).answer(&Offers::default(), &[]);
    let off = answer["capabilities"]["experimental"]["interline"]["off"].clone();
    let off: Vec<Off> = serde_json::from_value(off).unwrap();
    let features: Vec<&str> = off.iter().map(|off| off.feature.as_str()).collect();
    assert!(features.contains(&"createFiles"), "{features:?}");
    assert!(features.contains(&"approvalMessages"), "{features:?}");
    assert!(!features.contains(&"versionedEdits"), "{features:?}");
}
