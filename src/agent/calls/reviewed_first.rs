//! The approval of a call whose change the user reviews before it is applied: beside the approval,
//! which decides about all places, each place can be kept, rejected or amended on its own.

use std::sync::Arc;

use super::approval::Verdict;
use super::proposals::Ticket;
use super::{ShownCall, consent, tool_context};
use crate::agent::TurnEnv;
use crate::agent::request::attachments::shown_path;
use crate::conversation::entry::{Reviewed, Verdict as Decided};
use crate::conversation::{Entry, Event, ItemId};
use crate::edit::Plan;
use crate::edit::proposal::{Choice, Proposed, chosen};
use crate::policy::Reason;
use crate::prompt::fence;
use crate::tools::{Prepared, ProposedFile, messages};

/// Most places that are named; the rest is counted.
const PLACES: usize = 20;

/// Asks about the call. Returns the call as the user wants it, and what the model reads about the
/// decisions; without a change to review, nothing.
pub(super) async fn ask(
    cx: &Arc<TurnEnv>,
    shown: &mut ShownCall<'_>,
    mut prepared: Prepared,
    (reason, remember): (Reason, bool),
) -> (Verdict, Prepared, String) {
    let Some(reviewable) = prepared.reviewable.take() else {
        let verdict = consent(cx, shown, &prepared, reason, remember).await;
        return (verdict, prepared, String::new());
    };
    let (item, uris) = (shown.call.item.clone(), uris(&reviewable.files));
    cx.recorder.record(Entry::Proposed {
        item: item.clone(),
        call: shown.call.id.clone(),
    });
    let ticket = cx
        .proposals()
        .wait_for(item.clone(), cx.turn.clone(), &reviewable);
    cx.host.proposals_changed(uris.clone());
    let verdict = tokio::select! {
        verdict = consent(cx, shown, &prepared, reason, remember) => verdict,
        () = ticket.decided() => by_place(cx, &item, &ticket),
    };
    let rest = match &verdict {
        Verdict::Run => Choice::Keep,
        // What was kept before stays kept.
        Verdict::Refused(_) if ticket.has_kept() => Choice::Reject,
        _ => {
            drop(ticket);
            cx.host.proposals_changed(uris);
            return (verdict, prepared, String::new());
        }
    };
    let files = reviewable.files.clone();
    let choices = ticket.finish(&rest);
    cx.host.proposals_changed(uris);
    let decisions = || files.iter().zip(&choices);
    let note = note(cx, decisions());
    record(cx, &item, decisions());
    let plans = decisions().map(|(file, choices)| {
        let of_file: Vec<Choice> = choices.iter().map(|(_, choice)| choice.clone()).collect();
        chosen(&file.plan, &of_file)
    });
    let plans: Vec<Plan> = plans.collect();
    let context = tool_context(cx, &item, cx.policy());
    let mut revised = reviewable.revise(&context, plans);
    revised.title = prepared.title;
    (Verdict::Run, revised, note)
}

fn uris(files: &[ProposedFile]) -> Vec<String> {
    files.iter().map(|it| it.located.uri.to_string()).collect()
}

/// Every place was decided on its own.
fn by_place(cx: &TurnEnv, item: &ItemId, ticket: &Ticket) -> Verdict {
    let kept = ticket.has_kept();
    cx.sink.emit(Event::ApprovalResolved {
        item_id: item.clone(),
        by: "review".to_owned(),
        choice: match kept {
            true => "allowOnce",
            false => "rejectOnce",
        }
        .to_owned(),
    });
    match kept {
        true => Verdict::Run,
        false => Verdict::Refused(messages::rejected(&cx.shared.texts, "user", None)),
    }
}

type OfFile<'a> = (&'a ProposedFile, &'a Vec<(Proposed, Choice)>);

fn line(file: &ProposedFile, place: &Proposed) -> usize {
    file.plan.base.byte_to_line(place.range.start) + 1
}

/// What was kept, amended and rejected, for the model.
fn note<'a>(cx: &TurnEnv, decisions: impl Iterator<Item = OfFile<'a>> + Clone) -> String {
    let places = |wanted: fn(&Choice) -> bool| {
        let mut names = Vec::new();
        for (file, choices) in decisions.clone() {
            let uri = file.located.uri.as_str();
            let path = fence::name(&shown_path(&cx.shared.workspace, uri, &cx.cwd));
            let of_file = choices.iter().filter(|(_, choice)| wanted(choice));
            names.extend(of_file.map(|(place, _)| format!("{path}:{}", line(file, place))));
        }
        let more = names.len().saturating_sub(PLACES);
        names.truncate(PLACES);
        if more > 0 {
            names.push(format!("+{more}"));
        }
        names.join(", ")
    };
    let kept = places(|it| *it == Choice::Keep);
    let amended = places(|it| matches!(it, Choice::Amend(_)));
    let rejected = places(|it| *it == Choice::Reject);
    let said = [
        cx.text("results/proposal-kept.md", &[("places", &kept)]),
        cx.text("results/proposal-amended.md", &[("places", &amended)]),
        cx.text("results/proposal-rejected.md", &[("places", &rejected)]),
    ];
    let all = said.into_iter().zip([kept, amended, rejected]);
    let said = all.filter_map(|(text, places)| (!places.is_empty()).then_some(text));
    said.collect::<Vec<_>>().join("\n")
}

/// The changes of the call are decided: a review afterwards does not ask again.
fn record<'a>(cx: &TurnEnv, item: &ItemId, decisions: impl Iterator<Item = OfFile<'a>>) {
    let decided = decisions.filter_map(|(file, choices)| {
        let mut kept = choices.iter().filter(|(_, it)| *it != Choice::Reject);
        let (place, _) = kept.next()?;
        Some(Reviewed {
            uri: file.located.uri.to_string(),
            hunks: vec![Reviewed::of_call(item)],
            line: line(file, place),
            verdict: Decided::Kept,
        })
    });
    cx.recorder.record(Entry::Review {
        item: ItemId(cx.shared.env.id("review")),
        decided: decided.collect(),
    });
}
