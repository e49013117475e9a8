//! Separates thoughts that a model writes before its text, between `<think>` and `</think>`,
//! however the pieces are split. Only at the beginning of an answer: anywhere else the tags are
//! text.

#[cfg(test)]
mod tests;

const OPENS: &str = "<think>";
const CLOSES: &str = "</think>";

/// A piece of text or of a thought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    Text(String),
    Thought(String),
}

/// Which part of the answer is arriving, with the text that is still undecided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ThinkTags {
    Before(String),
    Thinking(String),
    /// Between thought and text; the white space there is dropped.
    Between,
    Text,
}

impl Default for ThinkTags {
    fn default() -> Self {
        ThinkTags::Before(String::new())
    }
}

impl ThinkTags {
    /// Takes the next piece of an answer's text.
    pub fn push(&mut self, piece: &str) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let mut rest = piece.to_owned();
        while !rest.is_empty() {
            rest = self.step(rest, &mut pieces);
        }
        pieces
    }

    /// Takes the beginning of `piece`; returns the rest.
    fn step(&mut self, piece: String, pieces: &mut Vec<Piece>) -> String {
        match self {
            ThinkTags::Before(held) => {
                held.push_str(&piece);
                let begun = held.trim_start();
                if let Some(rest) = begun.strip_prefix(OPENS) {
                    let rest = rest.to_owned();
                    *self = ThinkTags::Thinking(String::new());
                    return rest;
                }
                if !OPENS.starts_with(begun) {
                    pieces.push(Piece::Text(std::mem::take(held)));
                    *self = ThinkTags::Text;
                }
                String::new()
            }
            ThinkTags::Thinking(held) => {
                held.push_str(&piece);
                if let Some((thought, rest)) = held.split_once(CLOSES) {
                    if !thought.is_empty() {
                        pieces.push(Piece::Thought(thought.to_owned()));
                    }
                    let rest = rest.to_owned();
                    *self = ThinkTags::Between;
                    return rest;
                }
                let kept = (0..CLOSES.len())
                    .rev()
                    .find(|length| held.ends_with(&CLOSES[..*length]))
                    .unwrap_or(0);
                let rest = held.split_off(held.len() - kept);
                let thought = std::mem::replace(held, rest);
                if !thought.is_empty() {
                    pieces.push(Piece::Thought(thought));
                }
                String::new()
            }
            ThinkTags::Between => {
                let text = piece.trim_start();
                if !text.is_empty() {
                    pieces.push(Piece::Text(text.to_owned()));
                    *self = ThinkTags::Text;
                }
                String::new()
            }
            ThinkTags::Text => {
                pieces.push(Piece::Text(piece));
                String::new()
            }
        }
    }

    /// The text that was held back, when a call or the end follows.
    pub fn flush(&mut self) -> Option<Piece> {
        match self {
            ThinkTags::Before(held) if held.trim().is_empty() => None,
            ThinkTags::Before(held) => {
                let text = std::mem::take(held);
                *self = ThinkTags::Text;
                Some(Piece::Text(text))
            }
            ThinkTags::Thinking(held) if held.is_empty() => None,
            ThinkTags::Thinking(held) => Some(Piece::Thought(std::mem::take(held))),
            ThinkTags::Between | ThinkTags::Text => None,
        }
    }
}
