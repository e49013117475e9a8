use ropey::Rope;

use super::OutcomeReport;
use crate::edit::Outcome;
use crate::edit::apply::{Landed, Sent};
use crate::edit::matching::Strategy;
use crate::edit::rebase::Conflict;
use crate::tools::target;
use crate::tools::tests::bench::Bench;
use crate::tools::{ToolError, ToolOutput};
use crate::workspace::{Author, Revision};

async fn reported(bench: &Bench, outcome: Outcome) -> Result<ToolOutput, ToolError> {
    let located = target::locate(&bench.cx, "a.rs").unwrap();
    let telling = OutcomeReport {
        cx: &bench.cx,
        located: &located,
        path: "a.rs".to_owned(),
        create: false,
        strategy: Strategy::Exact,
        lines: vec![2],
    };
    telling.outcome(outcome).await
}

fn landed() -> Landed {
    Landed {
        text: Rope::from_str("one\n2\n"),
        version: Some(2),
        revision: Some(Revision(7)),
        added: 1,
        removed: 1,
        diff: "--- a.rs\n+++ a.rs\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n".to_owned(),
        others: Vec::new(),
        sent: Sent::new(Rope::from_str("one\ntwo\n"), None, Vec::new()).into(),
    }
}

// tidy: long because it is one table of outcomes
#[tokio::test]
async fn inv3_every_outcome_is_reported_truthfully_and_shown_text_counts_as_seen() {
    let now = Rope::from_str("one\nTWO\n");
    for (outcome, error, words, seen) in [
        (
            Outcome::Applied(landed()),
            false,
            "Changed a.rs",
            "one\n2\n",
        ),
        (
            Outcome::Rebased(landed()),
            false,
            "those changes are kept",
            "one\n2\n",
        ),
        (
            Outcome::Held(landed()),
            false,
            "the disk still has the old text",
            "one\n2\n",
        ),
        (
            Outcome::Refused {
                reason: "closed".into(),
            },
            true,
            "Nothing was changed",
            "",
        ),
        (
            Outcome::Diverged { restored: true },
            true,
            "was reverted",
            "on disk\n",
        ),
        (
            Outcome::Diverged { restored: false },
            true,
            "needs the user's review",
            "on disk\n",
        ),
        (Outcome::Unconfirmed, true, "It is not known whether", ""),
        (
            Outcome::Unknown {
                now: now.clone(),
                revision: None,
            },
            true,
            "make the edit only if it is missing",
            "one\nTWO\n",
        ),
        (
            Outcome::Conflict {
                conflict: Conflict::Overlap {
                    hunk: 0,
                    by: Author::Session("s2".into()),
                },
                now: now.clone(),
                revision: None,
            },
            true,
            "Nothing was changed: another agent session changed a.rs in the same place",
            "one\nTWO\n",
        ),
        (
            Outcome::Conflict {
                conflict: Conflict::Busy,
                now: now.clone(),
                revision: None,
            },
            true,
            "the user has been typing in a.rs",
            "one\nTWO\n",
        ),
        (
            Outcome::Blocked {
                reason: "held".into(),
            },
            true,
            "Nothing was changed in a.rs: held",
            "",
        ),
        (
            Outcome::Conflict {
                conflict: Conflict::Forgotten,
                now,
                revision: None,
            },
            true,
            "2\tTWO",
            "one\nTWO\n",
        ),
    ] {
        let bench = Bench::new();
        bench.file("a.rs", "on disk\n");
        let output = reported(&bench, outcome).await.unwrap();
        assert_eq!(output.is_error, error, "{}", output.text);
        assert!(output.text.contains(words), "{}", output.text);
        let key = bench.uri("a.rs").key();
        let text = target::last_seen(&bench.cx, &key).map(|seen| seen.rope.to_string());
        assert_eq!(text.unwrap_or_default(), seen, "{words}");
        assert_eq!(output.files.is_empty(), error, "{words}");
    }
}

#[tokio::test]
async fn inv11_a_cancelled_edit_is_cancelled() {
    let bench = Bench::new();
    let result = reported(&bench, Outcome::Cancelled).await;
    assert!(matches!(result, Err(ToolError::Cancelled)));
}
