//! Reasoning that its model can no longer read: after one rejected request, no later one, of this
//! process or the next, sends it again.

use super::stage::Stage;
use crate::conversation::{Entry, Input, SessionId, TurnStop};

async fn turn(stage: &mut Stage, id: &SessionId, text: &str) -> Vec<String> {
    let text = text.to_owned();
    let input = [Input::Text { text }];
    let shown = stage.preview(id, &input).await.request.body;
    assert_eq!(stage.turn(id, &input).await, TurnStop::EndTurn);
    let bodies = stage.model.taken().into_iter();
    let bodies: Vec<String> = bodies.map(|it| String::from_utf8(it).unwrap()).collect();
    assert_eq!(bodies[0], shown, "a turn sends what the preview shows");
    bodies
}

fn signatures(body: &str) -> usize {
    body.matches("\"signature\":\"signed-").count()
}

/// The text before the last breakpoint, without the marks of breakpoints.
fn fixed(body: &str) -> String {
    let marker = crate::provider::anthropic::body::MARKER;
    let end = body.rfind(marker).unwrap();
    body[..end].replace(marker, "")
}

fn extends(later: &str, earlier: &str) -> bool {
    let marker = crate::provider::anthropic::body::MARKER;
    later.replace(marker, "").starts_with(&fixed(earlier))
}

/// P33, INV-5: rejected once, then left out at once, also after a restart; later reasoning is sent,
/// and sent bytes stay the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rejected_reasoning_is_left_out_at_once_from_then_on_p33() {
    let mut stage = Stage::new().await;
    stage.put(&stage.repo("a.rs"), Some("fn a() {}\n"));
    let id = stage.session("default").await;
    for model in ["anthropic/claude-opus-5", "anthropic/claude-opus-5-5"] {
        stage.choose(&id, model).await;
        turn(&mut stage, &id, "go").await;
        turn(&mut stage, &id, "go").await;
        stage.model.forget();
        let bodies = turn(&mut stage, &id, "use read {\"path\":\"a.rs\"}").await;
        let counts: Vec<usize> = bodies.iter().map(|body| signatures(body)).collect();
        assert_eq!(counts, [2, 0, 1], "{model}: refused, sent without, gone on");
        assert!(extends(&bodies[2], &bodies[1]), "{model}");
        let next = turn(&mut stage, &id, "go").await;
        assert_eq!(next.len(), 1, "{model}: refused again");
        assert!(extends(&next[0], &bodies[2]) && signatures(&next[0]) == 2);
        stage.restart(&id).await;
        let after = turn(&mut stage, &id, "go").await;
        assert_eq!(after.len(), 1, "{model}: refused after a restart");
        assert!(extends(&after[0], &next[0]) && signatures(&after[0]) == 3);
    }
    let is_notice =
        |entry: &Entry| matches!(entry, Entry::Journal { about, .. } if about == "reasoning");
    let (_, entries) = stage.log(&id);
    assert_eq!(entries.iter().filter(|it| is_notice(it)).count(), 2);
}
