//! What the project tools share: the workspace's folders and those that the agent made in them,
//! by name, with their rights; paths that stay inside one.

use std::path::{Component, Path, PathBuf};

use super::{ToolContext, ToolError, words};
use crate::knowledge::user_state;
use crate::prompt::fence;
use crate::workspace::beneath;

/// One project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Project {
    pub name: String,
    /// Canonical.
    pub path: PathBuf,
    /// The agent may change files in it.
    pub writable: bool,
    pub description: Option<String>,
}

/// The roots, then what was made below them and is still there. Blocking reads, bounded.
pub(super) fn all(cx: &ToolContext) -> Result<Vec<Project>, ToolError> {
    let roots = cx.workspace.roots();
    let mut projects: Vec<Project> = roots
        .iter()
        .map(|root| Project {
            name: root.name.clone(),
            writable: cx.policy.writable(&root.path),
            path: root.path.clone(),
            description: None,
        })
        .collect();
    let made = user_state::projects_in(&cx.env, &roots);
    let made = made.map_err(|error| super::own::not_changed(cx, &error))?;
    projects.extend(made.into_iter().map(|(root, made)| Project {
        name: made.name(),
        writable: cx.policy.writable(&root.path),
        path: made.path,
        description: made.description,
    }));
    Ok(projects)
}

/// The project of that id (its path), or of that name if only one has it.
pub(super) fn named(cx: &ToolContext, wanted: &str) -> Result<Project, ToolError> {
    let projects = all(cx)?;
    if let Some(project) = projects.iter().find(|it| it.path == Path::new(wanted)) {
        return Ok(project.clone());
    }
    let mut same = projects.iter().filter(|project| project.name == wanted);
    if let (Some(project), None) = (same.next(), same.next()) {
        return Ok(project.clone());
    }
    let known: Vec<String> = projects
        .iter()
        .map(|project| fence::name(&project.path.display().to_string()))
        .collect();
    Err(words::for_model(
        cx,
        "results/project-unknown.md",
        &[("name", &fence::name(wanted)), ("known", &known.join(", "))],
    ))
}

/// A relative path as an absolute one that stays in the project, also through links.
pub(super) fn inside(
    cx: &ToolContext,
    project: &Project,
    relative: &str,
) -> Result<String, ToolError> {
    let plain = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    let path = project.path.join(relative);
    let stays = !relative.trim().is_empty()
        && Path::new(relative).components().all(plain)
        && beneath::locate_path(&cx.workspace, &path)
            .path
            .starts_with(&project.path);
    match path.to_str().filter(|_| stays) {
        Some(path) => Ok(path.to_owned()),
        None => Err(words::for_model(
            cx,
            "results/project-outside.md",
            &[
                ("path", &fence::name(relative)),
                ("project", &fence::name(&project.name)),
            ],
        )),
    }
}

/// The project may be written.
pub(super) fn writable(cx: &ToolContext, project: &Project) -> Result<(), ToolError> {
    match project.writable {
        true => Ok(()),
        false => Err(words::for_model(
            cx,
            "results/project-read-only.md",
            &[("project", &fence::name(&project.name))],
        )),
    }
}
