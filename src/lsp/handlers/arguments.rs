//! The argument of all commands.

use serde::Deserialize;
use serde_json::Value;

use crate::conversation::{Failure, FailureKind, ItemId, SessionId, TurnId, WireRange};
use crate::lsp::door::Door;

/// A command's name and what its argument looks like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub name: &'static str,
    pub argument: &'static str,
}

impl Usage {
    /// The failure of a wrong argument.
    pub fn failure(self, problem: &str) -> Failure {
        Failure::new(
            FailureKind::Invalid,
            format!("{}: {problem}", self.name),
            format!("usage: {} {}", self.name, self.argument),
        )
    }
}

/// An object, or bare words (Helix passes what was typed).
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Args {
    #[serde(skip)]
    usage: Usage,
    pub text: Option<String>,
    pub uri: Option<String>,
    pub range: Option<WireRange>,
    pub session_id: Option<SessionId>,
    pub turn_id: Option<TurnId>,
    pub item_id: Option<ItemId>,
    pub mode: Option<String>,
    pub model: Option<String>,
    pub folder: Option<String>,
    pub server: Option<String>,
    pub diagnostics: Option<Vec<Value>>,
}

impl Args {
    /// Reads the arguments of the command with this usage.
    pub fn read(arguments: Vec<Value>, usage: Usage) -> Result<Self, Failure> {
        let words: Vec<&str> = arguments.iter().filter_map(Value::as_str).collect();
        let args = if !words.is_empty() && words.len() == arguments.len() {
            Self {
                text: Some(words.join(" ")),
                ..Self::default()
            }
        } else {
            match arguments.into_iter().find(|value| !value.is_null()) {
                Some(first) => serde_json::from_value(first)
                    .map_err(|error| usage.failure(&error.to_string()))?,
                None => Self::default(),
            }
        };
        Ok(Self { usage, ..args })
    }

    /// Fills in the place of the editor's cursor if the arguments name none and the client reports it.
    pub fn here(mut self, door: &Door) -> Result<Self, Failure> {
        if self.uri.is_some() || !door.client()?.offer.context {
            return Ok(self);
        }
        let views = door.sessions()?.context().editors;
        if let Some(view) = views.into_iter().find(|view| view.active) {
            self.range = self.range.or(view.selections.first().copied());
            self.uri = Some(view.uri);
        }
        Ok(self)
    }

    /// The place that the command is about.
    pub fn place(&self) -> Result<(String, WireRange), Failure> {
        match (&self.uri, self.range) {
            (Some(uri), Some(range)) => Ok((uri.clone(), range)),
            _ => Err(self.wrong("it needs a place: put the cursor in a file")),
        }
    }

    /// The failure of an argument that does not fit the command.
    pub fn wrong(&self, problem: &str) -> Failure {
        self.usage.failure(problem)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const USAGE: Usage = Usage {
        name: "interline.explain",
        argument: "[{uri, range}]",
    };

    fn read(arguments: Value) -> Result<Args, Failure> {
        let Value::Array(arguments) = arguments else {
            panic!("arguments are a list")
        };
        Args::read(arguments, USAGE)
    }

    #[test]
    fn an_argument_is_an_object_or_bare_words_or_nothing() {
        let args = read(json!([{ "text": "hi", "uri": "file:///a", "new": 1 }])).unwrap();
        assert_eq!(args.text.as_deref(), Some("hi"));
        assert_eq!(args.uri.as_deref(), Some("file:///a"));
        let args = read(json!(["rename", "this"])).unwrap();
        assert_eq!(args.text.as_deref(), Some("rename this"));
        for nothing in [json!([]), json!([null])] {
            let none = Args {
                usage: USAGE,
                ..Args::default()
            };
            assert_eq!(read(nothing).unwrap(), none);
        }
    }

    #[test]
    fn a_wrong_argument_is_answered_with_the_usage() {
        let failure = read(json!([{ "text": 7 }])).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Invalid);
        assert_eq!(failure.hint, "usage: interline.explain [{uri, range}]");
        let place = read(json!([])).unwrap().place().unwrap_err();
        assert_eq!(place.hint, failure.hint);
    }
}
