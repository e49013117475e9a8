//! `current_time`: the time, to the second. The prompt contains only the date, because a time would
//! change it with every request.

use async_trait::async_trait;
use jiff::Zoned;
use serde_json::{Value, json};

use super::{BuiltIn, Preparation, Prepared, ToolContext, ToolError, ToolOutput, ToolSpec, schema};
use crate::conversation::Tier;
use crate::policy::Fact;

pub struct CurrentTime;

#[async_trait]
impl BuiltIn for CurrentTime {
    const NAME: &'static str = "current_time";
    const SPEC: ToolSpec = ToolSpec::new(Tier::Middleware);
    type Arguments = schema::NoArguments;

    fn schema() -> Value {
        schema::object(json!({}), &[])
    }

    async fn prepare(&self, _cx: &ToolContext, _arguments: schema::NoArguments) -> Preparation {
        Ok(Box::new(Clock))
    }
}

struct Clock;

#[async_trait]
impl Prepared for Clock {
    fn title(&self) -> String {
        "Check the time".to_owned()
    }

    fn facts(&self) -> Vec<Fact> {
        Vec::new()
    }

    async fn run(self: Box<Self>, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let now = cx.env.now();
        let wanted = cx.config.prompt.timezone.as_deref();
        let Some(name) = wanted else {
            return Ok(ToolOutput::text(format_time(cx, &now)));
        };
        let text = match jiff::tz::TimeZone::get(name) {
            Ok(zone) => format_time(cx, &now.with_time_zone(zone)),
            Err(_) => {
                let note = cx.text("results/time-zone-unknown.md", &[("zone", name)]);
                format!("{}\n{note}", format_time(cx, &now))
            }
        };
        Ok(ToolOutput::text(text))
    }
}

/// Shows both offset and zone, since tomorrow's offset depends on the zone.
fn format_time(cx: &ToolContext, now: &Zoned) -> String {
    cx.text(
        "results/current-time.md",
        &[
            ("weekday", &now.strftime("%A").to_string()),
            ("time", &now.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()),
            ("zone", &now.strftime("%:Q").to_string()),
        ],
    )
}
