//! Markdown as lines for a terminal: headings, emphasis, lists, quotes, code, tables, links. Pure.

use std::ops::Range;

use anstyle::{Effects, Style};
use pulldown_cmark::{Alignment, CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::markup::{CODE, DIM, Line, PLAIN, Span, wrap};
use super::table::{self, Cell, Side};

/// How it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    pub width: usize,
    /// Without styles, marks show what headings and code are.
    pub styles: bool,
}

/// A top-level block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    pub lines: Vec<Line>,
    /// Its place in the source.
    pub range: Range<usize>,
    /// Lines that more text after the source does not change.
    pub settled: usize,
    /// The line after the settled ones can be shown in its current state.
    pub live: bool,
}

impl Block {
    /// Nothing of a table is settled before its end.
    pub fn is_table(&self) -> bool {
        !self.live && self.settled == 0 && self.lines.len() > 1
    }
}

/// The longest rule that is drawn.
const RULE: usize = 60;

/// The blocks of a text, in order.
pub fn blocks(source: &str, look: Look) -> Vec<Block> {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut renderer = Renderer::new(look);
    for (event, range) in Parser::new_ext(source, options).into_offset_iter() {
        renderer.event(event, &range);
    }
    renderer.blocks
}

/// What indents the lines inside a list item or a quote.
struct Container {
    first: Option<String>,
    rest: String,
    /// It has a block already, so the next one follows an empty line.
    begun: bool,
}

struct Renderer {
    look: Look,
    blocks: Vec<Block>,
    block: Block,
    depth: usize,
    containers: Vec<Container>,
    /// The next number of each open list.
    lists: Vec<Option<u64>>,
    inline: Vec<Span>,
    styles: Vec<Style>,
    links: Vec<(String, usize)>,
    code: Option<(String, String)>,
    rows: Vec<Vec<Cell>>,
    sides: Vec<Side>,
}

impl Renderer {
    fn new(look: Look) -> Self {
        Self {
            look,
            blocks: Vec::new(),
            block: Block::default(),
            depth: 0,
            containers: Vec::new(),
            lists: Vec::new(),
            inline: Vec::new(),
            styles: Vec::new(),
            links: Vec::new(),
            code: None,
            rows: Vec::new(),
            sides: Vec::new(),
        }
    }

    fn event(&mut self, event: Event<'_>, range: &Range<usize>) {
        if self.depth == 0 {
            self.block.range = range.clone();
        }
        match event {
            Event::Start(tag) => {
                self.depth += 1;
                self.start(tag);
            }
            Event::End(tag) => {
                self.end(tag);
                self.depth -= 1;
            }
            Event::Text(text) => match &mut self.code {
                Some((_, code)) => code.push_str(&text),
                None => self.text(&text),
            },
            Event::Code(text) => {
                let style = CODE.effects(self.style().get_effects());
                let text = match self.look.styles {
                    true => text.to_string(),
                    false => format!("`{text}`"),
                };
                self.inline.push(Span::new(&text, style));
            }
            Event::InlineHtml(html) if html.starts_with("<br") => self.text("\n"),
            Event::Html(text) | Event::InlineHtml(text) => self.text(&text),
            Event::SoftBreak => self.text(" "),
            Event::HardBreak => self.text("\n"),
            Event::Rule => self.rule(""),
            Event::TaskListMarker(done) => self.text(if done { "[x] " } else { "[ ] " }),
            _ => {}
        }
        if self.depth == 0 {
            self.blocks.push(std::mem::take(&mut self.block));
        }
    }

    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or(PLAIN)
    }

    fn text(&mut self, text: &str) {
        self.inline.push(Span::new(text, self.style()));
    }

    fn begin_style(&mut self, effects: Effects) {
        let style = self.style();
        self.styles
            .push(style.effects(style.get_effects() | effects));
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.gap(),
            Tag::Heading { level, .. } => {
                self.gap();
                if !self.look.styles {
                    self.text(&format!("{} ", "#".repeat(level as usize)));
                }
                let under = match level {
                    HeadingLevel::H1 | HeadingLevel::H2 => Effects::UNDERLINE,
                    _ => Effects::new(),
                };
                self.begin_style(Effects::BOLD | under);
            }
            Tag::BlockQuote(_) => {
                self.gap();
                self.contain(None, "│ ".to_owned());
            }
            Tag::CodeBlock(kind) => {
                self.gap();
                let language = match kind {
                    CodeBlockKind::Fenced(info) => {
                        info.split([' ', ',']).next().unwrap_or_default().to_owned()
                    }
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((language, String::new()));
            }
            Tag::List(first) => {
                self.flush();
                self.lists.push(first);
            }
            Tag::Item => {
                let mark = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => "• ".to_owned(),
                };
                let rest = " ".repeat(mark.chars().count());
                self.contain(Some(mark), rest);
            }
            Tag::Table(sides) => {
                self.gap();
                let side = |alignment: &Alignment| match alignment {
                    Alignment::Right => Side::Right,
                    Alignment::Center => Side::Middle,
                    Alignment::Left | Alignment::None => Side::Left,
                };
                self.sides = sides.iter().map(side).collect();
            }
            Tag::TableHead => {
                self.rows.push(Vec::new());
                self.begin_style(Effects::BOLD);
            }
            Tag::TableRow => self.rows.push(Vec::new()),
            Tag::Emphasis => self.begin_style(Effects::ITALIC),
            Tag::Strong => self.begin_style(Effects::BOLD),
            Tag::Strikethrough => self.begin_style(Effects::STRIKETHROUGH),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.begin_style(Effects::UNDERLINE);
                self.links.push((dest_url.to_string(), self.inline.len()));
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.flush(),
            TagEnd::Heading(_) => {
                self.styles.pop();
                self.flush();
            }
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.containers.pop();
            }
            TagEnd::Item => {
                let empty = self.containers.last().is_some_and(|it| it.first.is_some());
                if empty && self.inline.is_empty() {
                    self.text("");
                }
                self.flush();
                self.containers.pop();
            }
            TagEnd::List(_) => {
                self.lists.pop();
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.inline);
                if let Some(row) = self.rows.last_mut() {
                    row.push(cell);
                }
            }
            TagEnd::TableHead | TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Table => self.end_table(),
            TagEnd::Link | TagEnd::Image => {
                self.styles.pop();
                self.end_link();
            }
            _ => {}
        }
    }

    fn contain(&mut self, first: Option<String>, rest: String) {
        self.containers.push(Container {
            first,
            rest,
            begun: false,
        });
    }

    /// What the next line begins with, and the ones after it.
    fn indents(&mut self) -> (Span, Span) {
        let rest: String = self.containers.iter().map(|it| it.rest.as_str()).collect();
        let first: String = self
            .containers
            .iter_mut()
            .map(|it| it.first.take().unwrap_or_else(|| it.rest.clone()))
            .collect();
        (Span::new(&first, PLAIN), Span::new(&rest, PLAIN))
    }

    /// Before a block: an empty line if its container has one already.
    fn gap(&mut self) {
        self.flush();
        let Some(container) = self.containers.last_mut() else {
            return;
        };
        if std::mem::replace(&mut container.begun, true) {
            let (_, rest) = self.indents();
            let rest = Span::new(rest.text.trim_end(), PLAIN);
            self.block.lines.push(Line::default().indented(rest));
        }
    }

    /// The collected text as lines.
    fn flush(&mut self) {
        if self.inline.is_empty() {
            return;
        }
        if let Some(container) = self.containers.last_mut() {
            container.begun = true;
        }
        let (first, rest) = self.indents();
        let inline = std::mem::take(&mut self.inline);
        let lines = wrap(&inline, &first, &rest, self.look.width);
        self.block.lines.extend(lines);
        self.unsettled(1, true);
    }

    /// The last lines can still change.
    fn unsettled(&mut self, lines: usize, live: bool) {
        self.block.settled = self.block.lines.len().saturating_sub(lines);
        self.block.live = live;
    }

    fn rule(&mut self, title: &str) {
        let (first, _) = self.indents();
        let room = self
            .look
            .width
            .saturating_sub(Line::of(vec![first.clone()]).width());
        let mut text = match title {
            "" => String::new(),
            title => format!("── {title} "),
        };
        let left = room.min(RULE).saturating_sub(text.chars().count());
        text.push_str(&"─".repeat(left));
        let line = Line::of(vec![Span::new(&text, DIM)]);
        self.block.lines.push(line.indented(first));
        self.block.settled = self.block.lines.len();
    }

    /// Code between two rules, flush left and not wrapped, so that it can be copied.
    fn end_code(&mut self) {
        let Some((language, code)) = self.code.take() else {
            return;
        };
        self.rule(&language);
        let (_, rest) = self.indents();
        for line in code.lines() {
            let line = Line::verbatim(line, CODE);
            self.block.lines.push(line.indented(rest.clone()));
        }
        self.rule("");
        let open = if code.is_empty() { 1 } else { 2 };
        self.unsettled(open, !code.is_empty());
    }

    fn end_table(&mut self) {
        let (first, rest) = self.indents();
        let rows = std::mem::take(&mut self.rows);
        let indent = Line::of(vec![rest.clone()]).width();
        let room = self.look.width.saturating_sub(indent);
        let lines = table::lines(&rows, &self.sides, true, room);
        let count = lines.len();
        for (index, line) in lines.into_iter().enumerate() {
            let indent = if index == 0 { &first } else { &rest };
            self.block.lines.push(line.indented(indent.clone()));
        }
        // The next row can change the widths of all.
        self.unsettled(count, false);
    }

    /// The address of a link, unless it is the link's text.
    fn end_link(&mut self) {
        let Some((address, from)) = self.links.pop() else {
            return;
        };
        let text: String = self
            .inline
            .iter()
            .skip(from)
            .map(|it| it.text.as_str())
            .collect();
        let shown = address.strip_prefix("mailto:").unwrap_or(&address);
        if !shown.is_empty() && text != shown {
            self.inline.push(Span::new(&format!(" ({address})"), DIM));
        }
    }
}

/// A whole text as lines, with an empty one between its blocks.
pub fn lines(source: &str, look: Look) -> Vec<Line> {
    let mut out = Vec::new();
    for block in blocks(source, look) {
        if !out.is_empty() {
            out.push(Line::default());
        }
        out.extend(block.lines);
    }
    out
}

#[cfg(test)]
mod tests;
