//! The tools with which the agent changes itself: its name (`self_rename`), its SOUL.md
//! (`self_update_soul`) and the variables of its commands (`self_set_env`, `self_delete_env`).
//! A variable's value goes only into the environment of commands. The question shows it unless it
//! looks like a secret; no title, event or result contains it.

use async_trait::async_trait;
use ropey::Rope;
use serde::Deserialize;
use serde_json::Value;

use super::change::{self, Base, change_base};
use super::user_store::{self, excerpt, lasting_change, not_changed};
use super::{BuiltIn, Preparation, Targets, ToolContext, ToolSpec, target};
use crate::conversation::{Tier, sha256};
use crate::edit::plan;
use crate::host::Subject;
use crate::knowledge::user_state::{self, UserState};
use crate::secrets::{Detector, looks_secret, without_passwords};
use crate::workspace::{FileKind, Located, beneath};

const SPEC: ToolSpec = ToolSpec::new(Tier::Middleware).changes().escapes().opt_in();

pub struct SelfRename;

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct NewName {
    /// The new name, one line of at most 64 characters
    name: String,
}

#[async_trait]
impl BuiltIn for SelfRename {
    const NAME: &'static str = "self_rename";
    const SPEC: ToolSpec = SPEC;
    type Arguments = NewName;

    fn targets(_cx: &ToolContext, _arguments: &Value) -> Targets {
        user_store::state_targets()
    }

    async fn prepare(&self, cx: &ToolContext, NewName { name }: NewName) -> Preparation {
        let name = user_state::check_name(&name).map_err(|unfit| not_changed(cx, &unfit))?;
        let (name, agent) = (name.to_owned(), cx.chosen.now().agent);
        let subject = Subject::Setting {
            key: "agent.name".to_owned(),
            change: format!(
                "call the agent {} {name}",
                agent.as_deref().unwrap_or("main")
            ),
            hash: sha256(name.as_bytes()),
        };
        Ok(lasting_change(
            format!("Call the agent {name}"),
            subject,
            move |cx| {
                let renamed = UserState::new(&cx.env).rename(agent.as_deref(), &name);
                renamed.map_err(|error| not_changed(cx, &error))?;
                Ok(cx.text("results/renamed.md", &[("name", &name)]))
            },
        ))
    }
}

/// The file that prompts show.
const SOUL: &str = "SOUL.md";

pub struct SelfUpdateSoul;

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct NewSoul {
    /// The whole new text of SOUL.md
    text: String,
}

/// Where prompts find the file: in the session's directory, else in its root. A new one goes into
/// the session's directory.
fn locate_soul(cx: &ToolContext) -> Located {
    let exists = |located: &Located| located.open || located.kind != FileKind::Missing;
    let own = beneath::locate_path(&cx.workspace, &cx.cwd.join(SOUL));
    if exists(&own) {
        return own;
    }
    let root = cx.workspace.root_for(&cx.cwd);
    let in_root = root.map(|root| beneath::locate_path(&cx.workspace, &root.path.join(SOUL)));
    in_root.filter(exists).unwrap_or(own)
}

#[async_trait]
impl BuiltIn for SelfUpdateSoul {
    const NAME: &'static str = "self_update_soul";
    const SPEC: ToolSpec = SPEC;
    type Arguments = NewSoul;

    fn targets(cx: &ToolContext, _arguments: &Value) -> Targets {
        Targets::writes([locate_soul(cx).key()])
    }

    async fn prepare(&self, cx: &ToolContext, NewSoul { text }: NewSoul) -> Preparation {
        if text.trim().is_empty() {
            return Err(cx.error("results/soul-empty.md", &[]));
        }
        let located = locate_soul(cx);
        Ok(match change_base(cx, &located).await? {
            Base::Denied => change::denied(cx, "Rewrite", located),
            Base::Missing => {
                let plan = plan::write(&Rope::new(), &text);
                change::created(cx, located, plan)
            }
            // The prompt showed its text, and the question shows the difference.
            Base::Text { present, .. } => {
                let seen = target::last_seen(cx, &located.key());
                let seen = seen.unwrap_or_else(|| present.seen());
                let plan = plan::write(&seen.rope, &text);
                change::planned(cx, "Rewrite", located, plan, seen.revision)
            }
        })
    }
}

pub struct SelfSetEnv;

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct NewVariable {
    /// Capital letters, digits and `_`, as `NPM_TOKEN`
    name: String,
    // Any type: a type error would quote the value.
    /// Its whole value
    #[cfg_attr(test, schemars(with = "String"))]
    value: Value,
}

/// The value as the question shows it. A path is always shown, because it says what would be
/// loaded. So is an address, without the secrets in it, and anything that does not look secret.
fn shown_value(cx: &ToolContext, name: &str, value: &str) -> String {
    let mut chars = value.chars();
    let drive = chars.next().is_some_and(|c| c.is_ascii_alphabetic()) && chars.next() == Some(':');
    let path = drive || value.starts_with(['/', '\\', '~', '.', '%', '$']);
    if path || without_passwords(value) != value || value.contains("://") {
        return format!("`{}`", excerpt(&without_passwords(value)));
    }
    if looks_secret(name) || Detector::new(cx.env.vars()).find(value).is_some() {
        let count = value.chars().count();
        return format!("a value of {count} characters, not shown because it looks like a secret,");
    }
    format!("`{}`", excerpt(value))
}

#[async_trait]
impl BuiltIn for SelfSetEnv {
    const NAME: &'static str = "self_set_env";
    const SPEC: ToolSpec = SPEC.private(&["value"]);
    type Arguments = NewVariable;

    fn targets(_cx: &ToolContext, _arguments: &Value) -> Targets {
        user_store::state_targets()
    }

    async fn prepare(&self, cx: &ToolContext, arguments: NewVariable) -> Preparation {
        let name = arguments.name;
        let Value::String(value) = arguments.value else {
            return Err(cx.error("results/variable-value.md", &[]));
        };
        // The error names neither: the model may have swapped name and value.
        user_state::check_variable(&name, &value).map_err(|unfit| not_changed(cx, &unfit))?;
        let shown = shown_value(cx, &name, &value);
        // With a nonce, so that a short value cannot be guessed from the hash.
        let hash = sha256(format!("{}\0{name}\0{value}", cx.env.id("nonce")).as_bytes());
        let subject = Subject::Setting {
            key: format!("variables.{name}"),
            change: format!("keep {shown} for commands of all sessions and folders"),
            hash,
        };
        let title = format!("Set the private variable {name}");
        Ok(lasting_change(title, subject, move |cx| {
            let set = UserState::new(&cx.env).set_variable(&name, &value);
            set.map_err(|error| not_changed(cx, &error))?;
            Ok(cx.text("results/variable-set.md", &[("name", &name)]))
        }))
    }
}

pub struct SelfDeleteEnv;

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct OldVariable {
    /// The variable's name, as the prompt lists it
    name: String,
}

#[async_trait]
impl BuiltIn for SelfDeleteEnv {
    const NAME: &'static str = "self_delete_env";
    const SPEC: ToolSpec = SPEC;
    type Arguments = OldVariable;

    fn targets(_cx: &ToolContext, _arguments: &Value) -> Targets {
        user_store::state_targets()
    }

    async fn prepare(&self, cx: &ToolContext, OldVariable { name }: OldVariable) -> Preparation {
        user_state::check_variable_name(&name).map_err(|unfit| not_changed(cx, &unfit))?;
        let subject = Subject::Setting {
            key: format!("variables.{name}"),
            change: "forget it; no command sees it any more".to_owned(),
            hash: sha256(name.as_bytes()),
        };
        let title = format!("Forget the private variable {name}");
        Ok(lasting_change(title, subject, move |cx| {
            let deleted = UserState::new(&cx.env).delete_variable(&name);
            match deleted.map_err(|error| not_changed(cx, &error))? {
                true => Ok(cx.text("results/variable-deleted.md", &[("name", &name)])),
                false => Err(cx.error("results/variable-unknown.md", &[("name", &name)])),
            }
        }))
    }
}
