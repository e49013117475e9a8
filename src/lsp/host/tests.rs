//! The host against a client controlled by the test.

mod questions;

use std::future::Future;
use std::time::Instant;

use serde_json::json;

use super::*;
use crate::conversation::event::{EnvelopeBody, Origin};
use crate::conversation::{Event, FileChange, ItemId, Spent, TurnStop};
use crate::host::{Choice, ChoiceKind, Subject, TextEdit};
use crate::lsp::bare::approvals::SETTLE_TIME;
use crate::rpc::tests::client::{self, handler, nothing};
use crate::workspace::Range;

/// A client with these capabilities, and the host for it.
struct Story {
    client: client::Client,
    host: Arc<ClientHost>,
    workspace: Arc<Workspace>,
}

fn story(capabilities: Value) -> Story {
    let client = client::Client::start(|_| handler(|_, _| nothing()));
    let known = Client::new(&json!({ "capabilities": capabilities }));
    let workspace = Workspace::new();
    let host = ClientHost::new(Arc::new(known), client.peer.clone(), Arc::clone(&workspace));
    Story {
        client,
        host: Arc::new(host),
        workspace,
    }
}

fn ours(offer: Value) -> Value {
    json!({ "experimental": { "interline": offer } })
}

impl Story {
    fn spawn<F>(&self, run: impl FnOnce(Arc<ClientHost>) -> F) -> tokio::task::JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.client.runtime.spawn(run(Arc::clone(&self.host)))
    }

    fn asked(&mut self, method: &str) -> Value {
        self.client.find(|message| message["method"] == method)
    }

    fn reply(&mut self, request: &Value, result: Value) {
        let id = &request["id"];
        self.client
            .send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
    }

    fn refuse(&mut self, request: &Value, code: i64) {
        let id = &request["id"];
        let error = json!({ "code": code, "message": "no" });
        self.client
            .send(&json!({ "jsonrpc": "2.0", "id": id, "error": error }));
    }

    fn finish<T>(&self, task: tokio::task::JoinHandle<T>) -> T {
        self.client.runtime.block_on(task).unwrap()
    }

    /// Asks for an approval and returns the client's request.
    fn approving(&self) -> tokio::task::JoinHandle<ApprovalAnswer> {
        let task = self.spawn(|host| async move { host.approve(approval()).await });
        self.client
            .until(|| !self.host.approvals().list().is_empty());
        task
    }
}

fn approval() -> ApprovalRequest {
    let subject = Subject::Command {
        command: "cargo check".to_owned(),
        description: None,
        cwd: "/w".to_owned(),
        timeout_ms: 1000,
        background: false,
        unsaved: vec!["file:///w/a.rs".to_owned()],
        sees: Vec::new(),
        sandbox: None,
    };
    let choice = |id: &str, label: &str, kind| Choice {
        id: id.to_owned(),
        label: label.to_owned(),
        kind,
        rule: None,
    };
    ApprovalRequest {
        session_id: "ses".into(),
        turn_id: "turn".into(),
        item_id: "item".into(),
        hash: subject.hash(),
        expires_at: "2026-11-21T10:00:00Z".parse().unwrap(),
        subject,
        title: "Run cargo check".to_owned(),
        reason: "commands are asked for".to_owned(),
        remember: None,
        choices: vec![
            choice("allow", "Allow", ChoiceKind::AllowOnce),
            choice(
                "allowSession",
                "Allow for this session",
                ChoiceKind::AllowSession,
            ),
            choice("reject", "Reject", ChoiceKind::RejectOnce),
        ],
    }
}

fn edit(create: bool) -> EditRequest {
    EditRequest {
        session: "ses".into(),
        turn: "turn".into(),
        item: "item".into(),
        label: "Edit a.rs".to_owned(),
        uri: Uri::new("file:///w/a.rs"),
        version: Some(3),
        hash: "h".to_owned(),
        edits: vec![TextEdit {
            range: Range::default(),
            new_text: "x".to_owned(),
        }],
        create,
        exact: false,
    }
}

#[test]
fn a_plain_client_gets_apply_edit_and_its_answer_proves_nothing() {
    let mut story = story(json!({ "workspace": { "workspaceEdit": { "documentChanges": true } } }));
    assert_eq!(story.host.fidelity(), Fidelity::Versioned);
    for (result, expected) in [
        (json!({ "applied": true }), EditAnswer::Claimed),
        (json!(null), EditAnswer::Claimed),
        (
            json!({ "applied": false, "failureReason": "stale" }),
            EditAnswer::Refused {
                reason: "stale".to_owned(),
            },
        ),
    ] {
        let task = story.spawn(|host| async move { host.apply(edit(false)).await });
        let request = story.asked("workspace/applyEdit");
        assert_eq!(request["params"]["label"], "Interline: Edit a.rs");
        story.reply(&request, result);
        assert_eq!(story.finish(task), expected);
    }
    let task = story.spawn(|host| async move { host.apply(edit(false)).await });
    let request = story.asked("workspace/applyEdit");
    // Eglot answers a stale version with an error.
    story.refuse(&request, -32603);
    assert!(matches!(story.finish(task), EditAnswer::Refused { .. }));
}

#[test]
fn an_edit_is_sent_before_its_future_is_polled_and_survives_its_drop() {
    let mut story = story(json!({}));
    drop(story.host.apply(edit(false)));
    story.asked("workspace/applyEdit");
}

#[test]
fn a_client_with_edit_maps_the_edit_itself_and_reports_the_outcome() {
    let mut story = story(ours(json!({ "version": 1, "edit": true })));
    assert_eq!(story.host.fidelity(), Fidelity::Anchored);
    for (result, expected) in [
        (
            json!({ "status": "rebased", "version": 5, "hash": "g" }),
            EditAnswer::Mapped {
                rebased: true,
                version: 5,
                hash: "g".to_owned(),
            },
        ),
        (
            json!({ "status": "conflict", "version": 5, "hash": "g", "reason": "typing" }),
            EditAnswer::Conflict {
                reason: "typing".to_owned(),
            },
        ),
        // The edit may have been applied: the mirror decides.
        (
            json!({ "status": "merged" }),
            EditAnswer::Refused {
                reason: "the client answered with the unknown status `merged`".into(),
            },
        ),
        (
            json!({ "status": "applied", "version": "five" }),
            EditAnswer::Claimed,
        ),
    ] {
        let task = story.spawn(|host| async move { host.apply(edit(false)).await });
        let request = story.asked("interline/edit/apply");
        assert_eq!(request["params"]["undoBreak"], true);
        assert_eq!(request["params"]["version"], 3);
        story.reply(&request, result);
        assert_eq!(story.finish(task), expected);
    }
}

#[test]
fn a_new_file_needs_a_client_that_announces_create() {
    let story = story(ours(json!({ "version": 1, "edit": true })));
    let task = story.spawn(|host| async move { host.apply(edit(true)).await });
    assert!(matches!(story.finish(task), EditAnswer::Gone { .. }));

    let operations = json!({ "resourceOperations": ["create"] });
    let mut story = self::story(json!({ "workspace": { "workspaceEdit": operations } }));
    let _task = story.spawn(|host| async move { host.apply(edit(true)).await });
    let request = story.asked("workspace/applyEdit");
    let first = &request["params"]["edit"]["documentChanges"][0];
    assert_eq!(first["kind"], "create");
    assert_eq!(first["options"]["overwrite"], false);
}

/// A42.
#[test]
fn inv_8_an_approval_counts_only_with_its_hash_and_an_offered_choice() {
    let hash = approval().hash;
    for (result, choice) in [
        (
            json!({ "choice": "allowSession", "hash": hash }),
            ChoiceKind::AllowSession,
        ),
        (
            json!({ "choice": "allowOnce", "hash": hash }),
            ChoiceKind::AllowOnce,
        ),
        (
            json!({ "choice": "allow", "hash": "0000" }),
            ChoiceKind::RejectOnce,
        ),
        (json!({ "choice": "allow" }), ChoiceKind::RejectOnce),
        (
            json!({ "choice": "always", "hash": hash }),
            ChoiceKind::RejectOnce,
        ),
        (json!(null), ChoiceKind::RejectOnce),
    ] {
        let mut story = story(ours(json!({ "version": 1, "approvals": true })));
        let task = story.approving();
        let request = story.asked("interline/approval/request");
        assert_eq!(request["params"]["hash"], json!(hash));
        assert_eq!(request["params"]["subject"]["kind"], "command");
        story.reply(&request, result.clone());
        assert_eq!(story.finish(task).choice, choice, "{result}");
    }
}

#[test]
fn an_approvals_hash_is_of_the_subject_with_sorted_keys() {
    let subject = r#"{"command":"cargo check","cwd":"/w","kind":"command","timeoutMs":1000,"unsaved":["file:///w/a.rs"]}"#;
    let hash = crate::conversation::sha256(subject.as_bytes());
    assert_eq!(approval().hash, hash);
}

#[test]
fn an_error_or_a_closed_client_is_a_rejection() {
    let mut story = story(ours(json!({ "version": 1, "approvals": true })));
    let task = story.approving();
    let request = story.asked("interline/approval/request");
    story.refuse(&request, -32603);
    let answer = story.finish(task);
    assert_eq!(answer.choice, ChoiceKind::RejectOnce);
    assert!(answer.by.starts_with("client error"), "{answer:?}");

    let task = story.approving();
    story.asked("interline/approval/request");
    story.client.close();
    assert_eq!(story.finish(task).by, "client closed");
}

#[test]
fn a_bare_client_is_asked_by_a_message_with_the_exact_content() {
    let mut story = story(json!({}));
    let task = story.approving();
    let request = story.asked("window/showMessageRequest");
    let message = request["params"]["message"].as_str().unwrap();
    assert!(message.contains("$ cargo check\nin /w"), "{message}");
    assert!(message.contains("Unsaved: /w/a.rs"), "{message}");
    let titles: Vec<&Value> = request["params"]["actions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|action| &action["title"])
        .collect();
    assert_eq!(titles, ["Allow", "Allow for this session", "Reject"]);
    story.reply(&request, json!({ "title": "Allow" }));
    let answer = story.finish(task);
    assert_eq!(answer.choice, ChoiceKind::AllowOnce);
    assert_eq!(answer.hash, approval().hash);
}

#[test]
fn a_closed_message_leaves_the_item_for_the_commands() {
    let mut story = story(json!({}));
    let task = story.approving();
    let request = story.asked("window/showMessageRequest");
    story.reply(&request, Value::Null);
    let approvals = story.host.approvals();
    let wrong = approvals.decide(
        Some(&ItemId::from("other")),
        ChoiceKind::AllowOnce,
        Instant::now(),
    );
    assert!(wrong.unwrap_err().hint.contains("item (Run cargo check)"));
    let item = approvals
        .decide(None, ChoiceKind::AllowOnce, Instant::now())
        .unwrap();
    assert_eq!(item.as_str(), "item");
    assert_eq!(story.finish(task).choice, ChoiceKind::AllowOnce);
    let again = story
        .host
        .approvals()
        .decide(None, ChoiceKind::AllowOnce, Instant::now());
    assert!(again.unwrap_err().message.contains("nothing waits"));
}

#[test]
fn commands_are_named_where_messages_cannot_ask() {
    // Helix 25.01.
    let mut story = story(json!({}));
    let task = story.approving();
    let request = story.asked("window/showMessageRequest");
    story.refuse(&request, -32601);
    let shown = story.asked("window/showMessage");
    let text = shown["params"]["message"].as_str().unwrap();
    assert!(text.contains("interline.approve") && text.contains("(item)"));
    story
        .host
        .approvals()
        .decide(None, ChoiceKind::RejectOnce, Instant::now())
        .unwrap();
    assert_eq!(story.finish(task).choice, ChoiceKind::RejectOnce);
}

#[test]
fn the_setting_prevents_messages_to_a_bare_client() {
    let mut story = story(json!({}));
    story.host.set_approvals_via(ApprovalsVia::Command);
    let task = story.approving();
    story.asked("window/showMessage");
    task.abort();
    story
        .client
        .until(|| story.host.approvals().list().is_empty());
    assert_eq!(story.client.leftovers(), Vec::<Value>::new());
}

#[test]
fn the_approval_of_a_cancelled_turn_can_no_longer_be_answered() {
    let mut story = story(json!({}));
    let task = story.approving();
    let request = story.asked("window/showMessageRequest");
    task.abort();
    // The question disappears from the user's screen.
    let cancel = story.asked("$/cancelRequest");
    assert_eq!(cancel["params"]["id"], request["id"]);
    story
        .client
        .until(|| story.host.approvals().list().is_empty());
    let late = story
        .host
        .approvals()
        .decide(None, ChoiceKind::AllowOnce, Instant::now());
    assert!(late.is_err());
}

#[test]
fn an_unnamed_answer_is_refused_right_after_the_pending_approval_changed() {
    let approvals = Approvals::default();
    let first = approvals.wait_for(approval());
    let second = approvals.wait_for(ApprovalRequest {
        item_id: "second".into(),
        title: "Edit b.rs".to_owned(),
        ..approval()
    });
    drop(first);
    let meant_for_the_first = approvals.decide(None, ChoiceKind::AllowOnce, Instant::now());
    let refused = meant_for_the_first.unwrap_err();
    assert!(refused.message.contains("Edit b.rs"), "{refused:?}");
    assert!(refused.hint.contains("\"second\""), "{refused:?}");
    let later = Instant::now() + SETTLE_TIME;
    assert!(approvals.decide(None, ChoiceKind::AllowOnce, later).is_ok());
    drop(second);
}

#[test]
fn with_two_pending_approvals_the_answer_must_name_one() {
    let story = story(json!({}));
    let approvals = Approvals::default();
    let _one = approvals.wait_for(approval());
    let _two = approvals.wait_for(ApprovalRequest {
        item_id: "second".into(),
        title: "Edit b.rs".to_owned(),
        ..approval()
    });
    let failure = approvals
        .decide(None, ChoiceKind::AllowOnce, Instant::now())
        .unwrap_err();
    assert!(failure.hint.contains("second (Edit b.rs)"), "{failure:?}");
    assert!(
        approvals
            .decide(
                Some(&"second".into()),
                ChoiceKind::AllowOnce,
                Instant::now()
            )
            .is_ok()
    );
    drop(story);
}

#[test]
fn saving_reports_every_uri_and_is_impossible_for_a_bare_client() {
    let uris = || vec![Uri::new("file:///w/a"), Uri::new("file:///w/b")];
    let mut rich = story(ours(json!({ "version": 1, "save": true })));
    let task = rich.spawn(|host| async move { host.save(uris(), "why").await });
    let request = rich.asked("interline/workspace/save");
    assert_eq!(request["params"]["reason"], "why");
    let row = json!({ "uri": "file:///w/a", "status": "saved", "version": 2 });
    rich.reply(&request, json!({ "results": [row] }));
    let rows = rich.finish(task).unwrap();
    assert!(rows[0].saved && rows[0].reason.is_none());
    assert!(!rows[1].saved && rows[1].reason.is_some());

    let bare = story(json!({}));
    let task = bare.spawn(|host| async move { host.save(uris(), "why").await });
    assert_eq!(bare.finish(task), None);
}

fn envelope(seq: u64, body: EnvelopeBody) -> Arc<Envelope> {
    Arc::new(Envelope {
        session_id: "ses".into(),
        turn_id: "turn".into(),
        seq,
        body,
    })
}

fn turn(uri: &str) -> Vec<Arc<Envelope>> {
    let text = Event::Text {
        item_id: "item".into(),
        text: "Done.".to_owned(),
        reply_to: None,
        signal: None,
    };
    let files = vec![FileChange {
        uri: uri.to_owned(),
        added: 2,
        removed: 1,
        created: false,
        deleted: false,
    }];
    vec![
        envelope(
            1,
            EnvelopeBody::Started {
                origin: Origin::Command,
                input: Vec::new(),
                parent: None,
            },
        ),
        envelope(2, EnvelopeBody::Event { event: text }),
        envelope(
            3,
            EnvelopeBody::Ended {
                stop_reason: TurnStop::EndTurn,
                error: None,
                usage: Spent::default(),
                files,
            },
        ),
    ]
}

#[test]
fn a_client_with_events_gets_started_event_and_ended_in_order() {
    let mut story = story(ours(json!({ "version": 1, "events": true })));
    for envelope in turn("file:///w/a.rs") {
        story.host.notify(envelope);
    }
    for (method, seq) in [("started", 1), ("event", 2), ("ended", 3)] {
        let message = story.client.next();
        assert_eq!(message["method"], format!("interline/turn/{method}"));
        assert_eq!(message["params"]["seq"], seq);
        assert_eq!(message["params"]["sessionId"], "ses");
        assert_eq!(message["params"]["turnId"], "turn");
    }
}

#[test]
fn a_bare_client_sees_progress_with_cancel_and_one_closing_message() {
    let mut story = story(json!({ "window": { "workDoneProgress": true } }));
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.rs");
    std::fs::write(&path, "old").unwrap();
    let uri = Uri::from_path(&path);
    story.workspace.did_open(uri.clone(), "rust", 1, "new");
    let mut turn = turn(uri.as_str()).into_iter();
    let _runtime = story.client.runtime.enter();
    story.host.notify(turn.next().unwrap());
    let create = story
        .client
        .find(|m| m["method"] == "window/workDoneProgress/create");
    let token = create["params"]["token"].clone();
    assert!(story.host.turns().turn_of_token(&token).is_some());
    let id = &create["id"];
    story
        .client
        .send(&json!({ "jsonrpc": "2.0", "id": id, "result": null }));
    let begin = story.client.find(|m| m["method"] == "$/progress");
    assert_eq!(begin["params"]["value"]["cancellable"], true);
    turn.for_each(|envelope| story.host.notify(envelope));
    let shown = story.client.find(|m| m["method"] == "window/showMessage");
    let text = shown["params"]["message"].as_str().unwrap();
    let place = path.display();
    assert_eq!(
        text,
        format!("Done. \nChanged: {place} (+2 −1) \nUnsaved: {place}")
    );
    story
        .client
        .find(|m| m["method"] == "$/progress" && m["params"]["value"]["kind"] == "end");
    assert!(story.host.turns().turn_of_token(&token).is_none());
}

#[test]
fn no_method_of_ours_is_sent_to_a_bare_client() {
    let mut story = story(json!({}));
    let _runtime = story.client.runtime.enter();
    for envelope in turn("file:///w/a.rs") {
        story.host.notify(envelope);
    }
    story.host.status_changed();
    story.host.message("hello");
    let closing = story.client.find(|m| {
        let text = m["params"]["message"].as_str();
        text.is_some_and(|text| text.starts_with("Done."))
    });
    assert_eq!(closing["method"], "window/showMessage");
    for message in story.client.leftovers() {
        assert!(
            !message["method"]
                .as_str()
                .unwrap()
                .starts_with("interline/")
        );
    }
}
