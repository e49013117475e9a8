//! Date and time zone: volatile, so never in the system text. A tool gives the exact time.

use super::{Builder, Built, Input};
use crate::prompt::fence;
use crate::prompt::types::Trust;

pub(super) const BUILDER: Builder = Builder {
    id: "date",
    title: "Date",
    layer: "runtime",
    params: &[],
    build,
};

fn build(cx: &Input<'_>) -> Vec<Built> {
    let facts = cx.facts;
    if facts.date.is_empty() {
        return vec![Built::absent("clock", Trust::Own, "the date is not known")];
    }
    let zone = if facts.timezone.is_empty() {
        "unknown zone"
    } else {
        &facts.timezone
    };
    let values = [
        ("date", fence::name(&facts.date)),
        ("timezone", fence::name(zone)),
    ];
    let values: Vec<(&str, &str)> = values
        .iter()
        .map(|(key, value)| (*key, value.as_str()))
        .collect();
    let text = cx.texts.render("segments/date.md", &values);
    vec![Built::new(text, "clock", Trust::Own, "always included")]
}
