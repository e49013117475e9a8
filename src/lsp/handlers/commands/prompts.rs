//! `interline.ask`, `interline.explain`, `interline.fix` and `interline.doComment`, and how a command
//! starts a turn.

use std::sync::Arc;

use serde_json::{Value, json};

use super::sessions;
use crate::conversation::event::Origin;
use crate::conversation::{
    EditorContext, EditorView, Failure, Input, SessionId, WirePosition, WireRange,
};
use crate::lsp::bare::comments::{self, Comment};
use crate::lsp::door::Door;
use crate::lsp::handlers::arguments::Args;
use crate::prompt::{Texts, fence};
use crate::session::{StartTurn, WhenBusy};
use crate::workspace::diagnostics::Reported;
use crate::workspace::{Range, Uri};

pub async fn ask(door: Arc<Door>, mut args: Args) -> Result<Value, Failure> {
    let text = args.text.take().filter(|text| !text.trim().is_empty());
    let text = text.ok_or_else(|| args.wrong("it needs a text"))?;
    start(&door, args, text, Origin::Command).await
}

pub async fn explain(door: Arc<Door>, args: Args) -> Result<Value, Failure> {
    let args = args.here(&door)?;
    args.place()?;
    let text = texts(&door).render("commands/explain.md", &[]);
    start(&door, args, text, Origin::Command).await
}

pub async fn fix(door: Arc<Door>, args: Args) -> Result<Value, Failure> {
    let args = args.here(&door)?;
    let (uri, range) = args.place()?;
    let reported = match &args.diagnostics {
        Some(given) => given.clone(),
        None => reported(&door, &uri, range),
    };
    if reported.is_empty() {
        return Err(args.wrong("nothing is reported at that place"));
    }
    let rows: Vec<String> = reported.iter().map(row).collect();
    let text = texts(&door).render(
        "commands/fix.md",
        &[("diagnostics", &fence::block(&rows.join("\n")))],
    );
    start(&door, args, text, Origin::Command).await
}

/// `interline.doComment`: the comment at the cursor is the prompt.
pub async fn do_comment(door: Arc<Door>, mut args: Args) -> Result<Value, Failure> {
    let (uri, range) = args.place()?;
    let uri = Uri::new(uri);
    if door.workspace.document(&uri).is_none() {
        return Err(args.wrong("the document is not open"));
    }
    let comment = comment_at(&door, &uri, range)
        .ok_or_else(|| args.wrong("there is no comment at that place"))?;
    let text = texts(&door).render(
        "commands/do-comment.md",
        &[("comment", &fence::prose(&comment.text))],
    );
    // Complete lines: the comment and what it is about.
    let line = |line| WirePosition { line, character: 0 };
    args.range = Some(WireRange {
        start: line(comment.first),
        end: line(comment.last.saturating_add(1)),
    });
    start(&door, args, text, Origin::Comment).await
}

/// The comment at a place of an open document.
pub fn comment_at(door: &Door, uri: &Uri, range: WireRange) -> Option<Comment> {
    let document = door.workspace.document(uri).filter(|it| it.opened)?;
    let path = uri.path().unwrap_or_default();
    let suffix = path.extension().or_else(|| path.file_name());
    let suffix = suffix.unwrap_or_default().to_string_lossy();
    comments::at(&document.rope, &document.language, &suffix, range)
}

fn texts(door: &Door) -> Texts {
    Texts::load(Some(&door.env.dirs.config.join("prompts")))
}

/// The diagnostics that a plugin reported for the range's lines.
fn reported(door: &Door, uri: &str, range: WireRange) -> Vec<Value> {
    let all = door.diagnostics();
    let Some(known) = all.get(&Uri::new(uri).key()) else {
        return Vec::new();
    };
    let overlaps = |diagnostic: &&Value| {
        let line = |end: &str| diagnostic["range"][end]["line"].as_u64();
        line("start").is_some_and(|line| line <= u64::from(range.end.line))
            && line("end").is_some_and(|line| line >= u64::from(range.start.line))
    };
    known.diagnostics.iter().filter(overlaps).cloned().collect()
}

/// One diagnostic as a line of text, with its 1-based line number.
fn row(diagnostic: &Value) -> String {
    let it = Reported::read(diagnostic);
    let line = it.line.saturating_add(1);
    format!(
        "- line {line}: {}: {}",
        it.severity,
        it.message.replace('\n', " ")
    )
}

async fn start(
    door: &Arc<Door>,
    mut args: Args,
    text: String,
    origin: Origin,
) -> Result<Value, Failure> {
    let uri = args.uri.as_deref().map(Uri::new);
    if let Some((_, id)) = uri.and_then(|uri| door.host().ok()?.transcripts().document(&uri)) {
        // A transcript selects its session and is never context.
        let id = sessions::reopened(door, id).await?;
        (args.uri, args.session_id) = (None, args.session_id.or(Some(id)));
    }
    let session_id = match args.session_id {
        Some(id) => id,
        None => sessions::current(door, args.uri.as_deref()).await?,
    };
    let mut input = vec![Input::Text { text }];
    let mut context = None;
    if let Some(uri) = args.uri {
        let version = door
            .workspace
            .document(&Uri::new(uri.as_str()))
            .map(|document| document.version);
        // A plugin that sends the context knows more than one place tells.
        if !door.client()?.offer.context {
            context = Some(view(&uri, version, args.range));
        }
        let range = args.range.filter(|range| range.start != range.end);
        if range.is_some() {
            input.push(Input::Resource {
                uri,
                range,
                version,
                text: None,
                label: None,
            });
        }
    }
    begin(door, session_id, input, context, origin).await
}

/// Starts a turn, or queues it behind the running one.
pub async fn begin(
    door: &Door,
    session_id: SessionId,
    input: Vec<Input>,
    context: Option<EditorContext>,
    origin: Origin,
) -> Result<Value, Failure> {
    let turn = StartTurn {
        context,
        when_busy: WhenBusy::Queue,
        origin: Some(origin),
        ..StartTurn::new(session_id.clone(), input)
    };
    let started = door.sessions()?.start_turn(turn).await?;
    Ok(json!({
        "sessionId": session_id,
        "turnId": started.turn_id,
        "state": started.state,
    }))
}

fn view(uri: &str, version: Option<i32>, range: Option<Range>) -> EditorContext {
    EditorContext {
        editors: vec![EditorView {
            uri: uri.to_owned(),
            version,
            active: true,
            selections: range.into_iter().collect(),
            visible_range: None,
        }],
        ..EditorContext::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diagnostic_is_shown_with_its_one_based_line() {
        let diagnostic = json!({
            "range": { "start": { "line": 3, "character": 0 }, "end": { "line": 3, "character": 5 } },
            "severity": 2,
            "message": "unused\nvariable",
        });
        assert_eq!(row(&diagnostic), "- line 4: warning: unused variable");
    }
}
