use super::*;
use crate::knowledge::hooks::testing::hook;

fn ended(end: End, stdout: &str, stderr: &str) -> Result<Ended, Error> {
    Ok(Ended {
        end,
        stdout: stdout.to_owned(),
        stderr: stderr.to_owned(),
    })
}

fn said(event: Event, stdout: &str) -> Outcome {
    of(&hook(event), ended(End::Exited(0), stdout, ""))
}

#[test]
fn exit_code_2_refuses_with_the_errors_where_something_can_be_refused() {
    for event in Event::ALL {
        let out = of(&hook(event), ended(End::Exited(2), "out", " why \n"));
        let none = [Event::SessionStart, Event::SessionEnd, Event::Notification];
        match none.contains(&event) {
            true => assert!(
                out.refused.is_empty() && out.notices.len() == 1,
                "{event:?}"
            ),
            false => assert_eq!(out.refused, ["why"], "{event:?}"),
        }
    }
    let silent = of(&hook(Event::Stop), ended(End::Exited(2), "", ""));
    assert_eq!(silent.refused, ["It gave no reason."]);
}

#[test]
fn other_failures_are_notices() {
    let failures = [
        ended(End::Exited(1), "MARK", "why"),
        ended(End::Signalled(9), "MARK", ""),
        ended(End::TimedOut, "MARK", ""),
        ended(End::Exited(0), "{MARK", ""),
        Err(Error::other("no")),
    ];
    for failure in failures {
        let out = of(&hook(Event::UserPromptSubmit), failure);
        assert_eq!(out.notices.len(), 1);
        assert_eq!(
            Outcome {
                notices: Vec::new(),
                ..out
            },
            Outcome::default()
        );
    }
    let cancelled = of(&hook(Event::Stop), ended(End::Cancelled, "x", "y"));
    assert_eq!(cancelled, Outcome::default());
}

#[test]
fn plain_output_is_context_of_prompts_and_starts_only() {
    for event in Event::ALL {
        let counts = matches!(event, Event::UserPromptSubmit | Event::SessionStart);
        assert_eq!(
            said(event, " words \n").context.len(),
            usize::from(counts),
            "{event:?}"
        );
    }
    let long = said(Event::SessionStart, &"ä".repeat(9_000));
    assert!(long.context[0].len() < 10_020 && long.context[0].ends_with("[…]"));
}

#[test]
fn json_narrows_and_never_widens() {
    let deny =
        r#"{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"no"}}"#;
    assert_eq!(said(Event::PreToolUse, deny).refused, ["no"]);
    let ask = r#"{"hookSpecificOutput":{"permissionDecision":"ask"}}"#;
    assert!(said(Event::PreToolUse, ask).asks && !said(Event::Stop, ask).asks);
    let allow = r#"{"decision":"approve","hookSpecificOutput":{"permissionDecision":"allow","updatedInput":{}}}"#;
    let out = said(Event::PreToolUse, allow);
    assert_eq!(
        (out.notices.len(), out.refused.len(), out.asks),
        (3, 0, false)
    );
    let rest = r#"{"continue":false,"stopReason":"enough","systemMessage":"hi","hookSpecificOutput":{"additionalContext":"c"}}"#;
    let out = said(Event::PostToolUse, rest);
    assert_eq!(out.ends_turn.as_deref(), Some("enough"));
    assert_eq!(
        (out.notices, out.context),
        (vec!["hi".to_owned()], vec!["c".to_owned()])
    );
}
