//! `interline prompt`: the preview without an editor.

use std::path::{Path, PathBuf};

use crate::config::load::{ClientSettings, load};
use crate::conversation::{FailureKind, Input, Mode, SessionId};
use crate::env::Env;
use crate::session::{OpenSession, PreviewPrompt, Sessions};
use crate::terminal;
use crate::workspace::Uri;

#[derive(clap::Args)]
pub struct PromptArgs {
    /// The prompt layout.
    #[arg(long)]
    layout: Option<String>,
    /// The mode: agent, ask or plan.
    #[arg(long, value_parser = mode)]
    mode: Option<Mode>,
    /// The model: PROVIDER/ID or an alias.
    #[arg(long, short)]
    model: Option<String>,
    /// The named agent whose prompt is shown.
    #[arg(long)]
    agent: Option<String>,
    /// How much of the prompt: full, minimal or none.
    #[arg(long)]
    detail: Option<String>,
    /// The prompt as for `interline run`; without one, the request has no prompt text.
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,
    /// Trust the folder for this preview, as `interline run --trust` does.
    #[arg(long)]
    trust: bool,
    /// Fetch the addresses of the setting `instructions`, as a turn does.
    #[arg(long)]
    fetch: bool,
    /// Compare with this session's last request.
    #[arg(long, value_name = "SESSION")]
    diff: Option<String>,
    /// On a terminal: also list the segments that are not in the prompt.
    #[arg(long)]
    all: bool,
    /// Print the preview as JSON.
    #[arg(long)]
    json: bool,
    /// The file or folder the prompt is about; default: the current folder.
    path: Option<PathBuf>,
}

/// The model whose prompt is shown if no model has a key.
const KEYLESS: &str = "anthropic/default";

/// Parses a mode for clap.
pub fn mode(text: &str) -> Result<Mode, String> {
    Mode::parse(text).ok_or_else(|| "use agent, ask or plan".to_owned())
}

/// The folder `interline run` would work in: the given one, else the current one if
/// it contains the file, else the file's folder.
fn folder_of(path: &Path) -> anyhow::Result<PathBuf> {
    if path.is_dir() {
        return Ok(path.to_path_buf());
    }
    let present = std::fs::canonicalize(".")?;
    let beside = path.parent().unwrap_or(path);
    Ok(match path.starts_with(&present) {
        true => present,
        false => beside.to_path_buf(),
    })
}

/// Prints the preview.
pub fn show(env: Env, args: PromptArgs) -> anyhow::Result<i32> {
    super::runtime()?.block_on(async move {
        let path = std::fs::canonicalize(args.path.unwrap_or_else(|| PathBuf::from(".")))?;
        let folder = folder_of(&path)?;
        let workspace = terminal::workspace_of(&folder);
        let settings = load(&env, &ClientSettings::default());
        let sessions = Sessions::new(env, workspace, settings);
        if args.trust {
            sessions.shared().trust_for_now(&folder);
        }
        let session_id = match args.diff {
            Some(id) => {
                let session_id = SessionId(id);
                sessions
                    .open(OpenSession {
                        session_id: session_id.clone(),
                        before: None,
                        limit: Some(0),
                        cwd: None,
                    })
                    .await?;
                Some(session_id)
            }
            None => None,
        };
        let compared = session_id.is_some();
        let mut ask = PreviewPrompt {
            session_id,
            uri: Some(Uri::from_path(&path).to_string()),
            input: args.prompt.map(|text| vec![Input::Text { text }]),
            fetch: args.fetch,
            layout: args.layout,
            mode: args.mode,
            model: args.model,
            agent: args.agent,
            detail: args.detail,
            since: compared.then(|| "last".to_owned()),
            text: args.json.then(|| "all".into()),
            ..PreviewPrompt::default()
        };
        let mut preview = sessions.preview(ask.clone()).await;
        // Showing the prompt needs no key.
        if let Err(failure) = &preview
            && failure.kind == FailureKind::NoModel
            && ask.model.is_none()
        {
            terminal::complain(&format!(
                "no model has a key yet; this is the prompt for {KEYLESS}."
            ));
            ask.model = Some(KEYLESS.to_owned());
            preview = sessions.preview(ask).await;
        }
        let preview = preview.map_err(|failure| anyhow::anyhow!(failure.sentences()))?;
        if args.json {
            terminal::print_json(&serde_json::to_string_pretty(&preview)?);
        } else {
            terminal::segments::print(&preview, args.all);
            if compared {
                terminal::print(&terminal::segments::pending(&preview));
            }
        }
        Ok(0)
    })
}
