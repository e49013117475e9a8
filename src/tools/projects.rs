//! The project tools: `project_list`, `project_create`, `project_read`, `project_write` and
//! `project_glob`. A project is a root of the workspace or a folder that the agent made in one,
//! addressed by path or name. Paths stay inside their project, also through links.

use std::path::{Component, Path, PathBuf};

use async_trait::async_trait;
use futures_util::FutureExt as _;
use serde::Deserialize;
use serde_json::Value;

use super::user_store::{self, not_changed, store_change};
use super::{
    BuiltIn, Preparation, Prepared, Targets, ToolContext, ToolError, ToolOutput, ToolSpec, glob,
    read, schema, target, write,
};
use crate::conversation::{Tier, sha256};
use crate::host::{Access, Subject};
use crate::knowledge::user_state::{self, UserState};
use crate::policy::Fact;
use crate::prompt::fence;
use crate::workspace::{FileKind, Root, beneath};

const SPEC: ToolSpec = ToolSpec::new(Tier::Filesystem).opt_in();

/// One project.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Project {
    name: String,
    /// Canonical.
    path: PathBuf,
    /// The agent may change files in it.
    writable: bool,
    description: Option<String>,
}

impl Project {
    fn root(cx: &ToolContext, root: &Root) -> Self {
        Self {
            name: root.name.clone(),
            writable: cx.policy.writable(&root.path),
            path: root.path.clone(),
            description: None,
        }
    }
}

/// The roots, then the folders made below them that still exist. Blocking reads, bounded.
fn all(cx: &ToolContext) -> Result<Vec<Project>, ToolError> {
    let roots = cx.workspace.roots();
    let made = user_state::projects_in(&cx.env, &roots).map_err(|error| not_changed(cx, &error))?;
    let of_roots = roots.iter().map(|root| Project::root(cx, root));
    let made = made.into_iter().map(|(root, made)| Project {
        name: made.name(),
        writable: cx.policy.writable(&root.path),
        path: made.path,
        description: made.description,
    });
    Ok(of_roots.chain(made).collect())
}

/// The project with that path, or with that name if only one has it.
fn find(cx: &ToolContext, wanted: &str) -> Result<Project, ToolError> {
    let projects = all(cx)?;
    if let Some(project) = projects.iter().find(|it| it.path == Path::new(wanted)) {
        return Ok(project.clone());
    }
    let mut same = projects.iter().filter(|project| project.name == wanted);
    if let (Some(project), None) = (same.next(), same.next()) {
        return Ok(project.clone());
    }
    let paths = projects.iter().map(|project| shown_path(&project.path));
    let known = paths.collect::<Vec<_>>().join(", ");
    Err(cx.error(
        "results/project-unknown.md",
        &[("name", &fence::name(wanted)), ("known", &known)],
    ))
}

fn shown_path(path: &Path) -> String {
    fence::name(&path.display().to_string())
}

/// A relative path as an absolute one that stays in the project, also through links.
fn path_inside(cx: &ToolContext, project: &Project, relative: &str) -> Result<String, ToolError> {
    let plain = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    let path = project.path.join(relative);
    let stays = !relative.trim().is_empty()
        && Path::new(relative).components().all(plain)
        && beneath::locate_path(&cx.workspace, &path)
            .path
            .starts_with(&project.path);
    match path.to_str().filter(|_| stays) {
        Some(path) => Ok(path.to_owned()),
        None => Err(cx.error(
            "results/project-outside.md",
            &[
                ("path", &fence::name(relative)),
                ("project", &fence::name(&project.name)),
            ],
        )),
    }
}

fn require_writable(cx: &ToolContext, project: &Project) -> Result<(), ToolError> {
    match project.writable {
        true => Ok(()),
        false => Err(cx.error(
            "results/project-read-only.md",
            &[("project", &fence::name(&project.name))],
        )),
    }
}

/// The document of a call on one file of a project.
fn document_keys(cx: &ToolContext, arguments: &Value) -> Vec<String> {
    let (project, path) = (arguments["project"].as_str(), arguments["path"].as_str());
    let path = project.zip(path).and_then(|(project, path)| {
        let project = find(cx, project).ok()?;
        path_inside(cx, &project, path).ok()
    });
    target::document_keys(cx, path.as_deref())
}

pub struct ProjectList;

#[async_trait]
impl BuiltIn for ProjectList {
    const NAME: &'static str = "project_list";
    const SPEC: ToolSpec = SPEC;
    type Arguments = schema::NoArguments;

    fn targets(_cx: &ToolContext, _arguments: &Value) -> Targets {
        Targets::reads(user_store::state_targets().writes)
    }

    async fn prepare(&self, cx: &ToolContext, _arguments: schema::NoArguments) -> Preparation {
        let projects = all(cx)?;
        // Without facts: the names of folders that the user opened.
        Ok(Prepared::new("List the projects", |cx| {
            async move { Ok(ToolOutput::text(list(cx, &projects))) }.boxed()
        }))
    }
}

fn list(cx: &ToolContext, projects: &[Project]) -> String {
    if projects.is_empty() {
        return cx.text("results/project-none.md", &[]);
    }
    let line = |project: &Project| {
        let (name, path) = (fence::name(&project.name), shown_path(&project.path));
        let about = fence::line(project.description.as_deref().unwrap_or("–"));
        match project.writable {
            true => cx.text(
                "results/project-line.md",
                &[("name", &name), ("path", &path), ("about", &about)],
            ),
            false => cx.text(
                "results/project-line-read-only.md",
                &[("name", &name), ("path", &path), ("about", &about)],
            ),
        }
    };
    let lines: Vec<String> = projects.iter().map(line).collect();
    lines.join("\n")
}

pub struct ProjectCreate;

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct NewProject {
    /// The folder's name, which is the project's
    name: String,
    /// One line: what it is for
    description: Option<String>,
}

#[async_trait]
impl BuiltIn for ProjectCreate {
    const NAME: &'static str = "project_create";
    const SPEC: ToolSpec = SPEC.changes().escapes();
    type Arguments = NewProject;

    fn targets(_cx: &ToolContext, _arguments: &Value) -> Targets {
        user_store::state_targets()
    }

    async fn prepare(&self, cx: &ToolContext, arguments: NewProject) -> Preparation {
        let NewProject { name, description } = arguments;
        let about = description.as_deref().map(str::trim);
        let description = about.filter(|it| !it.is_empty()).map(str::to_owned);
        user_state::check_project(&name, description.as_deref())
            .map_err(|unfit| not_changed(cx, &unfit))?;
        let roots = cx.workspace.roots();
        let Some(root) = roots.first() else {
            return Err(cx.error("results/project-none.md", &[]));
        };
        require_writable(cx, &Project::root(cx, root))?;
        let located = beneath::locate_path(&cx.workspace, &root.path.join(&name));
        let path = located.path.clone();
        if located.kind != FileKind::Missing {
            return Err(cx.error("results/project-exists.md", &[("path", &shown_path(&path))]));
        }
        let mut change = format!("make the folder {}", path.display());
        if let Some(description) = &description {
            change.push_str(&format!("\n{description}"));
        }
        let access = Access::Write;
        let facts = vec![Fact::Path { located, access }, Fact::NewFolder];
        let subject = Subject::Setting {
            key: format!("projects.{name}"),
            hash: sha256(change.as_bytes()),
            change,
        };
        let title = format!("Make the project {name}");
        Ok(store_change(title, facts, subject, move |cx| {
            // The root is canonical and the name is one part, so no link is followed.
            let made = std::fs::create_dir(&path).and_then(|()| {
                UserState::new(&cx.env).add_project(user_state::Project {
                    path: path.clone(),
                    description,
                })
            });
            made.map_err(|error| not_changed(cx, &error))?;
            let path = shown_path(&path);
            Ok(cx.text("results/project-created.md", &[("path", &path)]))
        }))
    }
}

pub struct ProjectRead;

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct ReadArguments {
    /// The project's id or name, as `project_list` has it
    project: String,
    /// Relative to the project's folder
    path: String,
    /// First line, counted from 1
    #[cfg_attr(test, schemars(range(min = 1)))]
    offset: Option<u64>,
    /// Number of lines
    #[cfg_attr(test, schemars(range(min = 1)))]
    limit: Option<u64>,
}

#[async_trait]
impl BuiltIn for ProjectRead {
    const NAME: &'static str = "project_read";
    const SPEC: ToolSpec = SPEC;
    type Arguments = ReadArguments;

    fn targets(cx: &ToolContext, arguments: &Value) -> Targets {
        Targets::reads(document_keys(cx, arguments))
    }

    async fn prepare(&self, cx: &ToolContext, arguments: ReadArguments) -> Preparation {
        let project = find(cx, &arguments.project)?;
        let arguments = read::Arguments {
            path: path_inside(cx, &project, &arguments.path)?,
            offset: arguments.offset,
            limit: arguments.limit,
            column: None,
        };
        read::Read.prepare(cx, arguments).await
    }
}

pub struct ProjectWrite;

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct WriteArguments {
    /// The project's id or name, as `project_list` has it
    project: String,
    /// Relative to the project's folder
    path: String,
    /// The whole text of the file
    content: String,
}

#[async_trait]
impl BuiltIn for ProjectWrite {
    const NAME: &'static str = "project_write";
    const SPEC: ToolSpec = SPEC.changes().escapes();
    type Arguments = WriteArguments;

    fn targets(cx: &ToolContext, arguments: &Value) -> Targets {
        Targets::writes(document_keys(cx, arguments))
    }

    async fn prepare(&self, cx: &ToolContext, arguments: WriteArguments) -> Preparation {
        let project = find(cx, &arguments.project)?;
        require_writable(cx, &project)?;
        let arguments = write::Arguments {
            path: path_inside(cx, &project, &arguments.path)?,
            content: arguments.content,
        };
        write::Write.prepare(cx, arguments).await
    }
}

pub struct ProjectGlob;

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct GlobArguments {
    /// The project's id or name, as `project_list` has it
    project: String,
    /// A glob relative to the project's folder: `**/*.md`
    pattern: String,
}

#[async_trait]
impl BuiltIn for ProjectGlob {
    const NAME: &'static str = "project_glob";
    const SPEC: ToolSpec = SPEC;
    type Arguments = GlobArguments;

    async fn prepare(&self, cx: &ToolContext, arguments: GlobArguments) -> Preparation {
        let project = find(cx, &arguments.project)?;
        let arguments = glob::Arguments {
            path: Some(path_inside(cx, &project, ".")?),
            pattern: arguments.pattern,
        };
        glob::Glob.prepare(cx, arguments).await
    }
}
