//! `web_fetch`: a page of the public internet as Markdown.
//!
//! The user is asked for each new site and sees the full address, because an address can leak data
//! (A34). `http::guard` decides where connections may lead (A33).

mod page;

use async_trait::async_trait;
use futures_util::FutureExt as _;
use serde::Deserialize;
use url::Url;

use super::{
    BuiltIn, Preparation, Prepared, ToolContext, ToolError, ToolOutput, ToolResult, ToolSpec,
    messages,
};
use crate::conversation::Tier;
use crate::env::Env;
use crate::env::tasks;
use crate::host::Subject;
use crate::http::get::{self, Page};
use crate::http::guard::{Blocked, Guard};
use crate::http::{self};
use crate::policy::{Fact, paths};
use crate::process::kept_output::Capture;
use crate::secrets::Detector;

/// Bytes of a page for the model.
const KEEP: usize = 30 * 1024;

/// Bytes of an error page for the model.
const KEEP_ERROR: usize = 4 * 1024;

/// Most bytes of an address. Longer ones could smuggle data.
const ADDRESS: usize = 2048;

pub struct WebFetch;

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// A whole http or https address
    url: String,
}

#[async_trait]
impl BuiltIn for WebFetch {
    const NAME: &'static str = "web_fetch";
    const SPEC: ToolSpec = ToolSpec::new(Tier::Sandbox);
    type Arguments = Arguments;

    async fn prepare(&self, cx: &ToolContext, Arguments { url: given }: Arguments) -> Preparation {
        let wrong = |problem: &str| {
            let shown = &given[..given.floor_char_boundary(200)];
            cx.error(
                "results/fetch-address.md",
                &[("url", &shown), ("problem", &problem)],
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
        let local = cx.config.fetch.local.iter().map(String::as_str);
        let guard = Guard::of_user(&cx.env, local);
        match guard.judge(&url) {
            Ok(()) => {}
            Err(blocked @ Blocked::Private(_)) => return Err(private(cx, &url, &blocked)),
            Err(blocked) => return Err(wrong(&blocked.to_string())),
        }
        let secret = carries_secret(&cx.env, &url);
        Ok(Prepared {
            facts: vec![Fact::Fetch {
                origin: http::origin(&url),
                secret,
            }],
            subject: Some(Subject::Fetch {
                url: url.to_string(),
            }),
            ..Prepared::new(format!("Fetch {url}"), |cx| fetch(cx, url, guard).boxed())
        })
    }
}

/// Checks the address as written and percent-decoded.
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
    cx.error(
        "results/fetch-private.md",
        &[("url", url), ("problem", blocked)],
    )
}

async fn fetch(cx: &ToolContext, url: Url, guard: Guard) -> ToolResult {
    let page = tokio::select! {
        page = get::get(&url, &guard) => page,
        () = cx.cancel.cancelled() => return Err(ToolError::Cancelled),
    };
    match page {
        Ok(page) => page_output(cx, page).await,
        Err(error) => Err(failed(cx, &url, &error)),
    }
}

fn failed(cx: &ToolContext, url: &Url, error: &get::Error) -> ToolError {
    let text = |problem: &str| {
        cx.text(
            "results/fetch-failed.md",
            &[("url", url), ("problem", &problem)],
        )
    };
    match error {
        get::Error::Blocked(blocked) => private(cx, url, blocked),
        get::Error::Elsewhere(next) => cx.error(
            "results/fetch-elsewhere.md",
            &[("url", &url.as_str()), ("next", &next.as_str())],
        ),
        get::Error::Redirects | get::Error::Time => ToolError::ForModel(text(&error.to_string())),
        get::Error::Failed(failure) => ToolError::Broken {
            words: text(&failure.message),
            reason: failure.message.clone(),
        },
    }
}

/// Control characters on a page can only serve to manipulate the display.
fn without_controls(text: &str) -> String {
    text.replace(|c: char| c.is_control() && !matches!(c, '\n' | '\t'), "")
}

async fn page_output(cx: &ToolContext, page: Page) -> ToolResult {
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
    let read = tasks::blocking(move || {
        let text = page::text(&content_type, &bytes, &url)?;
        let mut capture = Capture::new(keep, &folder);
        capture.push(&without_controls(text.text.trim()));
        Some((
            without_controls(&text.title),
            text.incomplete,
            capture.finish(),
        ))
    });
    // A converter that panics on a page must not end the turn.
    let Some((title, incomplete, kept)) = read.await.ok().flatten() else {
        return Err(cx.error(
            "results/fetch-not-text.md",
            &[
                ("url", &address.as_str()),
                ("type", &kind),
                ("bytes", &size),
            ],
        ));
    };
    let mut text = match failed {
        true => cx.text(
            "results/fetch-status.md",
            &[("url", &address.as_str()), ("status", &status)],
        ),
        false => cx.text("results/fetch-page.md", &[("url", &address.as_str())]),
    };
    text.push_str("\n\n");
    if !title.is_empty() {
        text.push_str(&format!("# {title}\n\n"));
    }
    text.push_str(&messages::mark_gap(&cx.texts, &kept));
    if cut || incomplete {
        text.push_str("\n\n");
        text.push_str(&cx.text("results/fetch-incomplete.md", &[]));
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
