//! The door's small parts: abilities, permissions, lines.

use std::path::Path;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::client::Client;
use super::permission;
use crate::conversation::{ItemId, SessionId, TurnId};
use crate::fuzz::fuzz_messages;
use crate::host::{Access, ApprovalRequest, Choice, ChoiceKind, Subject};
use crate::rpc::RpcError;

#[test]
fn only_what_is_announced_is_used() {
    let client = |capabilities: Value| Client::new(&json!({ "clientCapabilities": capabilities }));
    let both = json!({ "fs": { "readTextFile": true, "writeTextFile": true } });
    assert!(client(both).files);
    for other in [
        json!({}),
        json!(null),
        json!({ "fs": null }),
        json!({ "fs": { "readTextFile": true } }),
        json!({ "fs": { "readTextFile": "yes", "writeTextFile": 1 } }),
    ] {
        assert_eq!(client(other), Client::default());
    }
    assert!(client(json!({ "session": { "notices": {} } })).notices);
}

fn request() -> ApprovalRequest {
    let choice = |id: &str, kind| Choice {
        id: id.to_owned(),
        label: id.to_owned(),
        kind,
        rule: None,
    };
    let subject = Subject::Command {
        command: "echo \u{202e}hi".to_owned(),
        description: None,
        cwd: "/w".to_owned(),
        timeout_ms: 1,
        unsaved: vec!["file:///w/a".to_owned()],
        sees: Vec::new(),
        sandbox: None,
        background: false,
    };
    ApprovalRequest {
        session_id: SessionId::from("s"),
        turn_id: TurnId::from("t"),
        item_id: ItemId("i".to_owned()),
        hash: subject.hash(),
        expires_at: jiff::Timestamp::UNIX_EPOCH,
        subject,
        title: "Run echo".to_owned(),
        reason: "commands ask".to_owned(),
        remember: Some("it".to_owned()),
        choices: vec![
            choice("allow", ChoiceKind::AllowOnce),
            choice("allowSession", ChoiceKind::AllowSession),
            choice("allowFolder", ChoiceKind::AllowFolder),
            choice("reject", ChoiceKind::RejectOnce),
        ],
    }
}

#[test]
fn a_permission_offers_the_choices_in_the_protocol_s_kinds() {
    let params = permission::params(&request(), Path::new("/w"));
    let options = params["options"].as_array().unwrap();
    let kinds: Vec<&str> = options
        .iter()
        .filter_map(|option| option["kind"].as_str())
        .collect();
    assert_eq!(
        kinds,
        ["allow_once", "allow_always", "allow_always", "reject_once"]
    );
    let content = params["toolCall"]["content"].to_string();
    let place = "in /w\\nUnsaved: file:///w/a\"";
    assert!(content.contains(place), "{content}");
    assert!(content.contains("Reason: commands ask. \\\"For this session\\\" allows it."));
    assert!(
        !content.contains('\u{202e}'),
        "nothing is hidden: {content}"
    );
}

/// What may be asked for: its kind, its text and its places.
fn asked() -> [(Subject, &'static str, &'static str, Value); 7] {
    let path = |path: &str, access| Subject::Path {
        path: path.to_owned(),
        access,
    };
    let at = |path: &str| json!([{ "path": path }]);
    [
        (
            path("a.rs", Access::Read),
            "read",
            "read a.rs",
            at("/w/a.rs"),
        ),
        (
            path("/etc/x", Access::Write),
            "edit",
            "write /etc/x",
            at("/etc/x"),
        ),
        (path("~/x", Access::Read), "read", "read ~/x", json!([])),
        (
            Subject::Edit {
                uri: "untitled:1".to_owned(),
                diff: "+a\u{202e}".to_owned(),
                after: String::new(),
                files: Vec::new(),
            },
            "edit",
            "+a\\u{202e}",
            json!([]),
        ),
        (
            Subject::Fetch {
                url: "https://x.test".to_owned(),
            },
            "fetch",
            "https://x.test",
            json!([]),
        ),
        (
            Subject::Setting {
                key: "skills.pdf".to_owned(),
                change: "copy it".to_owned(),
                hash: String::new(),
            },
            "other",
            "skills.pdf: copy it",
            json!([]),
        ),
        (
            Subject::Command {
                command: "make".to_owned(),
                description: Some("Makes it".to_owned()),
                cwd: "/w".to_owned(),
                timeout_ms: 1,
                unsaved: Vec::new(),
                sees: Vec::new(),
                sandbox: None,
                background: false,
            },
            "execute",
            "make\nin /w\nThe agent says: Makes it",
            json!([]),
        ),
    ]
}

#[test]
fn a_permission_shows_what_would_be_done() {
    let shown = |subject: Subject| {
        let request = ApprovalRequest {
            subject,
            remember: None,
            ..request()
        };
        let call = permission::params(&request, Path::new("/w"))["toolCall"].take();
        let text = call["content"][0]["content"]["text"].clone();
        assert_eq!(
            call["content"][1]["content"]["text"],
            "Reason: commands ask."
        );
        (
            call["kind"].clone(),
            text.as_str().unwrap().to_owned(),
            call["locations"].clone(),
        )
    };
    for (subject, kind, text, locations) in asked() {
        assert_eq!(shown(subject), (kind.into(), text.to_owned(), locations));
    }
}

#[test]
fn a_permission_to_edit_shows_the_diff() {
    let edit = Subject::Edit {
        uri: "file:///w/a.rs".to_owned(),
        diff: "@@ -1 +1 @@\n-a\n+b\n".to_owned(),
        after: String::new(),
        files: Vec::new(),
    };
    let request = ApprovalRequest {
        subject: edit,
        ..request()
    };
    let call = permission::params(&request, Path::new("/w"))["toolCall"].take();
    assert_eq!(call["content"][0]["oldText"], "a\n");
    assert_eq!(call["locations"], json!([{ "path": "/w/a.rs" }]));
}

#[test]
fn anything_but_an_offered_option_is_a_rejection() {
    let request = request();
    let answer = |result| permission::answer(&request, result);
    let selected = |id: &str| Ok(json!({ "outcome": { "outcome": "selected", "optionId": id } }));
    let allowed = answer(selected("allowSession"));
    assert_eq!(allowed.choice, ChoiceKind::AllowSession);
    assert_eq!(allowed.hash, request.hash);
    for refused in [
        selected("allow_once"),
        Ok(json!({ "outcome": { "outcome": "cancelled" } })),
        Ok(json!({ "outcome": "selected", "optionId": "allow" })),
        Ok(json!(null)),
        Err(RpcError::Gone),
        Err(RpcError::Answered {
            code: 1,
            message: "no".to_owned(),
        }),
    ] {
        assert_eq!(answer(refused).choice, ChoiceKind::RejectOnce);
    }
}

/// Fragments of true messages, so that many lines get past the JSON parser.
fn line() -> impl Strategy<Value = String> {
    let block = prop_oneof![
        Just(json!({ "type": "text", "text": "hi" })),
        Just(json!({ "type": "resource_link", "uri": "file:///a", "name": 3 })),
        Just(json!({ "type": "resource", "resource": { "uri": "x", "blob": "AA" } })),
        Just(json!({ "type": "image", "mimeType": "image/png", "data": "" })),
        Just(json!({ "type": "audio" })),
        Just(json!({ "type": 1 })),
        Just(json!(null)),
    ];
    let prompt = proptest::collection::vec(block, 0..4);
    let message = prompt.prop_map(|prompt| {
        json!({ "jsonrpc": "2.0", "id": 1, "method": "session/prompt",
            "params": { "sessionId": "s", "prompt": prompt } })
        .to_string()
    });
    (message, any::<prop::sample::Index>(), any::<bool>()).prop_map(|(text, at, cut)| {
        let at = at.index(text.len());
        if cut { text[..at].to_owned() } else { text }
    })
}

proptest! {
    #[test]
    fn lines_of_any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        fuzz_messages(&bytes);
    }

    #[test]
    fn broken_prompts_are_survived(lines in proptest::collection::vec(line(), 1..5)) {
        fuzz_messages(lines.join("\n").as_bytes());
    }
}
