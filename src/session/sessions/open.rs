//! Opens a stored session: starts a task from its log, and closes in the log whatever the last
//! process left open.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Sessions;
use super::storage::off_thread;
use crate::agent::Settings;
use crate::agent::request::attachments::shown_path;
use crate::config::Config;
use crate::conversation::entry::StoredSettings;
use crate::conversation::event::{EnvelopeBody, Origin};
use crate::conversation::{Entry, Event, Failure, Message, Recorder, Role, SessionId, TurnId};
use crate::env::workspace_name;
use crate::prompt::facts::Detail;
use crate::session::actor::{self, Handle, Parts};
use crate::session::api::{OpenSession, OpenedSession, SessionAccess};
use crate::session::checkpoint::{self, Recalled};
use crate::session::layouts::load_layout;
use crate::session::resume::{self, ClientTurn, Resumed};
use crate::session::routing::Own;
use crate::session::store::{Header, Log, NoLog};
use crate::workspace::Uri;

/// A stored session that has a task again.
pub(super) struct Reopened {
    pub handle: Handle,
    /// The number of its last event.
    pub seq: u64,
    pub access: SessionAccess,
    /// A notice about the log.
    pub notice: Option<String>,
}

impl Sessions {
    /// Opens a stored session, or returns an open one.
    pub async fn open(&self, open: OpenSession) -> Result<OpenedSession, Failure> {
        let path = self.stored(&open.session_id)?;
        // Two concurrent opens of one session would lock each other out of its log.
        let _one = self.opening.lock().await;
        // Before its log is read, so that nothing is missing in between.
        let follows = self.children.follow(&open.session_id);
        let known = self.handle(&open.session_id).ok();
        if known.as_ref().is_some_and(|handle| !handle.writable) {
            // The process that wrote it may be gone by now.
            self.close(&open.session_id).await?;
        }
        let before = open.before.and_then(|cursor| cursor.parse::<u64>().ok());
        let limit = open.limit.unwrap_or(200) as usize;
        let mut notice = None;
        let (handle, seq, access) = match known {
            Some(handle) if handle.writable => (handle, None, SessionAccess::Write),
            _ => {
                let cwd = open.cwd.as_deref();
                let resumed = self.resume(&path, &open.session_id, cwd).await?;
                notice = resumed.notice;
                let access = resumed.access;
                let followed = follows && access == SessionAccess::ReadOnly;
                let seq = Some(resumed.seq).filter(|_| !followed);
                (resumed.handle, seq, access)
            }
        };
        // It is among the shown items, or it is reported separately.
        let shown = limit > 0 && before.is_none() && access == SessionAccess::Write;
        if let Some(text) = notice.take_if(|_| !shown) {
            self.show(text);
        }
        let session = handle.ask(|actor| actor.info()).await?;
        let id = open.session_id;
        let (page, last) = off_thread(&path, move |path| {
            let page = checkpoint::page(path, &id, before, limit)?;
            let last = match page.items.last() {
                Some(item) if before.is_none() => item.seq,
                _ => checkpoint::page(path, &id, None, 1)?.last(),
            };
            Ok((page, last))
        })
        .await?;
        Ok(OpenedSession {
            session,
            items: page.items,
            prev_cursor: page.before.map(|byte| byte.to_string()),
            // Later events of a continuing session are numbered after the shown ones.
            seq: seq.unwrap_or(last),
            access,
            notice,
        })
    }

    pub(super) async fn resume(
        &self,
        path: &Path,
        id: &SessionId,
        cwd: Option<&str>,
    ) -> Result<Reopened, Failure> {
        let (log, recalled) = off_thread(path, |path| {
            Ok((Log::open(path)?, checkpoint::recall(path)?))
        })
        .await?;
        let Recalled {
            header,
            mut resumed,
        } = recalled;
        let log = log.map(Arc::new);
        let recorder: Arc<dyn Recorder> = match &log {
            Some(log) => log.clone(),
            None => Arc::new(NoLog),
        };
        let cwd = self.place_of(&header, path, cwd)?;
        if log.is_some() {
            self.close_interrupted(&mut resumed, recorder.as_ref(), &cwd);
        }
        let notice = report_lost(&mut resumed, path, recorder.as_ref());
        let config = self.config();
        let layout = load_layout(&self.shared, resumed.layout())?;
        let settings = settings(&resumed.settings, config);
        let writable = log.is_some();
        let parts = Parts {
            title: resumed.settings.title.clone(),
            model: Own::stored(&resumed.settings),
            conversation: resumed.conversation,
            seq: resumed.seq,
            ended: resumed.turns,
            clients: resumed.clients,
            ..self.parts(id.clone(), cwd, Arc::new(layout), settings, log)
        };
        let handle = actor::spawn(parts, false);
        match header.parent {
            // Prompts without a session are not for a sub-agent.
            Some(_) => self.admit(handle.clone()),
            None => self.enter(handle.clone()),
        }
        let access = match writable {
            true => SessionAccess::Write,
            false => SessionAccess::ReadOnly,
        };
        Ok(Reopened {
            handle,
            seq: resumed.seq,
            access,
            notice,
        })
    }

    /// Where a stored session works.
    fn place_of(
        &self,
        header: &Header,
        path: &Path,
        asked: Option<&str>,
    ) -> Result<PathBuf, Failure> {
        if header.cwd.is_empty() {
            return match self.place_of_unnamed(path, None) {
                Some(place) => Ok(place),
                None => self.directory(asked),
            };
        }
        let cwd = PathBuf::from(&header.cwd);
        let rooted = header.folders.iter().any(|folder| {
            let folder = Uri::new(folder.as_str()).path();
            folder.is_some_and(|folder| cwd.starts_with(folder))
        });
        let named = Some(header.cwd.as_str());
        match rooted {
            true => self.directory(named),
            // It began outside all folders, and opening it again grants nothing.
            false => Ok(self.named_folder(named)?.path),
        }
    }

    /// Answers calls that an interrupted turn left open, and closes in the log the turn and the
    /// prompts that waited behind it.
    fn close_interrupted(
        &self,
        resumed: &mut resume::Resumed,
        recorder: &dyn Recorder,
        cwd: &Path,
    ) {
        let turn = resumed
            .interrupted
            .clone()
            .unwrap_or_else(|| TurnId::from("interrupted"));
        let unanswered = std::mem::take(&mut resumed.unanswered);
        let edits = resumed.cut_off.unreported();
        let shown = |uri: &str| shown_path(&self.shared.workspace, uri, cwd);
        let conversation = &mut resumed.conversation;
        let mut add = |message: Message| {
            recorder.record(Entry::Message {
                turn: turn.clone(),
                message: message.clone(),
            });
            conversation.push(message);
        };
        let proposed = resumed.cut_off.proposed();
        if let Some(message) =
            actor::interrupted_results(&self.shared, unanswered, &proposed, &edits, shown)
        {
            add(message);
        }
        let mut bodies = Vec::new();
        let mut cut_off = std::mem::take(&mut resumed.cut_off);
        cut_off.clean(self.shared.env.secrets());
        if resumed.interrupted.take().is_some() {
            let said = cut_off.blocks();
            if !said.is_empty() {
                let message = Message {
                    role: Role::Assistant,
                    content: said,
                    model: Own::stored(&resumed.settings).name,
                };
                add(message);
            }
            let items = cut_off.items().into_iter();
            bodies.extend(items.map(|event| (turn.clone(), EnvelopeBody::Event { event })));
            bodies.push((turn, resume::interrupted_end(&cut_off, shown)));
        }
        for (turn, input) in std::mem::take(&mut resumed.waiting) {
            resumed.conversation.turns += 1;
            let started = EnvelopeBody::Started {
                origin: Origin::Client,
                input,
                parent: None,
            };
            // Its client may send it again under the same name.
            recorder.record(Entry::Dequeued { turn: turn.clone() });
            let unsent =
                |known: &ClientTurn| known.turn == turn || known.waits.as_ref() == Some(&turn);
            resumed.clients.retain(|known| !unsent(known));
            resumed.turns.push(turn.clone());
            bodies.push((turn.clone(), started));
            bodies.push((turn, resume::unsent_end()));
        }
        for (turn, body) in bodies {
            resumed.seq += 1;
            recorder.record(Entry::Item {
                turn,
                seq: resumed.seq,
                body,
            });
        }
    }

    /// Where a session works whose log does not say it: the root that its folder is named after.
    pub(super) fn place_of_unnamed(&self, log: &Path, asked: Option<&Path>) -> Option<PathBuf> {
        let folder = log.parent()?.file_name()?.to_str()?;
        let roots = self.shared.workspace.roots().into_iter();
        let roots = roots.map(|root| root.path);
        let asked = asked.map(|path| self.root_of(path));
        roots
            .chain(asked)
            .find(|root| workspace_name(root) == folder)
    }
}

fn settings(stored: &StoredSettings, config: Config) -> Settings {
    let detail = stored.detail.as_deref().and_then(Detail::parse);
    Settings {
        agent: stored.agent.clone(),
        segments: stored.segments.clone(),
        detail: detail.unwrap_or_default(),
        thinking: stored.thinking,
        uninvited: stored.uninvited,
        ..Settings::new(stored.mode, Arc::new(config))
    }
}

/// Reports unreadable lines of the log once; a writer also logs that as an item.
fn report_lost(resumed: &mut Resumed, path: &Path, recorder: &dyn Recorder) -> Option<String> {
    let new = resumed
        .lost
        .checked_sub(resumed.reported)
        .filter(|it| *it > 0)?;
    resumed.reported = resumed.lost;
    recorder.record(Entry::Lost {
        lines: resumed.lost,
    });
    let lines = new - usize::from(resumed.torn);
    if lines == 0 {
        return None;
    }
    let text = format!(
        "{lines} damaged {} of this session could not be read, so parts of the conversation may be \
         missing. Check it before you continue; the log is {}.",
        if lines == 1 { "record" } else { "records" },
        path.display()
    );
    let turn = resumed.turns.last().cloned();
    resumed.seq += 1;
    recorder.record(Entry::Item {
        turn: turn.unwrap_or_else(|| TurnId::from("lost")),
        seq: resumed.seq,
        body: EnvelopeBody::Event {
            event: Event::Notice { text: text.clone() },
        },
    });
    Some(text)
}
