//! A planned edit as the places that the user decides about before anything is applied. Pure.

use std::ops::Range;

use super::{Hunk, Plan};

/// A place of a planned edit: the hunks on one line, or on lines that touch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposed {
    /// Its bytes in the plan's base.
    pub range: Range<usize>,
    /// The text there.
    pub before: String,
    /// The text that is proposed.
    pub after: String,
    /// Its hunks among those of the plan.
    hunks: Range<usize>,
}

/// What the user decided about a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    Keep,
    Reject,
    /// The user's own text.
    Amend(String),
}

/// The places of `plan`, in the order of the text. They share no line.
pub fn proposed(plan: &Plan) -> Vec<Proposed> {
    let mut groups: Vec<Range<usize>> = Vec::new();
    for (at, hunk) in plan.hunks.iter().enumerate() {
        let joins = groups.last().is_some_and(|group| {
            let between = plan
                .base
                .byte_slice(plan.hunks[group.end - 1].end..hunk.start);
            !between.chars().any(|it| matches!(it, '\n' | '\r'))
        });
        match groups.last_mut().filter(|_| joins) {
            Some(group) => group.end = at + 1,
            None => groups.push(at..at + 1),
        }
    }
    let place = |hunks: Range<usize>| {
        let of_place = &plan.hunks[hunks.clone()];
        let range = of_place[0].start..of_place[of_place.len() - 1].end;
        let mut after = String::new();
        let mut from = range.start;
        for hunk in of_place {
            after.extend(plan.base.byte_slice(from..hunk.start).chunks());
            after.push_str(&hunk.text);
            from = hunk.end;
        }
        Proposed {
            before: plan.base.byte_slice(range.clone()).to_string(),
            range,
            after,
            hunks,
        }
    };
    groups.into_iter().map(place).collect()
}

/// The plan with what was kept and amended. `choices` has one entry for each of [`proposed`].
pub fn chosen(plan: &Plan, choices: &[Choice]) -> Plan {
    let mut hunks = Vec::new();
    for (place, choice) in proposed(plan).into_iter().zip(choices) {
        match choice {
            Choice::Keep => hunks.extend_from_slice(&plan.hunks[place.hunks]),
            Choice::Amend(text) if *text == place.before => {}
            Choice::Amend(text) => hunks.push(Hunk {
                start: place.range.start,
                end: place.range.end,
                text: text.clone(),
            }),
            Choice::Reject => {}
        }
    }
    Plan {
        hunks,
        ..plan.clone()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ropey::Rope;

    use super::*;
    use crate::edit::plan;

    const BASE: &str = "one\ntwo three four\nfive\nsix\n";

    fn planned() -> Plan {
        plan::write(&Rope::from_str(BASE), "one\nTWO three FOUR\nfive\nSIX\n")
    }

    #[test]
    fn hunks_on_one_line_are_one_place() {
        let places = proposed(&planned());
        let shown: Vec<(&str, &str)> = places
            .iter()
            .map(|it| (it.before.as_str(), it.after.as_str()))
            .collect();
        assert_eq!(
            shown,
            [("two three four", "TWO three FOUR"), ("six", "SIX")]
        );
    }

    #[test]
    fn each_place_is_kept_rejected_or_amended_on_its_own() {
        let amend = Choice::Amend("2 three 4".to_owned());
        for (choices, text) in [
            (
                [Choice::Keep, Choice::Reject],
                "one\nTWO three FOUR\nfive\nsix\n",
            ),
            (
                [Choice::Reject, Choice::Keep],
                "one\ntwo three four\nfive\nSIX\n",
            ),
            ([amend, Choice::Keep], "one\n2 three 4\nfive\nSIX\n"),
            ([Choice::Reject, Choice::Amend("six".into())], BASE),
        ] {
            let plan = chosen(&planned(), &choices);
            assert_eq!(plan.result(), text, "{choices:?}");
        }
    }

    proptest! {
        #[test]
        fn all_kept_is_the_plan_and_all_rejected_is_the_base(
            old in "([a-c ]{0,4}\n){0,6}", new in "([a-c ]{0,4}\n){0,6}",
        ) {
            let plan = plan::write(&Rope::from_str(&old), &new);
            let places = proposed(&plan);
            let all = |choice: Choice| vec![choice; places.len()];
            prop_assert_eq!(chosen(&plan, &all(Choice::Keep)).result(), plan.result());
            prop_assert_eq!(chosen(&plan, &all(Choice::Reject)).result(), plan.base.clone());
            let own: Vec<Choice> =
                places.iter().map(|it| Choice::Amend(it.after.clone())).collect();
            prop_assert_eq!(chosen(&plan, &own).result(), plan.result());
        }
    }
}
