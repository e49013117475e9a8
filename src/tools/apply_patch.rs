//! `apply_patch`: changes, creates, moves and deletes files by a patch in the format that GPT
//! models are trained on. Everything is planned before anything is changed.

mod errors;

use async_trait::async_trait;
use ropey::Rope;
use serde::Deserialize;
use serde_json::Value;

use super::change::{self, Base, Change, change_base, several};
use super::target::CurrentText;
use super::{
    BuiltIn, Preparation, Prepared, Targets, ToolContext, ToolError, ToolOutput, ToolSpec, target,
};
use crate::conversation::Tier;
use crate::edit::matching::Strategy;
use crate::edit::v4a::{self, Action, Chunk, Problem, Section};
use crate::edit::{Plan, SeenText, plan};
use crate::host::Access;
use crate::policy::Fact;
use crate::workspace::{FileError, Located, Revision, files};

pub struct ApplyPatch;

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The patch, from `*** Begin Patch` to `*** End Patch`
    input: String,
}

#[async_trait]
impl BuiltIn for ApplyPatch {
    const NAME: &'static str = "apply_patch";
    const SPEC: ToolSpec = ToolSpec::new(Tier::Filesystem).changes().patches();
    type Arguments = Arguments;

    fn targets(cx: &ToolContext, arguments: &Value) -> Targets {
        let sections = v4a::parse(arguments["input"].as_str().unwrap_or_default());
        let sections = sections.unwrap_or_default();
        let paths = sections.iter().flat_map(|section| {
            let to = match &section.action {
                Action::Update { to, .. } => to.as_deref(),
                Action::Add(_) | Action::Delete => None,
            };
            std::iter::once(section.path.as_str()).chain(to)
        });
        Targets::writes(paths.flat_map(|path| target::document_keys(cx, Some(path))))
    }

    async fn prepare(&self, cx: &ToolContext, arguments: Arguments) -> Preparation {
        let sections =
            v4a::parse(&arguments.input).map_err(|error| errors::unreadable(cx, &error))?;
        let files = files(cx, sections)?;
        let title = title(cx, &files);
        let mut planned = Planned::default();
        for file in &files {
            planned.add(cx, file).await?;
        }
        if planned.denied {
            let facts = files
                .iter()
                .flat_map(File::places)
                .map(|located| Fact::Path {
                    located: located.clone(),
                    access: Access::Write,
                });
            return Ok(Prepared::denied(title, facts.collect()));
        }
        if !planned.problems.is_empty() {
            let problems = planned.problems.join("\n");
            return Err(cx.error("results/patch-refused.md", &[("problems", &problems)]));
        }
        if planned.changes.is_empty() {
            let names = files.iter().flat_map(File::places);
            let names: Vec<String> = names.map(|it| target::display_name(cx, it)).collect();
            let text = cx.text("results/edit-nothing.md", &[("path", &names.join(", "))]);
            let reads = files
                .iter()
                .flat_map(|file| target::read_facts(&file.located));
            return Ok(Prepared {
                facts: reads.collect(),
                ..Prepared::done(title, ToolOutput::text(text))
            });
        }
        Ok(several::prepared(cx, title, planned.changes))
    }
}

/// What the patch does to one file.
struct File {
    located: Located,
    wish: Wish,
}

enum Wish {
    Create(String),
    /// It is deleted and added again.
    Replace(String),
    Delete,
    Update(Vec<Chunk>),
    Move(Located, Vec<Chunk>),
}

impl File {
    /// The file, and where it goes.
    fn places(&self) -> impl Iterator<Item = &Located> {
        let to = match &self.wish {
            Wish::Move(to, _) => Some(to),
            _ => None,
        };
        std::iter::once(&self.located).chain(to)
    }

    fn is(&self, located: &Located) -> bool {
        self.places().any(|place| place.key() == located.key())
    }
}

/// The files of the sections, each once.
fn files(cx: &ToolContext, sections: Vec<Section>) -> Result<Vec<File>, ToolError> {
    let mut files: Vec<File> = Vec::new();
    for section in sections {
        let located = target::locate(cx, &section.path)?;
        let twice = |located: &Located| {
            let path = target::display_name(cx, located);
            cx.error("results/patch-twice.md", &[("path", &path)])
        };
        let wish = match section.action {
            Action::Add(text) => Wish::Create(text),
            Action::Delete => Wish::Delete,
            Action::Update { to: None, chunks } => Wish::Update(chunks),
            Action::Update {
                to: Some(to),
                chunks,
            } => {
                let to = target::locate(cx, &to)?;
                if to.key() == located.key() {
                    Wish::Update(chunks)
                } else if files.iter().any(|file| file.is(&to)) {
                    return Err(twice(&to));
                } else {
                    Wish::Move(to, chunks)
                }
            }
        };
        match files.iter_mut().find(|file| file.is(&located)) {
            None => files.push(File { located, wish }),
            Some(known) => match (&mut known.wish, wish) {
                (Wish::Update(chunks), Wish::Update(more)) => chunks.extend(more),
                (known @ Wish::Delete, Wish::Create(text)) => *known = Wish::Replace(text),
                _ => return Err(twice(&located)),
            },
        }
    }
    Ok(files)
}

/// One line for a person.
fn title(cx: &ToolContext, files: &[File]) -> String {
    /// More files are counted.
    const NAMED: usize = 4;
    let name = |located: &Located| located.display(&cx.workspace);
    let row = |file: &File| {
        let path = name(&file.located);
        match &file.wish {
            Wish::Create(_) => format!("create {path}"),
            Wish::Replace(_) => format!("write {path}"),
            Wish::Delete => format!("delete {path}"),
            Wish::Update(_) => format!("edit {path}"),
            Wish::Move(to, _) => format!("move {path} to {}", name(to)),
        }
    };
    let mut rows: Vec<String> = files.iter().take(NAMED).map(row).collect();
    if let Some(more) = files.len().checked_sub(NAMED).filter(|more| *more > 0) {
        rows.push(format!("{more} more"));
    }
    let text = rows.join(", ");
    let mut letters = text.chars();
    let first = letters.next().map(|it| it.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// The changes planned so far, and why others cannot be.
#[derive(Default)]
struct Planned {
    changes: Vec<Change>,
    problems: Vec<String>,
    denied: bool,
}

impl Planned {
    async fn add(&mut self, cx: &ToolContext, file: &File) -> Result<(), ToolError> {
        let base = match change_base(cx, &file.located).await {
            Ok(base) => base,
            Err(error) => return self.problem(error),
        };
        if matches!(base, Base::Denied) {
            self.denied = true;
            return Ok(());
        }
        if let Wish::Move(to, _) = &file.wish {
            match change_base(cx, to).await {
                Ok(Base::Missing) => {}
                Ok(Base::Denied) => self.denied = true,
                Ok(Base::Text { .. }) => return self.problem(errors::exists(cx, to)),
                Err(error) => return self.problem(error),
            }
        }
        match planned(cx, file, base) {
            Ok(changes) => {
                self.changes.extend(changes);
                Ok(())
            }
            Err(error) => self.problem(error),
        }
    }

    /// All problems are reported together.
    fn problem(&mut self, error: ToolError) -> Result<(), ToolError> {
        match error {
            ToolError::ForModel(text) => self.problems.push(text),
            other => return Err(other),
        }
        Ok(())
    }
}

/// The changes of one file: none if it is as wanted already.
fn planned(cx: &ToolContext, file: &File, base: Base) -> Result<Vec<Change>, ToolError> {
    let located = &file.located;
    let (seen, present, open) = match (base, &file.wish) {
        (Base::Missing, Wish::Create(text)) => {
            let plan = plan::write(&Rope::new(), text);
            return Ok(vec![Change::creation(cx, located.clone(), plan)]);
        }
        (Base::Missing | Base::Denied, _) => {
            return Err(target::file_error(cx, located, &FileError::Missing));
        }
        (
            Base::Text {
                seen,
                present,
                open,
            },
            _,
        ) => (seen, present, open),
    };
    let empty = present.rope.len_bytes() == 0;
    Ok(match &file.wish {
        Wish::Create(text) if empty => {
            let plan = plan::write(&present.rope, text);
            change_to(cx, located, plan, present.revision)
        }
        Wish::Create(_) => return Err(errors::exists(cx, located)),
        Wish::Replace(text) => {
            let (rope, revision) = read_before(cx, located, (seen, &present, open))?;
            change_to(cx, located, plan::write(&rope, text), revision)
        }
        Wish::Delete => {
            let (rope, revision) = read_before(cx, located, (seen, &present, open))?;
            vec![deletion(cx, located, &rope, revision)]
        }
        Wish::Update(chunks) => {
            let (plan, revision) = update(cx, located, chunks, (seen, &present, open))?;
            change_to(cx, located, plan, revision)
        }
        Wish::Move(to, chunks) => {
            let (plan, revision) = update(cx, located, chunks, (seen, &present, open))?;
            let text = plan::write(&Rope::new(), &plan.result().to_string());
            let gone = deletion(cx, located, &plan.base, revision);
            let mut new = Change::creation(cx, to.clone(), text);
            new.shape = gone.shape.filter(|_| to.root.is_some());
            vec![
                new,
                Change {
                    moves: true,
                    ..gone
                },
            ]
        }
    })
}

/// The text that is deleted or replaced as a whole, which the model must have read.
fn read_before(
    cx: &ToolContext,
    located: &Located,
    (seen, present, open): Known<'_>,
) -> Result<(Rope, Option<Revision>), ToolError> {
    match seen {
        Some(seen) => Ok((seen.rope, seen.revision)),
        None if present.rope.len_bytes() == 0 => Ok((present.rope.clone(), present.revision)),
        None => Err(change::unread(cx, located, present, open)),
    }
}

/// What is known of a text: as the model saw it, as it is now, and whether the model may see that.
type Known<'a> = (Option<SeenText>, &'a CurrentText, bool);

fn update(
    cx: &ToolContext,
    located: &Located,
    chunks: &[Chunk],
    known: Known<'_>,
) -> Result<(Plan, Option<Revision>), ToolError> {
    let (seen, present, open) = &known;
    let (unread, present, open) = (seen.is_none(), *present, *open);
    let lost = |problem: &Problem| matches!(problem, Problem::NotFound { .. });
    let plan = |rope: &Rope| v4a::plan(rope, chunks);
    let planned = change::on_what_was_seen(known, plan, |planned| match planned {
        Ok(plan) => plan.strategy == Strategy::Exact,
        Err(errors) => !errors.iter().any(|error| lost(&error.problem)),
    });
    planned.map_err(|errors| {
        let rope = (open && !unread).then_some(&present.rope);
        let text = errors::of_chunks(cx, located, rope, &errors);
        match unread && open {
            true => change::with_text(cx, located, present, &text),
            false => ToolError::ForModel(text),
        }
    })
}

fn change_to(
    cx: &ToolContext,
    located: &Located,
    plan: Plan,
    base_revision: Option<Revision>,
) -> Vec<Change> {
    if plan.hunks.is_empty() {
        return Vec::new();
    }
    vec![Change {
        title: format!("Edit {}", located.display(&cx.workspace)),
        located: located.clone(),
        plan,
        base_revision,
        create: false,
        delete: false,
        shape: None,
        moves: false,
        on_disk: false,
    }]
}

fn deletion(
    cx: &ToolContext,
    located: &Located,
    rope: &Rope,
    base_revision: Option<Revision>,
) -> Change {
    let shape = files::shape(&cx.workspace, located, rope);
    Change {
        title: format!("Delete {}", located.display(&cx.workspace)),
        located: located.clone(),
        plan: plan::write(rope, ""),
        base_revision,
        create: false,
        delete: true,
        shape,
        moves: false,
        on_disk: false,
    }
}
