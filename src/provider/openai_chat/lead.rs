//! Thoughts that a model writes in front of its text, between `<think>` and `</think>`: taken
//! out, wherever the pieces are split. Only at the very beginning of an answer: anywhere else
//! the words are the model's own.

#[cfg(test)]
mod tests;

const OPENS: &str = "<think>";
const CLOSES: &str = "</think>";

/// Text or thought, and a piece of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    Text(String),
    Thought(String),
}

/// Where in the answer the next piece falls, with what cannot be told yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lead {
    Before(String),
    Thinking(String),
    /// The white space between thought and text is not the text's.
    Between,
    Text,
}

impl Default for Lead {
    fn default() -> Self {
        Lead::Before(String::new())
    }
}

impl Lead {
    /// Takes the next piece of an answer's text.
    pub fn push(&mut self, piece: &str) -> Vec<Said> {
        let mut said = Vec::new();
        let mut rest = piece.to_owned();
        while !rest.is_empty() {
            rest = self.step(rest, &mut said);
        }
        said
    }

    /// What is left to look at.
    fn step(&mut self, piece: String, said: &mut Vec<Said>) -> String {
        match self {
            Lead::Before(held) => {
                held.push_str(&piece);
                let begun = held.trim_start();
                if let Some(rest) = begun.strip_prefix(OPENS) {
                    let rest = rest.to_owned();
                    *self = Lead::Thinking(String::new());
                    return rest;
                }
                if !OPENS.starts_with(begun) {
                    said.push(Said::Text(std::mem::take(held)));
                    *self = Lead::Text;
                }
                String::new()
            }
            Lead::Thinking(held) => {
                held.push_str(&piece);
                if let Some((thought, rest)) = held.split_once(CLOSES) {
                    if !thought.is_empty() {
                        said.push(Said::Thought(thought.to_owned()));
                    }
                    let rest = rest.to_owned();
                    *self = Lead::Between;
                    return rest;
                }
                let kept = (0..CLOSES.len())
                    .rev()
                    .find(|length| held.ends_with(&CLOSES[..*length]))
                    .unwrap_or(0);
                let rest = held.split_off(held.len() - kept);
                let thought = std::mem::replace(held, rest);
                if !thought.is_empty() {
                    said.push(Said::Thought(thought));
                }
                String::new()
            }
            Lead::Between => {
                let text = piece.trim_start();
                if !text.is_empty() {
                    said.push(Said::Text(text.to_owned()));
                    *self = Lead::Text;
                }
                String::new()
            }
            Lead::Text => {
                said.push(Said::Text(piece));
                String::new()
            }
        }
    }

    /// What was held back when something else than text comes, or the end.
    pub fn flush(&mut self) -> Option<Said> {
        match self {
            Lead::Before(held) if held.trim().is_empty() => None,
            Lead::Before(held) => {
                let text = std::mem::take(held);
                *self = Lead::Text;
                Some(Said::Text(text))
            }
            Lead::Thinking(held) if held.is_empty() => None,
            Lead::Thinking(held) => Some(Said::Thought(std::mem::take(held))),
            Lead::Between | Lead::Text => None,
        }
    }
}
