//! The terminal of `interline run`: answers as Markdown while they stream, tool calls, retries, and
//! on standard error a spinner while nothing arrives. Only if standard output is a terminal.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::markdown::Look;
use super::markup::{BAD, BOLD, DIM, GOOD, Line, PLAIN, Span, WARN, diff, wrapped};
use super::stream::Stream;
use super::{columns, look};
use crate::conversation::event::ToolItem;
use crate::conversation::{Event, RetryItem, ToolStatus};
use crate::visible;

/// Goes to the first column and clears the line.
const CLEAR: &str = "\r\u{1b}[K";

const FRAMES: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/// The time between two frames of the spinner.
const TICK: Duration = Duration::from_millis(120);

/// A terminal that shows a run.
pub struct Screen {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// The cursor can be moved.
    moves: bool,
    /// Standard error is a terminal too.
    spins: bool,
    stream: Stream,
    /// Something of the current answer was shown.
    streamed: bool,
    /// The last line of standard output is being written.
    live: bool,
    waiting: Option<Waiting>,
    /// The user is being asked.
    asking: bool,
    /// The spinner is on the terminal.
    spinning: bool,
    frame: usize,
    /// Why the last request is retried: shown once.
    retried: Option<String>,
}

struct Waiting {
    what: String,
    /// The last line of a command's output.
    detail: String,
    since: Instant,
    /// When the request is sent again.
    until: Option<Instant>,
}

impl Screen {
    /// A screen, if standard output is a terminal. Needs a tokio runtime.
    pub fn start() -> Option<Self> {
        look()?;
        let moves = std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        let state = Arc::new(Mutex::new(State {
            moves,
            spins: moves && super::complaints_are_seen(),
            ..State::default()
        }));
        tokio::spawn(spin(Arc::downgrade(&state)));
        Some(Self { state })
    }

    /// Shows an event of the turn.
    pub fn event(&self, event: &Event) {
        let mut state = self.state.lock();
        match event {
            Event::TextDelta { text, .. } => state.text(text),
            Event::Text { text, .. } => {
                if !state.streamed {
                    state.text(text);
                }
                state.end_text();
                state.wait("Waiting for the model");
            }
            Event::ThoughtDelta { .. } => state.wait("Thinking"),
            Event::Step { model, .. } => state.wait(&format!("Waiting for {model}")),
            Event::ToolCall(call) => state.tool(call),
            Event::ToolOutputDelta { text, .. } => state.output(text),
            Event::Retry(item) => state.retry(item),
            Event::Plan { todos, .. } => state.notice("", &super::checklist(todos), PLAIN),
            Event::Notice { text } => state.notice("! ", text, WARN),
            Event::Compaction(item) => state.notice("… ", &item.notice(), DIM),
            _ => {}
        }
    }

    /// A message to the user.
    pub fn message(&self, text: &str) {
        self.state.lock().notice("! ", text, WARN);
    }

    /// Shows a question with its details; then the terminal is the user's until [`Self::answered`].
    pub fn ask(&self, title: &str, details: Vec<Line>, prompt: &str) {
        let mut state = self.state.lock();
        let width = width();
        let mut lines = vec![Line::default()];
        lines.extend(wrapped("", title, BOLD, width));
        lines.extend(details);
        state.lines(&lines);
        state.asking = true;
        let prompt = Span::new(prompt, PLAIN);
        super::draw(&Line::of(vec![prompt]).paint(false));
    }

    pub fn answered(&self) {
        let mut state = self.state.lock();
        state.asking = false;
        state.wait("Working");
    }

    /// The turn is over: shows what is left.
    pub fn end(&self) {
        let mut state = self.state.lock();
        state.end_text();
        state.clear_spinner();
        state.waiting = None;
    }
}

fn width() -> usize {
    columns().unwrap_or(80)
}

impl State {
    fn look(&self) -> Look {
        look().unwrap_or(Look {
            width: 80,
            styles: false,
        })
    }

    fn text(&mut self, text: &str) {
        self.streamed = true;
        self.retried = None;
        let look = self.look();
        let shown = self.stream.push(text, look);
        let live = shown.live.filter(|_| self.moves);
        if shown.settled.is_empty() && live.is_none() && !self.live {
            // Held back, such as a table: the spinner keeps turning.
            self.wait("Writing");
            return;
        }
        self.waiting = None;
        let mut out = self.begin();
        for line in &shown.settled {
            out.push_str(&line.paint(look.styles));
            out.push('\n');
        }
        if let Some(line) = live {
            out.push_str(
                &line
                    .truncated(look.width.saturating_sub(1))
                    .paint(look.styles),
            );
            self.live = true;
        }
        super::draw(&out);
    }

    fn end_text(&mut self) {
        self.streamed = false;
        let look = self.look();
        let lines = self.stream.end(look);
        self.print(&lines);
    }

    /// Lines between texts.
    fn lines(&mut self, lines: &[Line]) {
        self.end_text();
        self.print(lines);
    }

    fn print(&mut self, lines: &[Line]) {
        if lines.is_empty() && !self.live {
            return;
        }
        let styles = self.look().styles;
        let mut out = self.begin();
        for line in lines {
            out.push_str(&line.paint(styles));
            out.push('\n');
        }
        super::draw(&out);
    }

    /// Makes room for output: what clears the line that is being written.
    fn begin(&mut self) -> String {
        self.clear_spinner();
        match std::mem::take(&mut self.live) {
            true => CLEAR.to_owned(),
            false => String::new(),
        }
    }

    fn clear_spinner(&mut self) {
        if std::mem::take(&mut self.spinning) {
            super::draw_beside(CLEAR);
        }
    }

    fn notice(&mut self, mark: &str, text: &str, style: anstyle::Style) {
        self.lines(&wrapped(mark, text, style, width()));
    }

    fn wait(&mut self, what: &str) {
        match &mut self.waiting {
            Some(waiting) if waiting.what == what => {}
            _ => {
                self.waiting = Some(Waiting {
                    what: what.to_owned(),
                    detail: String::new(),
                    since: Instant::now(),
                    until: None,
                });
            }
        }
    }

    fn output(&mut self, text: &str) {
        let last = text.lines().rev().find(|line| !line.trim().is_empty());
        if let (Some(waiting), Some(last)) = (&mut self.waiting, last) {
            waiting.detail = last.trim().to_owned();
        }
    }

    fn tool(&mut self, call: &ToolItem) {
        let title = visible::line(&call.title);
        let (mark, style) = match call.status {
            ToolStatus::Completed => ("✓ ", GOOD),
            ToolStatus::Failed => ("✗ ", BAD),
            ToolStatus::Rejected | ToolStatus::Cancelled => ("– ", WARN),
            ToolStatus::Pending => {
                self.end_text();
                return self.wait(&title);
            }
            ToolStatus::Running | ToolStatus::AwaitingApproval | ToolStatus::AwaitingSave => {
                return self.wait(&title);
            }
        };
        let width = width();
        let mut lines = wrapped(mark, &title, BOLD, width);
        if let Some(mark) = lines.first_mut().and_then(|line| line.spans.first_mut()) {
            mark.style = style;
        }
        if call.status == ToolStatus::Completed {
            lines.extend(call.diff.as_deref().map(diff).unwrap_or_default());
        } else {
            // As it is: a command's output has indents and columns.
            let why = visible::exact(call.output.as_deref().unwrap_or_default());
            let why = why.trim_end().lines();
            lines.extend(why.map(|line| Line::verbatim(&format!("  {line}"), PLAIN)));
        }
        self.lines(&lines);
        self.wait("Working");
    }

    /// The reason is shown once, not for each attempt; the spinner counts down.
    fn retry(&mut self, item: &RetryItem) {
        let reason = &item.reason;
        if self.retried.as_ref() != Some(reason) {
            self.notice("… ", &format!("{reason} Retrying."), DIM);
            self.retried = Some(reason.clone());
        }
        let now = Instant::now();
        self.waiting = Some(Waiting {
            what: "Retrying".to_owned(),
            detail: item.progress(),
            since: now,
            until: Some(now + Duration::from_millis(item.in_ms)),
        });
    }

    /// The next frame of the spinner.
    fn frame(&mut self) {
        let Some(waiting) = self.waiting.as_ref().filter(|_| self.spins) else {
            return self.clear_spinner();
        };
        if self.live || self.asking {
            return;
        }
        let now = Instant::now();
        let seconds = match waiting.until {
            Some(until) => {
                let left = until.saturating_duration_since(now).as_secs_f64().ceil();
                format!("in {left:.0} s")
            }
            None => format!("{} s", (now - waiting.since).as_secs()),
        };
        let mut text = format!("{} {} · {seconds}", FRAMES[self.frame], waiting.what);
        if !waiting.detail.is_empty() {
            text.push_str(&format!(" · {}", visible::line(&waiting.detail)));
        }
        let line = Line::of(vec![Span::new(&text, DIM)]).truncated(width() - 1);
        self.frame = (self.frame + 1) % FRAMES.len();
        self.spinning = true;
        let styles = self.look().styles;
        super::draw_beside(&format!("{CLEAR}{}", line.paint(styles)));
    }
}

async fn spin(state: Weak<Mutex<State>>) {
    let mut ticks = tokio::time::interval(TICK);
    loop {
        ticks.tick().await;
        let Some(state) = state.upgrade() else {
            return;
        };
        state.lock().frame();
    }
}
