//! Keys of providers: which models have one, and whether a provider accepts one.

use std::time::Duration;

use futures_util::StreamExt as _;

use super::Sessions;
use crate::conversation::{Failure, FailureKind, Request};
use crate::provider::{Model, ProviderError};
use crate::session::api::{KeyOutcome, ModelRow, TestedAuth};

/// Time limit for a test.
const LIMIT: Duration = Duration::from_secs(30);

impl Sessions {
    /// Sets a key from the editor's secret store.
    pub fn set_secret(&self, provider: &str, secret: String) {
        self.shared.providers.set_secret(provider, secret);
    }

    /// Forgets the keys that `interline login` or a client stored. An error names the providers
    /// that still have one.
    pub fn forget_keys(&self) -> Result<(), Failure> {
        let left = self.shared.providers.forget_keys(&self.config())?;
        if left.is_empty() {
            return Ok(());
        }
        Err(Failure::invalid(
            format!(
                "Stored keys were deleted, but {} still has one.",
                left.join(", ")
            ),
            "Remove its environment variable, or its source in config.toml.",
        ))
    }

    /// The models to offer, with what a picker shows.
    pub fn models(&self) -> Vec<ModelRow> {
        let config = self.config();
        let providers = &self.shared.providers;
        let names = providers.models(&config);
        let details = providers.details(&config, &names).into_iter();
        let row = |(name, (provider, ready, window))| ModelRow {
            name,
            provider,
            ready,
            window,
        };
        names.into_iter().zip(details).map(row).collect()
    }

    /// Asks the provider's default model for a few tokens, with `secret` or else its own key.
    pub async fn test_key(
        &self,
        provider: &str,
        secret: Option<String>,
    ) -> Result<TestedAuth, Failure> {
        if secret.as_deref().is_some_and(|key| key.trim().is_empty()) {
            return Err(Failure::new(
                FailureKind::Invalid,
                "The key is empty.",
                "Pass a key, or omit `secret` to test the configured one.",
            ));
        }
        let config = self.config();
        let model = self.shared.providers.to_test(&config, provider, secret)?;
        let texts = &self.shared.texts;
        let (system, prompt) = (
            texts.render("auth/system.md", &[]),
            texts.render("auth/prompt.md", &[]),
        );
        let request = Request::aside(&model.id, &model.facts, system, prompt);
        let asked = tokio::time::timeout(LIMIT, first_event(&model, &request));
        let error = match asked.await {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.failure().clone()),
            Err(_) => Some(Failure::new(
                FailureKind::Network,
                format!("{provider} did not answer within {} s.", LIMIT.as_secs()),
                "Try again, or check the network and `providers` in config.toml.",
            )),
        };
        let outcome = match error.as_ref().map(|failure| failure.kind) {
            None => KeyOutcome::Accepted,
            Some(FailureKind::Auth) => KeyOutcome::Refused,
            Some(_) => KeyOutcome::Unknown,
        };
        Ok(TestedAuth {
            outcome,
            model: model.name,
            error,
        })
    }
}

/// Returns when the answer begins; its rest is not read.
async fn first_event(model: &Model, request: &Request) -> Result<(), ProviderError> {
    let body = model.provider.body(request);
    let mut stream = model.provider.stream(request, body.bytes).await?;
    match stream.next().await {
        Some(batch) => batch.map(|_| ()),
        None => Ok(()),
    }
}
