//! The language to answer in, when the user set one.

use super::{Builder, Built, Input};
use crate::prompt::fence;
use crate::prompt::types::Trust;

pub(super) const BUILDER: Builder = Builder {
    id: "language",
    title: "Language",
    layer: "user",
    params: &[],
    build,
};

fn build(cx: &Input<'_>) -> Vec<Built> {
    let source = "setting: prompt.language";
    match &cx.facts.language {
        Some(language) => {
            let language = fence::name(language);
            let text = cx
                .texts
                .render("segments/language.md", &[("language", &language)]);
            vec![Built::new(
                text,
                source,
                Trust::User,
                "prompt.language is set",
            )]
        }
        None => vec![Built::absent(
            source,
            Trust::User,
            "prompt.language is not set",
        )],
    }
}
