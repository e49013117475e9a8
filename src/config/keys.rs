//! Every settings key with the rule for what a client may set (protocol.md, *Settings*). One table
//! decides which keys are known and which values a repository can carry; a test compares it
//! with the fields of [`Config`](super::Config). Pure.

use serde_json::Value;

/// A settings key, or a table of them.
#[derive(Clone, Copy, Debug)]
pub enum Node {
    Section(&'static [(&'static str, Node)]),
    /// Keys chosen by the user, each entry of the same form.
    Map(&'static Node),
    /// Accepted only from the user's own sources, as a whole.
    User(&'static Node),
    Leaf(Rule),
}

/// What a client's settings, which a repository can carry, may do with a value.
#[derive(Clone, Copy, Debug)]
pub enum Rule {
    Free,
    /// Words from the narrowest to the widest; the first one is not the default.
    Order {
        words: &'static [&'static str],
        unset: &'static str,
    },
    /// A number that may only decrease; unset means no limit.
    AtMost,
    /// May only be turned off.
    Off,
    /// One segment on or off: the user's own, and those every prompt needs, stay.
    Segment,
    /// A layout or an agent: its source also decides whether it brings opt-in tools.
    Choice,
    /// A list that may only lose entries.
    Subset,
    /// A list of restrictions: every layer adds to it, and none removes anything.
    Adds,
    /// A short word, because it goes into the prompt's text.
    Word,
    /// A model; a recorded one is a file that a repository could contain.
    Model,
    /// Instruction files: only those inside the session's folder; added to the user's.
    Instructions,
}

const FREE: Node = Node::Leaf(Rule::Free);
const USER: Node = Node::User(&FREE);
const AT_MOST: Node = Node::Leaf(Rule::AtMost);

const OFF: Node = Node::Leaf(Rule::Off);
const ADDS: Node = Node::Leaf(Rule::Adds);
const MODE: Node = order(&["ask", "plan", "agent"], "agent");

const PROVIDER: Node = Node::Section(&[
    ("api", FREE),
    ("baseUrl", FREE),
    ("models", FREE),
    ("apiKeyEnv", FREE),
    ("apiKeyFile", FREE),
    ("apiKeyCommand", FREE),
    ("headers", FREE),
    ("caFile", FREE),
    ("proxy", FREE),
]);

const AGENT: Node = Node::Section(&[
    ("description", FREE),
    ("prompt", FREE),
    ("promptFile", FREE),
    ("model", FREE),
    ("tools", Node::Leaf(Rule::Subset)),
    ("mode", MODE),
    ("thinking", FREE),
    ("detail", FREE),
]);

const fn order(words: &'static [&'static str], unset: &'static str) -> Node {
    Node::Leaf(Rule::Order { words, unset })
}

/// All settings.
pub const KEYS: Node = Node::Section(&[
    ("model", Node::Leaf(Rule::Model)),
    ("mode", MODE),
    ("layout", Node::Leaf(Rule::Choice)),
    ("agent", Node::Leaf(Rule::Choice)),
    ("thinking", USER),
    ("approvals", order(&["ask", "edits", "auto"], "edits")),
    ("approvalsVia", FREE),
    ("instructions", Node::Leaf(Rule::Instructions)),
    ("providers", Node::User(&Node::Map(&PROVIDER))),
    (
        "edits",
        Node::Section(&[
            ("review", order(&["before", "after"], "after")),
            ("closedFiles", order(&["editor", "disk"], "editor")),
            ("saveAfter", order(&["never", "ask", "always"], "never")),
        ]),
    ),
    (
        "exec",
        Node::Section(&[("timeoutMs", AT_MOST), ("overlay", OFF)]),
    ),
    ("fetch", Node::User(&Node::Section(&[("local", FREE)]))),
    ("env", Node::Leaf(Rule::Subset)),
    (
        "limits",
        Node::Section(&[
            ("steps", AT_MOST),
            ("turnMinutes", AT_MOST),
            ("tokens", AT_MOST),
            ("cost", AT_MOST),
            ("approvalMinutes", AT_MOST),
        ]),
    ),
    ("compaction", Node::Section(&[("auto", OFF)])),
    (
        "prompt",
        Node::Section(&[
            ("editorSlot", FREE),
            ("segments", Node::Map(&Node::Leaf(Rule::Segment))),
            ("timezone", Node::Leaf(Rule::Word)),
            ("timeFormat", USER),
            ("language", Node::Leaf(Rule::Word)),
            ("docsPath", USER),
            ("owners", USER),
            ("notes", USER),
            ("folders", Node::User(&Node::Map(&FREE))),
            ("environment", Node::User(&Node::Map(&FREE))),
            ("transform", USER),
        ]),
    ),
    ("modelAliases", Node::Map(&Node::Leaf(Rule::Model))),
    (
        "routing",
        Node::User(&Node::Section(&[
            ("title", FREE),
            ("summary", FREE),
            ("chat", FREE),
            ("code", FREE),
            ("analysis", FREE),
        ])),
    ),
    ("agents", Node::User(&Node::Map(&AGENT))),
    ("mcpServers", USER),
    (
        "languageServers",
        Node::User(&Node::Map(&Node::Section(&[
            ("command", FREE),
            ("languages", FREE),
            ("extensions", FREE),
        ]))),
    ),
    (
        "skills",
        Node::User(&Node::Section(&[
            ("enabled", OFF),
            ("folders", FREE),
            ("disabled", FREE),
        ])),
    ),
    (
        "knowledge",
        Node::User(&Node::Section(&[("folders", FREE)])),
    ),
    (
        "memory",
        Node::User(&Node::Section(&[
            ("enabled", OFF),
            ("citations", FREE),
            ("profile", OFF),
            ("related", FREE),
        ])),
    ),
    (
        "sandbox",
        Node::User(&Node::Section(&[
            ("mode", order(&["required", "auto", "off"], "off")),
            ("write", FREE),
            ("network", FREE),
        ])),
    ),
    (
        "policy",
        Node::Section(&[("deny", ADDS), ("ask", ADDS), ("allow", USER)]),
    ),
    ("chatFolder", order(&["state", "workspace"], "state")),
    ("codeActions", FREE),
    ("record", USER),
]);

/// The outcome for a client's value: what was accepted, and why the rest was not.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    pub value: Option<Value>,
    pub refused: Option<String>,
}

impl Verdict {
    fn taken(value: Value) -> Self {
        Self {
            value: Some(value),
            refused: None,
        }
    }

    fn refused(reason: impl Into<String>) -> Self {
        Self {
            value: None,
            refused: Some(reason.into()),
        }
    }
}

/// Segments that only show the editor, the clock or git: a client may leave them out.
/// All others are the user's own texts, or needed by every prompt.
const SHOWN_BY_EDITOR: [&str; 9] = [
    "cursor",
    "date",
    "diagnostics",
    "documents",
    "git",
    "recent",
    "selection",
    "time",
    "visible",
];

impl Rule {
    /// `value` in canonical form: a setting's words are case-insensitive.
    pub fn read(self, value: &Value) -> Value {
        let (Rule::Order { words, .. }, Some(text)) = (self, value.as_str()) else {
            return value.clone();
        };
        let meant = |word: &&&str| word.eq_ignore_ascii_case(text.trim());
        let word = words.iter().find(meant);
        word.map_or_else(|| value.clone(), |word| Value::from(*word))
    }

    /// The substitute for an invalid value: a user who misspells a restriction must not
    /// get the freedom of the default. `None`: the lower layer's value applies.
    pub fn narrowest(self) -> Option<Value> {
        match self {
            Rule::Order { words, .. } => words.first().map(|word| Value::from(*word)),
            Rule::Off => Some(Value::Bool(false)),
            Rule::Subset => Some(Value::Array(Vec::new())),
            // Every command.
            Rule::Adds => Some(serde_json::json!(["*"])),
            Rule::Free
            | Rule::AtMost
            | Rule::Word
            | Rule::Model
            | Rule::Instructions
            | Rule::Segment
            | Rule::Choice => None,
        }
    }

    /// Judges a client's `value` of the setting `name` (the last part of its key) against `now`,
    /// the lower layer's value.
    pub fn judge(self, name: &str, value: &Value, now: Option<&Value>) -> Verdict {
        let ok = match self {
            Rule::Free | Rule::Choice | Rule::Adds => true,
            Rule::Segment => match now {
                Some(now) => now == value,
                None => value != &Value::Bool(false) || SHOWN_BY_EDITOR.contains(&name),
            },
            Rule::Order { words, unset } => {
                let rank = |value: &Value| {
                    let text = value.as_str()?;
                    words.iter().position(|word| *word == text)
                };
                let ceiling = now
                    .and_then(rank)
                    .or_else(|| words.iter().position(|word| *word == unset));
                // An unknown word is left to the typed check, which lists the words.
                rank(value).is_none_or(|wanted| Some(wanted) <= ceiling)
            }
            Rule::AtMost => match (value.as_f64(), now.and_then(Value::as_f64)) {
                (Some(wanted), Some(ceiling)) => wanted <= ceiling,
                _ => true,
            },
            Rule::Off => value != &Value::Bool(true) || now == Some(&Value::Bool(true)),
            Rule::Word => value.as_str().is_none_or(is_word),
            // The built-in recording is ours.
            Rule::Model => value
                .as_str()
                .is_none_or(|name| !name.starts_with("replay/") || name == "replay/@demo"),
            Rule::Subset | Rule::Instructions => return self.judge_list(value, now),
        };
        if ok {
            Verdict::taken(value.clone())
        } else {
            Verdict::refused(match self {
                Rule::Word => "is not a plain word, and it would go into the prompt",
                Rule::Model => "a recorded model is a file that a repository could contain",
                Rule::Segment => {
                    "only you may turn this segment off, and a repository can carry this"
                }
                _ => "would allow more than the user's own settings",
            })
        }
    }

    fn judge_list(self, value: &Value, now: Option<&Value>) -> Verdict {
        let Value::Array(wanted) = value else {
            return Verdict::taken(value.clone());
        };
        let have: &[Value] = now.and_then(Value::as_array).map_or(&[], Vec::as_slice);
        let adds = matches!(self, Rule::Instructions);
        let mut kept = if adds { have.to_vec() } else { Vec::new() };
        let good = |entry: &Value| match adds {
            true => entry.as_str().is_none_or(stays_inside),
            false => have.contains(entry),
        };
        let mut refused = Vec::new();
        for entry in wanted {
            if !good(entry) {
                refused.push(entry.to_string());
            } else if !kept.contains(entry) {
                kept.push(entry.clone());
            }
        }
        Verdict {
            value: Some(Value::Array(kept)),
            refused: (!refused.is_empty()).then(|| {
                format!(
                    "{} would allow more than the user's own settings",
                    refused.join(", ")
                )
            }),
        }
    }
}

/// A name of a language or a time zone; not a sentence.
fn is_word(text: &str) -> bool {
    text.chars().count() <= 40
        && text
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_' | '/' | '+'))
        && text.split(' ').count() <= 3
}

/// A relative path that cannot climb out of its folder, and no URL.
pub(super) fn stays_inside(entry: &str) -> bool {
    !entry.contains("://")
        && !entry.starts_with(['/', '\\', '~'])
        && !entry.contains(':')
        && !entry.split(['/', '\\']).any(|part| part == "..")
}

/// The rule of a key that a client may set; `None`: it is only the user's, or unknown.
pub fn rule(key: &str) -> Option<Rule> {
    let mut node = &KEYS;
    for part in key.split('.') {
        node = match node {
            Node::Section(keys) => &keys.iter().find(|(name, _)| *name == part)?.1,
            Node::Map(node) => node,
            Node::User(_) | Node::Leaf(_) => return None,
        };
    }
    match node {
        Node::Leaf(rule) => Some(*rule),
        _ => None,
    }
}

/// Whether a setting with this dotted name exists.
pub fn exists(key: &str) -> bool {
    let fits = |path: &String| {
        let (path, key): (Vec<&str>, Vec<&str>) =
            (path.split('.').collect(), key.split('.').collect());
        let same = |(path, key): (&&str, &&str)| *path == "*" && !key.is_empty() || path == key;
        path.len() == key.len() && path.iter().zip(&key).all(same)
    };
    paths().iter().any(fits)
}

/// All keys as dotted paths, `*` for names that the user chooses.
pub fn paths() -> Vec<String> {
    fn walk(node: &Node, path: &str, out: &mut Vec<String>) {
        match node {
            Node::Section(keys) => {
                for (key, node) in *keys {
                    let dot = if path.is_empty() { "" } else { "." };
                    walk(node, &format!("{path}{dot}{key}"), out);
                }
            }
            Node::Map(node) => walk(node, &format!("{path}.*"), out),
            Node::User(node) => walk(node, path, out),
            Node::Leaf(_) => out.push(path.to_owned()),
        }
    }
    let mut out = Vec::new();
    walk(&KEYS, "", &mut out);
    out
}
