//! Removes the marks that the prompt demanded from an answer while it streams (OC-55). Pure; the
//! result does not depend on how the stream is split, and a text without marks is unchanged. A mark
//! applies only where it was demanded: leading marks at the beginning, closing marks at the end.
//! Elsewhere it is ordinary text.

#[cfg(test)]
mod tests;

use crate::conversation::{Demand, Signal};

/// A piece of visible output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    Text(String),
    Thought(String),
}

/// Longer tags are ordinary text.
const TAG: usize = 200;

/// Most bytes held back because they could still be the end.
const HELD: usize = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Before the first word; blanks between marks are dropped.
    Lead,
    Thought,
    Text,
}

/// One answer while it streams.
#[derive(Clone, Debug)]
pub struct TagFilter {
    marks: Marks,
    place: Place,
    held: String,
    inside: bool,
    /// A mark was removed.
    marked: bool,
    spoken: bool,
    /// The message that the answer replies to: an id, or `current`.
    pub reply: Option<String>,
    token: Option<Signal>,
}

#[derive(Clone, Debug, Default)]
struct Marks {
    thoughts: Option<[String; 2]>,
    answer: Option<[String; 2]>,
    reply: Option<[String; 2]>,
    tokens: Vec<(String, Signal)>,
}

/// How a text begins.
enum Head {
    Thought(usize),
    Answer(usize),
    Reply(usize, String),
    Token(usize, Signal),
    /// Undecided until more arrives.
    Open,
    None,
}

/// How a possible end of an answer reads.
enum Tail {
    /// Only blanks and marks; whether there is a mark.
    Whole(bool),
    /// After a closed answer a new thought begins at this byte.
    Thought(usize),
    /// Undecided until more arrives.
    Open,
    None,
}

impl TagFilter {
    /// `None` if nothing was demanded.
    pub fn new(demands: &[Demand]) -> Option<Self> {
        let mut marks = Marks::default();
        for demand in demands {
            match demand {
                Demand::Thoughts(both) => marks.thoughts = Some(both.clone()),
                Demand::Answer(both) => marks.answer = Some(both.clone()),
                Demand::Reply(both) => marks.reply = Some(both.clone()),
                Demand::Silent(token) => marks.tokens.push((token.clone(), Signal::Silent)),
                Demand::Heartbeat(token) => marks.tokens.push((token.clone(), Signal::Heartbeat)),
            }
        }
        (!demands.is_empty()).then(|| Self {
            marks,
            place: Place::Lead,
            held: String::new(),
            inside: false,
            marked: false,
            spoken: false,
            reply: None,
            token: None,
        })
    }

    /// Consumes the next piece.
    pub fn push(&mut self, piece: &str) -> Vec<Piece> {
        self.held.push_str(piece);
        let mut said = Vec::new();
        while self.step(&mut said) {}
        said
    }

    /// Flushes the text held back, at the end of the answer.
    pub fn finish(&mut self) -> Vec<Piece> {
        let held = std::mem::take(&mut self.held);
        match self.place {
            Place::Thought if !held.is_empty() => vec![Piece::Thought(held)],
            Place::Lead if !held.trim().is_empty() => {
                let text = if self.marked {
                    held.trim_start()
                } else {
                    &held
                };
                let text = text.to_owned();
                self.text(text).into_iter().collect()
            }
            Place::Text if !matches!(self.marks.tail(&held, self.inside), Tail::Whole(true)) => {
                self.text(held).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    /// The signal that the answer consists of, if any.
    pub fn signal(&self) -> Option<Signal> {
        self.token.filter(|_| !self.spoken)
    }

    fn text(&mut self, text: String) -> Option<Piece> {
        if text.is_empty() {
            return None;
        }
        self.spoken = true;
        Some(Piece::Text(text))
    }

    /// Advances over the held text; `true` if it should be called again.
    fn step(&mut self, said: &mut Vec<Piece>) -> bool {
        match self.place {
            Place::Lead => self.lead(),
            Place::Thought => self.thought(said),
            Place::Text => self.tail(said),
        }
    }

    fn lead(&mut self) -> bool {
        let blanks = self.held.len() - self.held.trim_start().len();
        let (place, used) = match self.marks.head(&self.held[blanks..]) {
            Head::Open => return false,
            Head::Thought(mark) => (Place::Thought, blanks + mark),
            Head::Answer(mark) => {
                self.inside = true;
                (Place::Lead, blanks + mark)
            }
            Head::Reply(mark, to) => {
                self.reply = Some(to);
                (Place::Lead, blanks + mark)
            }
            Head::Token(mark, signal) => {
                self.token = Some(signal);
                (Place::Lead, blanks + mark)
            }
            // Blanks before the first word belong to the text unless a mark precedes them.
            Head::None => {
                self.place = Place::Text;
                self.held.drain(..if self.marked { blanks } else { 0 });
                return true;
            }
        };
        self.marked = true;
        self.place = place;
        self.held.drain(..used);
        true
    }

    fn thought(&mut self, said: &mut Vec<Piece>) -> bool {
        let Some([_, closes]) = &self.marks.thoughts else {
            return false;
        };
        if let Some((thought, rest)) = self.held.split_once(closes.as_str()) {
            if !thought.is_empty() {
                said.push(Piece::Thought(thought.to_owned()));
            }
            self.held = rest.to_owned();
            self.place = Place::Lead;
            return true;
        }
        let kept = partial(&self.held, closes);
        let rest = self.held.split_off(self.held.len() - kept);
        let thought = std::mem::replace(&mut self.held, rest);
        if !thought.is_empty() {
            said.push(Piece::Thought(thought));
        }
        false
    }

    /// Emits the text up to a possible end.
    fn tail(&mut self, said: &mut Vec<Piece>) -> bool {
        let mut at = 0;
        while at < self.held.len() {
            let rest = &self.held[at..];
            match self.marks.tail(rest, self.inside) {
                Tail::Thought(used) => {
                    let after = self.held.split_off(at + used);
                    self.held.truncate(at);
                    let text = std::mem::replace(&mut self.held, after);
                    said.extend(self.text(text));
                    (self.place, self.inside) = (Place::Thought, false);
                    return true;
                }
                Tail::Whole(_) | Tail::Open if rest.len() <= HELD => break,
                _ => at += rest.chars().next().map_or(1, char::len_utf8),
            }
        }
        let rest = self.held.split_off(at);
        let text = std::mem::replace(&mut self.held, rest);
        said.extend(self.text(text));
        false
    }
}

impl Marks {
    /// Classifies the beginning of `text`, which has no leading blank.
    fn head(&self, text: &str) -> Head {
        if text.is_empty() {
            return Head::Open;
        }
        if let Some([opens, _]) = &self.thoughts
            && text.starts_with(opens.as_str())
        {
            return Head::Thought(opens.len());
        }
        if let Some([opens, _]) = &self.answer
            && text.starts_with(opens.as_str())
        {
            return Head::Answer(opens.len());
        }
        for (token, signal) in &self.tokens {
            if text.starts_with(token.as_str()) {
                return Head::Token(token.len(), *signal);
            }
        }
        if let Some([opens, closes]) = &self.reply
            && let Some(rest) = text.strip_prefix(opens.as_str())
        {
            let line = rest.split('\n').next().unwrap_or_default();
            return match (line.find(closes.as_str()), rest.len() == line.len()) {
                (Some(end), _) if end <= TAG => match target(&line[..end]) {
                    Some(id) => Head::Reply(opens.len() + end + closes.len(), id.to_owned()),
                    None => Head::None,
                },
                (None, true) if rest.len() <= TAG => Head::Open,
                _ => Head::None,
            };
        }
        let mut firsts = [&self.thoughts, &self.answer, &self.reply]
            .into_iter()
            .flatten()
            .map(|[opens, _]| opens)
            .chain(self.tokens.iter().map(|(token, _)| token));
        match firsts.any(|mark| mark.starts_with(text)) {
            true => Head::Open,
            false => Head::None,
        }
    }

    /// Classifies `text` as the end of an answer; `inside`: the answer's own mark is open.
    fn tail(&self, text: &str, inside: bool) -> Tail {
        let closes = self.answer.as_ref().filter(|_| inside).map(|[_, it]| it);
        let opens = self.thoughts.as_ref().map(|[it, _]| it);
        let (mut rest, mut marked, mut closed) = (text.trim_start(), false, false);
        while !rest.is_empty() {
            let token = self.tokens.iter().map(|(token, _)| token);
            let mut marks = token.chain(closes);
            if let Some(mark) = marks.clone().find(|mark| rest.starts_with(mark.as_str())) {
                closed |= Some(mark) == closes;
                marked = true;
                rest = rest[mark.len()..].trim_start();
                continue;
            }
            let thought = opens.filter(|_| closed);
            if let Some(opens) = thought
                && rest.starts_with(opens.as_str())
            {
                return Tail::Thought(text.len() - rest.len() + opens.len());
            }
            let open = marks.any(|mark| mark.starts_with(rest))
                || thought.is_some_and(|opens| opens.starts_with(rest));
            return if open { Tail::Open } else { Tail::None };
        }
        Tail::Whole(marked)
    }
}

/// Parses `_current` or `:id`, which follow `[[reply_to`.
fn target(tag: &str) -> Option<&str> {
    let id = match tag.strip_prefix(':') {
        Some(id) => id.trim(),
        None => tag.strip_prefix('_')?,
    };
    (!id.is_empty()).then_some(id)
}

/// How many bytes at the end of `text` may begin `mark`.
fn partial(text: &str, mark: &str) -> usize {
    (0..mark.len())
        .rev()
        .filter(|length| mark.is_char_boundary(*length))
        .find(|length| text.ends_with(&mark[..*length]))
        .unwrap_or(0)
}
