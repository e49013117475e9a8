//! Branch and head commit. The name of a branch is untrusted text.

use super::{Builder, Built, Input};
use crate::prompt::fence;
use crate::prompt::types::Trust;

pub(super) const BUILDER: Builder = Builder {
    id: "git",
    title: "Git",
    layer: "runtime",
    params: &[],
    build,
};

fn build(cx: &Input<'_>) -> Vec<Built> {
    let Some(git) = &cx.facts.git else {
        let reason = "the directory is not in a git repository";
        return vec![Built::absent(".git", Trust::Untrusted, reason)];
    };
    let branch = match &git.branch {
        Some(branch) => format!("Branch: {}", fence::name(branch)),
        None => "Branch: none (detached head)".to_owned(),
    };
    let head = match &git.head {
        Some(head) => format!("Head: {}", fence::name(head)),
        None => "Head: no commit yet".to_owned(),
    };
    let text = cx.fenced(&format!("{branch}\n{head}"));
    let reason = "the directory is in a git repository";
    vec![Built::new(text, ".git", Trust::Untrusted, reason)]
}
