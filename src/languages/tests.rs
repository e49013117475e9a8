use std::collections::VecDeque;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use serde_json::json;

use super::*;
use crate::conversation::event::Envelope;
use crate::host::{ApprovalAnswer, ApprovalRequest, EditAnswer, EditRequest, Fidelity, NoClient};
use crate::workspace::{Uri, beneath};

/// An editor that answers queries as scripted, and then never.
#[derive(Default)]
struct Editor {
    answers: Mutex<VecDeque<EditorAnswer>>,
    asked: Mutex<Vec<EditorQuery>>,
}

#[async_trait]
impl Host for Editor {
    fn fidelity(&self) -> Fidelity {
        Fidelity::Anchored
    }

    fn encoding(&self) -> Encoding {
        Encoding::Utf16
    }

    fn attaches(&self, _suffix: &str) -> Option<bool> {
        None
    }

    fn apply(&self, edit: EditRequest) -> BoxFuture<'static, EditAnswer> {
        NoClient.apply(edit)
    }

    async fn approve(&self, request: ApprovalRequest) -> ApprovalAnswer {
        NoClient.approve(request).await
    }

    fn notify(&self, _envelope: Arc<Envelope>) {}

    fn message(&self, _text: &str) {}

    fn queries(&self) -> bool {
        true
    }

    async fn query(&self, query: EditorQuery) -> EditorAnswer {
        self.asked.lock().push(query);
        let next = self.answers.lock().pop_front();
        match next {
            Some(answer) => answer,
            None => std::future::pending().await,
        }
    }
}

/// The answer to a hover at the second line of a document.
async fn hover(editor: &Editor, limit: Duration) -> EditorAnswer {
    let workspace = Workspace::new();
    let uri = Uri::new("untitled:a");
    workspace.did_open(uri.clone(), "rust", 7, "é🦀\né🦀x\n");
    let located = beneath::locate(&workspace, Path::new("/"), "untitled:a").unwrap();
    let document = workspace.document(&uri).unwrap();
    let place = document.rope.to_string().find('x').unwrap();
    let dir = tempfile::tempdir().unwrap();
    let now = jiff::Zoned::default();
    let env = Env::fixed(dir.path(), now, BTreeMap::new());
    let asker = Asker {
        host: editor,
        workspace: &workspace,
        env: &env,
        settings: &BTreeMap::new(),
        cwd: dir.path(),
    };
    let question = Question {
        range: Some(place..place + 1),
        ..Question::new(QueryKind::Hover, located, document.rope)
    };
    let languages = Languages::default();
    languages.ask_within(limit, asker, &question).await.answer
}

/// The limit is short here and 12 s in a session.
const SHORT: Duration = Duration::from_millis(200);

#[tokio::test]
async fn an_editor_that_never_answers_is_waited_for_until_the_limit() {
    assert_eq!(LIMIT.as_secs(), 12);
    let answer = hover(&Editor::default(), SHORT).await;
    assert_eq!(answer.status, QueryStatus::Error);
    let said = answer.message.unwrap_or_default();
    assert!(said.starts_with("no answer within"), "{said}");
}

#[tokio::test]
async fn a_server_that_starts_is_asked_again_until_the_limit() {
    let editor = Editor::default();
    let answers = (0..100).map(|_| EditorAnswer::starting(1));
    editor.answers.lock().extend(answers);
    let answer = hover(&editor, SHORT).await;
    assert_eq!(answer.status, QueryStatus::Starting);
    let asked = editor.asked.lock().len();
    assert!((2..=5).contains(&asked), "{asked}");
}

#[tokio::test]
async fn a_question_names_its_place_in_the_clients_encoding_and_the_version() {
    let editor = Editor::default();
    editor
        .answers
        .lock()
        .push_back(EditorAnswer::ok(Vec::new()));
    let answer = hover(&editor, LIMIT).await;
    assert_eq!(answer.status, QueryStatus::Ok);
    let asked = serde_json::to_value(&editor.asked.lock()[0]).unwrap();
    let expected = json!({ "kind": "hover", "uri": "untitled:a", "minVersion": 7,
        "position": { "line": 1, "character": 3 } });
    assert_eq!(asked, expected);
}
