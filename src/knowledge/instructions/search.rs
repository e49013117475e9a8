//! Which instruction files are searched: part of a layout's data. Pure.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, de::Error as _};

use super::BUDGET;
use crate::knowledge::text_source::TextSource;

/// The table `[instructions]` of a layout.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Search {
    /// File names, in order of priority.
    pub names: Vec<String>,
    /// How many of the names are used in one directory.
    pub each: Each,
    pub order: Order,
    pub stop: Stop,
    /// Whose files are used, in the order of the prompt.
    #[serde(deserialize_with = "origins")]
    pub origins: Vec<Group>,
    /// Lines of a workspace's file that consist of the name of a file add that file.
    pub references: bool,
    /// Entries of the setting `instructions` may be patterns.
    pub globs: bool,
    /// Folders that the work touches add their files.
    pub nested: bool,
    /// Most bytes of all texts together; longer texts are truncated fairly and visibly.
    pub budget: usize,
}

/// Which names are used in one directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Each {
    #[default]
    First,
    All,
}

/// The order within the workspace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Order {
    /// Nearest last.
    #[default]
    RootFirst,
    NearestFirst,
}

/// Where the upward walk from the session's directory ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Stop {
    /// The opened folder, or the top of the git work tree around it.
    #[default]
    Root,
    /// The top of the git work tree; without one, the session's directory.
    Git,
    /// Only the session's directory.
    Directory,
}

/// Where instruction texts come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Group {
    /// `AGENTS.md` in the config folder.
    Global,
    /// Between the root and the session's directory.
    Workspace,
    /// Files that the setting `instructions` names.
    Configured,
    /// Addresses that the setting `instructions` names.
    Urls,
}

impl Default for Search {
    fn default() -> Self {
        let names = ["AGENTS.override.md", "AGENTS.md", "CLAUDE.md"];
        Self {
            names: names.map(str::to_owned).to_vec(),
            each: Each::default(),
            order: Order::default(),
            stop: Stop::default(),
            origins: vec![
                Group::Global,
                Group::Workspace,
                Group::Configured,
                Group::Urls,
            ],
            references: false,
            globs: true,
            nested: true,
            budget: BUDGET,
        }
    }
}

impl Search {
    /// The folders of the walk, nearest first.
    pub(super) fn walk(&self, texts: &TextSource<'_>) -> Vec<PathBuf> {
        let cwd = &texts.cwd;
        let end = match self.stop {
            Stop::Root => texts.outermost().to_path_buf(),
            Stop::Git => texts
                .head()
                .map_or_else(|| cwd.clone(), |head| head.top.clone()),
            Stop::Directory => cwd.clone(),
        };
        cwd.ancestors()
            .take_while(|folder| folder.starts_with(&end))
            .map(Path::to_path_buf)
            .collect()
    }

    /// Whether the walk reaches `folder`. Git is asked only where it matters.
    pub(super) fn reaches(&self, texts: &TextSource<'_>, folder: &Path) -> bool {
        let known = self.stop == Stop::Root && folder.starts_with(&texts.top);
        texts.cwd.starts_with(folder) && (known || self.walk(texts).iter().any(|it| it == folder))
    }
}

fn origins<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Group>, D::Error> {
    let groups = Vec::<Group>::deserialize(from)?;
    let twice = |(at, group): (usize, &Group)| groups[..at].contains(group);
    if groups.iter().enumerate().any(twice) {
        return Err(D::Error::custom("each of origins may occur once"));
    }
    Ok(groups)
}
