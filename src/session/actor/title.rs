//! Asks the model in the setting `routing.title` for a title once the first turn has ended. Until
//! then, and without the setting, the title is the beginning of the first prompt.

use std::time::Duration;

use futures_util::StreamExt as _;

use super::Actor;
use crate::conversation::{Block, Entry, Input, Request, TurnId, Usage};
use crate::env::tasks;
use crate::prompt::fence;
use crate::provider::{Model, ModelEvent, ProviderError};

/// Time limit for a title.
const LIMIT: Duration = Duration::from_secs(60);
/// Characters of the prompt that are sent, and of a title.
const PROMPT: usize = 4_000;
const TITLE: usize = 80;

impl Actor {
    /// Asks for a title in the background, unless the user gave one.
    pub(super) fn ask_title(&mut self, turn: &TurnId) {
        let Some(input) = self.untitled.take() else {
            return;
        };
        let config = self.settings().config.clone();
        let Some(name) = config.routing.title.as_deref() else {
            return;
        };
        let model = match self.parts.shared.providers.resolve(&config, Some(name)) {
            Ok(model) => model,
            Err(failure) => {
                tracing::warn!("no title by {name}: {}", failure.sentences());
                return;
            }
        };
        let words = self.parts.shared.texts.render("title.md", &[]);
        let before = self.parts.title.clone();
        let (mailbox, turn) = (self.mailbox.clone(), turn.clone());
        tasks::spawn(async move {
            let mut usage = Usage::default();
            let asked = ask(&model, words, &input, &mut usage);
            let title = match tokio::time::timeout(LIMIT, asked).await {
                Ok(Ok(title)) => title,
                Ok(Err(error)) => {
                    tracing::warn!("no title: {}", error.failure().sentences());
                    String::new()
                }
                Err(_) => {
                    tracing::warn!("no title: the model took too long");
                    String::new()
                }
            };
            // Failed attempts are charged all the same.
            if !title.is_empty() || usage.total() > 0 {
                let price = model.facts.price.filter(|_| usage.total() > 0);
                let titled = Titled {
                    turn,
                    cost: price.map(|price| price.cost(&usage)),
                    model: model.name,
                    usage,
                    before,
                    title,
                };
                mailbox.send(|actor| actor.titled(titled));
            }
        });
    }

    fn titled(&mut self, titled: Titled) {
        let (usage, cost) = (titled.usage, titled.cost);
        self.parts.recorder.record(Entry::Usage {
            turn: titled.turn,
            model: titled.model,
            usage,
            cost,
            aside: true,
            child: None,
        });
        self.state
            .with_conversation(|it| it.spend(usage, cost, true));
        // The user's own title takes precedence.
        if self.parts.title == titled.before && !titled.title.is_empty() {
            self.parts.title = Some(titled.title);
            self.record_settings();
        }
        self.announce();
    }
}

/// The outcome of asking for a title.
struct Titled {
    turn: TurnId,
    model: String,
    usage: Usage,
    cost: Option<f64>,
    /// The title when it was requested.
    before: Option<String>,
    /// Empty if the model gave no title.
    title: String,
}

async fn ask(
    model: &Model,
    words: String,
    input: &[Input],
    usage: &mut Usage,
) -> Result<String, ProviderError> {
    let prompt: String = Input::typed(input).chars().take(PROMPT).collect();
    let request = Request::aside(&model.id, &model.facts, words, fence::block(&prompt));
    let body = model.provider.body(&request);
    let mut stream = model.provider.stream(&request, body.bytes).await?;
    let mut text = String::new();
    while let Some(batch) = stream.next().await {
        for event in batch? {
            match event {
                ModelEvent::Block {
                    block: Block::Text { text: said },
                    ..
                } => text.push_str(&said),
                ModelEvent::Usage(counted) => *usage = counted.sane(),
                _ => {}
            }
        }
    }
    let line = text.lines().find(|line| !line.trim().is_empty());
    let line = line
        .unwrap_or_default()
        .trim()
        .trim_matches(['"', '.', '#', ' ']);
    Ok(fence::line(line).chars().take(TITLE).collect())
}
