//! `interline/prompt/preview`.

use std::sync::Arc;

use crate::conversation::Failure;
use crate::lsp::door::Door;
use crate::session::{PreviewPrompt, PromptPreview};

pub async fn preview(door: Arc<Door>, params: PreviewPrompt) -> Result<PromptPreview, Failure> {
    door.sessions()?.preview(params).await
}
