//! `web_fetch`: a page of the public internet as Markdown.
//!
//! The user is asked for each new site and sees the whole address, since an address can carry
//! out what was read (A34). Where connections may lead is decided in `http::guard` (A33).

mod page;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use super::{Prepared, Targets, Tool, ToolContext, ToolError, ToolOutput, schema, words};
use crate::conversation::Tier;
use crate::env::Env;
use crate::host::Subject;
use crate::http::get::{self, Page};
use crate::http::guard::{Blocked, Guard, PROXIES};
use crate::http::{self};
use crate::policy::{Fact, paths};
use crate::process::output::Capture;
use crate::secrets::Detector;

/// Bytes of a page for the model.
const KEEP: usize = 30 * 1024;

/// Bytes of what a server says with an error.
const KEEP_ERROR: usize = 4 * 1024;

/// Bytes of an address; longer ones carry data.
const ADDRESS: usize = 2048;

pub struct WebFetch;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    url: String,
}

struct Fetch {
    url: Url,
    guard: Guard,
    secret: bool,
}

#[async_trait]
impl Tool for WebFetch {
    fn name(&self) -> &'static str {
        "web_fetch"
    }

    fn schema(&self) -> Value {
        schema::object(
            json!({
                "url": {"type": "string", "description": "A whole http or https address"},
            }),
            &["url"],
        )
    }

    fn tier(&self) -> Tier {
        Tier::Sandbox
    }

    fn targets(&self, _cx: &ToolContext, _arguments: &Value) -> Targets {
        Targets::default()
    }

    async fn prepare(
        &self,
        cx: &ToolContext,
        arguments: Value,
    ) -> Result<Box<dyn Prepared>, ToolError> {
        let Arguments { url: given } = schema::check(cx, "web_fetch", arguments)?;
        let wrong = |problem: &str| {
            let shown = &given[..given.floor_char_boundary(200)];
            words::for_model(
                cx,
                "results/fetch-address.md",
                &[("url", shown), ("problem", problem)],
            )
        };
        if given.len() > ADDRESS {
            return Err(wrong(&format!("it is longer than {ADDRESS} bytes")));
        }
        if given.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err(wrong("it has blanks or control characters"));
        }
        let mut url = Url::parse(&given).map_err(|error| wrong(&error.to_string()))?;
        url.set_fragment(None);
        let guard = guard(cx);
        match guard.judge(&url) {
            Ok(()) => {}
            Err(blocked @ Blocked::Private(_)) => return Err(private(cx, &url, &blocked)),
            Err(blocked) => return Err(wrong(&blocked.to_string())),
        }
        let secret = carries_secret(&cx.env, &url);
        Ok(Box::new(Fetch { url, guard, secret }))
    }
}

fn guard(cx: &ToolContext) -> Guard {
    let vars = cx.env.vars();
    let proxies = PROXIES.iter().filter_map(|name| vars.get(*name));
    Guard::new(
        cx.config.fetch.local.iter().map(String::as_str),
        proxies.map(String::as_str),
    )
}

/// As it is written, and as it reads without percent signs.
fn carries_secret(env: &Env, url: &Url) -> bool {
    let detector = Detector::new(env.vars());
    let decoded: Vec<String> = url
        .query_pairs()
        .flat_map(|(name, value)| [format!("{name}={value}"), value.into_owned()])
        .collect();
    let path = url.path_segments().into_iter().flatten();
    path.map(str::to_owned)
        .chain(decoded)
        .any(|part| detector.find(&part).is_some())
}

fn private(cx: &ToolContext, url: &Url, blocked: &Blocked) -> ToolError {
    let problem = blocked.to_string();
    words::for_model(
        cx,
        "results/fetch-private.md",
        &[("url", url.as_str()), ("problem", &problem)],
    )
}

#[async_trait]
impl Prepared for Fetch {
    fn title(&self) -> String {
        format!("Fetch {}", self.url)
    }

    fn facts(&self) -> Vec<Fact> {
        vec![Fact::Fetch {
            origin: http::origin(&self.url),
            secret: self.secret,
        }]
    }

    fn subject(&self) -> Option<Subject> {
        Some(Subject::Fetch {
            url: self.url.to_string(),
        })
    }

    async fn run(self: Box<Self>, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let page = tokio::select! {
            page = get::get(&self.url, &self.guard) => page,
            () = cx.cancel.cancelled() => return Err(ToolError::Cancelled),
        };
        match page {
            Ok(page) => told(cx, page).await,
            Err(error) => Err(self.failed(cx, &error)),
        }
    }
}

impl Fetch {
    fn failed(&self, cx: &ToolContext, error: &get::Error) -> ToolError {
        let url = self.url.as_str();
        match error {
            get::Error::Blocked(blocked) => private(cx, &self.url, blocked),
            get::Error::Elsewhere(next) => words::for_model(
                cx,
                "results/fetch-elsewhere.md",
                &[("url", url), ("next", next.as_str())],
            ),
            get::Error::Redirects | get::Error::Time => words::for_model(
                cx,
                "results/fetch-failed.md",
                &[("url", url), ("problem", &error.to_string())],
            ),
            get::Error::Failed(failure) => ToolError::Broken {
                words: cx.texts.render(
                    "results/fetch-failed.md",
                    &[("url", url), ("problem", &failure.message)],
                ),
                reason: failure.message.clone(),
            },
        }
    }
}

/// Control characters say nothing on a page: they are only there to steer who shows it.
fn without_controls(text: &str) -> String {
    text.replace(|c: char| c.is_control() && !matches!(c, '\n' | '\t'), "")
}

async fn told(cx: &ToolContext, page: Page) -> Result<ToolOutput, ToolError> {
    let Page {
        url,
        status,
        content_type,
        bytes,
        truncated: cut,
    } = page;
    let (size, kind, address) = (bytes.len().to_string(), content_type.clone(), url.clone());
    let failed = !(200..300).contains(&status);
    let folder = cx.env.dirs.state.join(paths::OUTPUT);
    let keep = if failed { KEEP_ERROR } else { KEEP };
    let read = tokio::task::spawn_blocking(move || {
        let text = page::text(&content_type, &bytes, &url)?;
        let mut capture = Capture::new(keep, &folder);
        capture.push(&without_controls(text.text.trim()));
        Some((
            without_controls(&text.title),
            text.incomplete,
            capture.finish(),
        ))
    });
    // A converter that gives up on a page is no reason to give up the turn.
    let Some((title, incomplete, kept)) = read.await.ok().flatten() else {
        return Err(words::for_model(
            cx,
            "results/fetch-not-text.md",
            &[("url", address.as_str()), ("type", &kind), ("bytes", &size)],
        ));
    };
    let mut text = match failed {
        true => cx.texts.render(
            "results/fetch-status.md",
            &[("url", address.as_str()), ("status", &status.to_string())],
        ),
        false => cx
            .texts
            .render("results/fetch-page.md", &[("url", address.as_str())]),
    };
    text.push_str("\n\n");
    if !title.is_empty() {
        text.push_str(&format!("# {title}\n\n"));
    }
    text.push_str(&words::head_and_tail(
        cx,
        &kept.text,
        kept.cut,
        kept.omitted,
        kept.spilled.as_deref(),
    ));
    if cut || incomplete {
        text.push_str("\n\n");
        text.push_str(&cx.texts.render("results/fetch-incomplete.md", &[]));
    }
    Ok(ToolOutput {
        text,
        is_error: failed,
        truncated: cut || incomplete || kept.omitted > 0,
        ..ToolOutput::default()
    })
}

#[cfg(test)]
mod tests;
