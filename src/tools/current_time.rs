//! `current_time`: the clock, to the second. The prompt names the date only, because a time in
//! it would change its bytes with every request.

use async_trait::async_trait;
use jiff::Zoned;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Prepared, Targets, Tool, ToolContext, ToolError, ToolOutput, schema};
use crate::conversation::Tier;
use crate::host::Subject;
use crate::policy::Fact;

pub struct CurrentTime;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {}

#[async_trait]
impl Tool for CurrentTime {
    fn name(&self) -> &'static str {
        "current_time"
    }

    fn schema(&self) -> Value {
        schema::object(json!({}), &[])
    }

    fn tier(&self) -> Tier {
        Tier::Middleware
    }

    fn targets(&self, _cx: &ToolContext, _arguments: &Value) -> Targets {
        Targets::default()
    }

    async fn prepare(
        &self,
        cx: &ToolContext,
        arguments: Value,
    ) -> Result<Box<dyn Prepared>, ToolError> {
        let _: Arguments = schema::check(cx, "current_time", arguments)?;
        Ok(Box::new(Clock))
    }
}

struct Clock;

#[async_trait]
impl Prepared for Clock {
    fn title(&self) -> String {
        "Look at the clock".to_owned()
    }

    fn facts(&self) -> Vec<Fact> {
        Vec::new()
    }

    fn subject(&self) -> Option<Subject> {
        None
    }

    async fn run(self: Box<Self>, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let now = cx.env.now();
        let wanted = cx.config.prompt.timezone.as_deref();
        let Some(name) = wanted else {
            return Ok(ToolOutput::text(told(cx, &now)));
        };
        let text = match jiff::tz::TimeZone::get(name) {
            Ok(zone) => told(cx, &now.with_time_zone(zone)),
            Err(_) => {
                let note = cx
                    .texts
                    .render("results/time-zone-unknown.md", &[("zone", name)]);
                format!("{}\n{note}", told(cx, &now))
            }
        };
        Ok(ToolOutput::text(text))
    }
}

/// Offset and zone both: the zone's rules tell what tomorrow's offset is.
fn told(cx: &ToolContext, now: &Zoned) -> String {
    cx.texts.render(
        "results/current-time.md",
        &[
            ("weekday", &now.strftime("%A").to_string()),
            ("time", &now.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()),
            ("zone", &now.strftime("%:Q").to_string()),
        ],
    )
}
