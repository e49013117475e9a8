//! `current_time`: the time, to the second. The prompt contains only the date, because a time would
//! change it with every request.

use async_trait::async_trait;
use futures_util::FutureExt as _;
use jiff::Zoned;

use super::{BuiltIn, Preparation, Prepared, ToolContext, ToolOutput, ToolSpec, schema};
use crate::conversation::Tier;

pub struct CurrentTime;

#[async_trait]
impl BuiltIn for CurrentTime {
    const NAME: &'static str = "current_time";
    const SPEC: ToolSpec = ToolSpec::new(Tier::Middleware);
    type Arguments = schema::NoArguments;

    async fn prepare(&self, _cx: &ToolContext, _arguments: schema::NoArguments) -> Preparation {
        Ok(Prepared::new("Check the time", |cx| {
            async { Ok(ToolOutput::text(time_text(cx))) }.boxed()
        }))
    }
}

/// The time in the zone of the settings, or with a note that the zone is unknown.
fn time_text(cx: &ToolContext) -> String {
    let now = cx.env.now();
    let Some(name) = cx.config.prompt.timezone.as_deref() else {
        return format_time(cx, &now);
    };
    match jiff::tz::TimeZone::get(name) {
        Ok(zone) => format_time(cx, &now.with_time_zone(zone)),
        Err(_) => {
            let note = cx.text("results/time-zone-unknown.md", &[("zone", &name)]);
            format!("{}\n{note}", format_time(cx, &now))
        }
    }
}

/// Shows both offset and zone, since tomorrow's offset depends on the zone.
fn format_time(cx: &ToolContext, now: &Zoned) -> String {
    cx.text(
        "results/current-time.md",
        &[
            ("weekday", &now.strftime("%A")),
            ("time", &now.strftime("%Y-%m-%dT%H:%M:%S%:z")),
            ("zone", &now.strftime("%:Q")),
        ],
    )
}
