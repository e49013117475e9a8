//! A scripted editor: a text buffer that sends didOpen and didChange into the mirror and answers
//! edits by its habits (measured in the real editors). Time is tokio's paused clock.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use ropey::Rope;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

use interline::conversation::event::Envelope;
use interline::edit::rebase::rebase;
use interline::edit::{Hunk, lines};
use interline::host::*;
use interline::workspace::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stale {
    Refuse,
    /// Neovim: not applied, yet `applied: true`.
    Drop,
    /// Zed, and our own plugins with `interline/edit/apply`: mapped through its change log.
    Rebase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Honest,
    True,
    False,
    Never,
    /// The result of `interline/edit/apply`.
    Mapped,
}

#[derive(Clone, Copy, Debug)]
pub struct Habits {
    pub stale: Stale,
    pub answer: Answer,
    /// How long a didChange is delayed and merged; zero: one per key, at once.
    pub hold: Duration,
    /// Delayed until the user pauses for that long (Emacs); else until that long after the last
    /// didChange (Neovim).
    pub idle: bool,
    /// The delay that the host reports.
    pub delay: Duration,
    /// The didChange is sent before the answer.
    pub change_first: bool,
    /// The time from sending to the editor.
    pub latency: Duration,
    /// The time from applying to the answer.
    pub late: Duration,
    /// False: applies nothing, whatever it answers.
    pub applies: bool,
    /// Inserts the new text this many bytes too late.
    pub misplace: usize,
    /// The hash in its answer is that of another text.
    pub wrong_hash: bool,
    /// Files that it opens for an edit are opened for us too.
    pub attaches: bool,
    pub fidelity: Fidelity,
    /// The text of a file that it opens for an edit, if it differs from the disk's.
    pub shows: Option<&'static str>,
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

impl Habits {
    pub const VSCODE: Self = Self {
        stale: Stale::Refuse,
        answer: Answer::Honest,
        hold: Duration::ZERO,
        idle: false,
        delay: Duration::ZERO,
        change_first: false,
        latency: ms(2),
        late: Duration::ZERO,
        applies: true,
        misplace: 0,
        wrong_hash: false,
        attaches: true,
        fidelity: Fidelity::Versioned,
        shows: None,
    };
    pub const HELIX: Self = Self {
        change_first: true,
        ..Self::VSCODE
    };
    pub const NEOVIM: Self = Self {
        stale: Stale::Drop,
        answer: Answer::True,
        hold: ms(150),
        delay: ms(150),
        ..Self::VSCODE
    };
    pub const EGLOT: Self = Self {
        hold: ms(500),
        idle: true,
        delay: ms(600),
        ..Self::VSCODE
    };
    pub const ZED: Self = Self {
        stale: Stale::Rebase,
        answer: Answer::True,
        change_first: true,
        ..Self::VSCODE
    };
    /// A client with our plugin.
    pub const ANCHORED: Self = Self {
        stale: Stale::Rebase,
        answer: Answer::Mapped,
        hold: ms(150),
        delay: ms(150),
        fidelity: Fidelity::Anchored,
        ..Self::VSCODE
    };
    pub const TERMINAL: Self = Self {
        fidelity: Fidelity::Disk,
        ..Self::VSCODE
    };
}

struct Buffer {
    text: String,
    version: i32,
    open: bool,
    /// The text that the server was last sent.
    last_sent: String,
    /// Counts the timers set; the last one flushes.
    timers: u64,
    flushed: Option<Instant>,
    /// Own changes with the version after each.
    changes: Vec<(i32, Change)>,
    /// The texts before each change, for the editor's undo.
    earlier: Vec<String>,
    /// The version with which it was opened last.
    opened: i32,
    requests: Vec<(Instant, EditRequest)>,
    attaches: Option<bool>,
}

pub struct Editor {
    habits: Mutex<Habits>,
    workspace: Arc<Workspace>,
    uri: Uri,
    /// Whether the log's last entry is the intent of an edit.
    intended: Box<dyn Fn() -> bool + Send + Sync>,
    buffer: Mutex<Buffer>,
    me: std::sync::Weak<Editor>,
}

impl Editor {
    pub fn new(
        habits: Habits,
        workspace: &Arc<Workspace>,
        uri: Uri,
        intended: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            habits: Mutex::new(habits),
            workspace: Arc::clone(workspace),
            uri,
            intended: Box::new(intended),
            buffer: Mutex::new(Buffer {
                text: String::new(),
                version: 0,
                open: false,
                last_sent: String::new(),
                timers: 0,
                flushed: None,
                changes: Vec::new(),
                earlier: Vec::new(),
                opened: 0,
                requests: Vec::new(),
                attaches: None,
            }),
            me: me.clone(),
        })
    }

    pub fn uri(&self) -> Uri {
        self.uri.clone()
    }

    pub fn habits(&self) -> Habits {
        *self.habits.lock().unwrap()
    }

    pub fn change_habits(&self, habits: Habits) {
        *self.habits.lock().unwrap() = habits;
    }

    pub fn text(&self) -> String {
        self.lock().text.clone()
    }

    pub fn requests(&self) -> Vec<(Instant, EditRequest)> {
        self.lock().requests.clone()
    }

    pub fn learned(&self) -> Option<bool> {
        self.lock().attaches
    }

    pub fn open(&self, text: &str) {
        let mut buffer = self.lock();
        buffer.version += 1;
        buffer.open = true;
        buffer.text = text.to_owned();
        buffer.earlier.clear();
        buffer.changes.clear();
        buffer.opened = buffer.version;
        buffer.last_sent = text.to_owned();
        buffer.flushed = Some(Instant::now());
        self.workspace
            .did_open(self.uri.clone(), "text", buffer.version, text);
    }

    pub fn close(&self) {
        self.lock().open = false;
        self.workspace.did_close(&self.uri);
    }

    pub fn save(&self) {
        let text = self.text();
        std::fs::write(self.uri.path().unwrap(), &text).unwrap();
        self.flush();
        self.workspace.did_save(&self.uri, None);
    }

    /// The user types at a byte offset.
    pub fn types(&self, at: usize, removed: usize, inserted: &str) {
        let mut buffer = self.lock();
        let hunk = Hunk {
            start: at,
            end: at + removed,
            text: inserted.to_owned(),
        };
        self.change(&mut buffer, &[hunk]);
    }

    /// Types at several places (ascending) at once, reported in one didChange.
    pub fn types_at(&self, hunks: &[Hunk]) {
        let mut buffer = self.lock();
        self.change(&mut buffer, hunks);
    }

    /// Undoes the last change, whoever made it. False: nothing is left to undo.
    pub fn undo(&self) -> bool {
        let mut buffer = self.lock();
        let Some(text) = buffer.earlier.pop() else {
            return false;
        };
        let whole = Hunk {
            start: 0,
            end: buffer.text.len(),
            text,
        };
        if let Some(hunk) = lines::trim(&buffer.text, whole) {
            self.change(&mut buffer, &[hunk]);
            buffer.earlier.pop();
        }
        true
    }

    /// Reads the file from disk again, as an editor does that discards the buffer.
    pub fn reload(&self) {
        self.close();
        let text = std::fs::read_to_string(self.uri.path().unwrap()).unwrap();
        self.open(&text);
    }

    /// Types before the first occurrence of `place`.
    pub fn types_before(&self, place: &str, inserted: &str) {
        let at = self.text().find(place).expect("the place is there");
        self.types(at, 0, inserted);
    }

    fn lock(&self) -> MutexGuard<'_, Buffer> {
        self.buffer.lock().unwrap()
    }

    /// One change of the buffer (hunks ascending), reported at once or later.
    fn change(&self, buffer: &mut Buffer, hunks: &[Hunk]) {
        if self.habits().hold.is_zero() {
            // Changes are reported in order.
            self.tell(buffer);
        }
        let changes = self.edit(buffer, hunks);
        let version = buffer.version;
        if !buffer.open {
            return;
        }
        if self.habits().hold.is_zero() {
            buffer.last_sent = buffer.text.clone();
            self.workspace
                .did_change(&self.uri, version, &changes, Encoding::Utf16);
        } else {
            buffer.timers += 1;
            let timer = buffer.timers;
            let habits = self.habits();
            let since = match buffer.flushed {
                Some(at) if !habits.idle => at.elapsed(),
                _ => Duration::ZERO,
            };
            let (me, wait) = (self.me.clone(), habits.hold.saturating_sub(since));
            tokio::spawn(async move {
                sleep(wait).await;
                if let Some(me) = me.upgrade().filter(|me| me.lock().timers == timer) {
                    me.flush();
                }
            });
        }
    }

    /// Changes the buffer only.
    fn edit(&self, buffer: &mut Buffer, hunks: &[Hunk]) -> Vec<ContentChange> {
        let before = Rope::from_str(&buffer.text);
        buffer.earlier.push(buffer.text.clone());
        buffer.version += 1;
        let version = buffer.version;
        let mut changes = Vec::new();
        for hunk in hunks.iter().rev() {
            changes.push(ContentChange {
                range: Some(Range {
                    start: text::position(&before, hunk.start, Encoding::Utf16),
                    end: text::position(&before, hunk.end, Encoding::Utf16),
                }),
                text: hunk.text.clone(),
            });
            let change = Change {
                revision: Revision(0),
                start: hunk.start,
                removed: buffer.text[hunk.start..hunk.end].to_owned(),
                inserted: hunk.text.clone(),
                author: Author::User,
                continues: false,
            };
            buffer.changes.push((version, change));
            buffer.text.replace_range(hunk.start..hunk.end, &hunk.text);
        }
        changes
    }

    /// Neovim's way: one change from the first to the last byte that differs.
    pub fn flush(&self) {
        self.tell(&mut self.lock());
    }

    fn tell(&self, buffer: &mut Buffer) {
        buffer.flushed = Some(Instant::now());
        if !buffer.open || buffer.last_sent == buffer.text {
            return;
        }
        let whole = Hunk {
            start: 0,
            end: buffer.last_sent.len(),
            text: buffer.text.clone(),
        };
        let before = Rope::from_str(&buffer.last_sent);
        let Some(hunk) = lines::trim(&buffer.last_sent, whole) else {
            return;
        };
        let change = ContentChange {
            range: Some(Range {
                start: text::position(&before, hunk.start, Encoding::Utf16),
                end: text::position(&before, hunk.end, Encoding::Utf16),
            }),
            text: hunk.text,
        };
        buffer.last_sent = buffer.text.clone();
        self.workspace
            .did_change(&self.uri, buffer.version, &[change], Encoding::Utf16);
    }

    /// The request reached the editor.
    async fn takes(self: Arc<Self>, edit: EditRequest, reply: oneshot::Sender<EditAnswer>) {
        let habits = self.habits();
        let (applied, version, rebased) = {
            let mut buffer = self.lock();
            if !buffer.open {
                self.opens_for(&mut buffer, &edit);
            }
            let at = Rope::from_str(&buffer.text);
            let fresh = edit.version.is_none_or(|version| version == buffer.version);
            let placed = match (fresh, habits.stale) {
                (true, _) => Some(placed(&edit, &at)),
                (false, Stale::Rebase) if edit.exact && habits.answer == Answer::Mapped => None,
                (false, Stale::Rebase) => self.mapped(&buffer, &edit),
                (false, _) => None,
            };
            let applied = habits.applies && placed.is_some();
            if let (true, Some(mut hunks)) = (applied, placed) {
                for hunk in &mut hunks {
                    if habits.misplace > 0 {
                        hunk.start += habits.misplace;
                        hunk.end = hunk.start;
                    }
                }
                if habits.change_first || !habits.hold.is_zero() {
                    self.change(&mut buffer, &hunks);
                } else {
                    // The answer overtakes the didChange.
                    let me = Arc::clone(&self);
                    self.edit(&mut buffer, &hunks);
                    tokio::spawn(async move {
                        sleep(ms(1)).await;
                        me.flush();
                    });
                }
            }
            (applied, buffer.version, !fresh)
        };
        sleep(habits.late).await;
        let answer = match habits.answer {
            Answer::Never => return std::future::pending().await,
            Answer::True => EditAnswer::Claimed,
            Answer::Honest if applied => EditAnswer::Claimed,
            Answer::Honest | Answer::False => EditAnswer::Refused {
                reason: "stale".to_owned(),
            },
            Answer::Mapped if applied => EditAnswer::Mapped {
                rebased,
                version,
                hash: match habits.wrong_hash {
                    true => files::rope_hash(&Rope::from_str("another text")),
                    false => files::rope_hash(&Rope::from_str(&self.text())),
                },
            },
            Answer::Mapped if edit.exact => EditAnswer::Refused {
                reason: "the text has changed".to_owned(),
            },
            Answer::Mapped => EditAnswer::Conflict {
                reason: "overlap".to_owned(),
            },
        };
        let _ = reply.send(answer);
    }

    fn opens_for(&self, buffer: &mut Buffer, edit: &EditRequest) {
        let path = self.uri.path().unwrap();
        buffer.text = match std::fs::read_to_string(&path) {
            Ok(_) if self.habits().shows.is_some() => self.habits().shows.unwrap().to_owned(),
            Ok(text) => text,
            Err(_) if edit.create => String::new(),
            Err(error) => panic!("an edit of a file that is not there: {error}"),
        };
        buffer.version += 1;
        buffer.last_sent = buffer.text.clone();
        buffer.open = self.habits().attaches;
        if buffer.open {
            let version = buffer.version;
            self.workspace
                .did_open(self.uri.clone(), "text", version, &buffer.text);
        }
    }

    fn mapped(&self, buffer: &Buffer, edit: &EditRequest) -> Option<Vec<Hunk>> {
        let version = edit.version.filter(|version| *version >= buffer.opened)?;
        let since: Vec<Change> = buffer
            .changes
            .iter()
            .filter(|(at, _)| *at > version)
            .map(|(_, change)| change.clone())
            .collect();
        let then = since
            .iter()
            .rev()
            .fold(buffer.text.clone(), |text, change| {
                let mut text = text;
                let end = change.start + change.inserted.len();
                text.replace_range(change.start..end, &change.removed);
                text
            });
        rebase(&placed(edit, &Rope::from_str(&then)), &since).ok()
    }
}

fn placed(edit: &EditRequest, text: &Rope) -> Vec<Hunk> {
    if edit.version.is_some() {
        let hash = files::rope_hash(text);
        assert_eq!(edit.hash, hash, "the version names the text");
    }
    edit.edits
        .iter()
        .map(|edit| Hunk {
            start: text::offset(text, edit.range.start, Encoding::Utf16).unwrap(),
            end: text::offset(text, edit.range.end, Encoding::Utf16).unwrap(),
            text: edit.new_text.clone(),
        })
        .collect()
}

#[async_trait]
impl Host for Editor {
    fn fidelity(&self) -> Fidelity {
        self.habits().fidelity
    }

    fn encoding(&self) -> Encoding {
        Encoding::Utf16
    }

    fn delay(&self) -> Duration {
        self.habits().delay
    }

    fn drops_stale(&self) -> bool {
        self.habits().stale == Stale::Drop
    }

    fn fences(&self) -> bool {
        let habits = self.habits();
        habits.fidelity == Fidelity::Versioned && habits.stale != Stale::Rebase
    }

    fn attaches(&self, suffix: &str) -> Option<bool> {
        assert_eq!(suffix, "txt");
        self.lock().attaches
    }

    fn learn_attach(&self, _suffix: &str, attaches: bool) {
        self.lock().attaches = Some(attaches);
    }

    fn apply(&self, edit: EditRequest) -> BoxFuture<'static, EditAnswer> {
        assert!((self.intended)(), "INV-6: intent before the act");
        self.lock().requests.push((Instant::now(), edit.clone()));
        let (reply, answer) = oneshot::channel();
        let me = self.me.upgrade().unwrap();
        tokio::spawn(async move {
            sleep(me.habits().latency).await;
            me.takes(edit, reply).await;
        });
        Box::pin(async move {
            answer.await.unwrap_or(EditAnswer::Gone {
                reason: "gone".to_owned(),
            })
        })
    }

    async fn approve(&self, _request: ApprovalRequest) -> ApprovalAnswer {
        ApprovalAnswer::rejected("test")
    }

    fn notify(&self, _envelope: Arc<Envelope>) {}

    fn message(&self, _text: &str) {}
}
