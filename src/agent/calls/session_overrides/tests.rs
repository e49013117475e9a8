use super::*;
use crate::conversation::entry::Uninvited;

fn settings(config: &str) -> Settings {
    let config: Config = toml::from_str(config).unwrap();
    Settings {
        mode: Mode::Agent,
        agent: None,
        profile: None,
        segments: Vec::new(),
        detail: crate::prompt::facts::Detail::Full,
        thinking: None,
        config: Arc::new(config),
        rules: Vec::new(),
        choices: Overrides::default(),
        servers: None,
        uninvited: Uninvited::default(),
    }
}

/// OC-18, INV-8: no override widens what is allowed.
#[test]
fn an_override_only_narrows() {
    let mut settings = settings("[limits]\nsteps = 10\n");
    assert!(settings.choose(Change::Mode(Mode::Plan)));
    assert!(!settings.choose(Change::Mode(Mode::Agent)));
    assert!(settings.choose(Change::Mode(Mode::Ask)));
    assert!(!settings.choose(Change::Mode(Mode::Plan)));
    assert_eq!(settings.mode, Mode::Ask);
    let mut limit = |key: &str, most| settings.choose(Change::Limit(key.to_owned(), most));
    assert!(limit("steps", 50) && limit("tokens", 900) && limit("turnMinutes", 5));
    assert!(limit("approvalMinutes", 600) && !limit("cost", 1));
    assert!(settings.choose(Change::Cost(0.5)) && settings.choose(Change::Cost(2.0)));
    assert_eq!(settings.config.limits.cost, Some(0.5));
    let limits = &settings.config.limits;
    assert_eq!((limits.steps, limits.approval_minutes), (10, 60));
    assert_eq!((limits.tokens, limits.turn_minutes), (Some(900), Some(5)));
}

/// OC-18: new process settings do not undo the session's overrides.
#[test]
fn overrides_survive_new_settings() {
    let mut settings = settings("");
    assert!(settings.choose(Change::Limit("steps".to_owned(), 5)));
    assert!(settings.choose(Change::Cost(1.5)));
    assert!(settings.choose(Change::Language("German".to_owned())));
    let renewed = "[limits]\nsteps = 20\ntokens = 7\ncost = 2.0\n[prompt]\nlanguage = 'Dutch'\n";
    settings.renew(Arc::new(toml::from_str(renewed).unwrap()));
    let config = &settings.config;
    assert_eq!((config.limits.steps, config.limits.tokens), (5, Some(7)));
    assert_eq!(config.limits.cost, Some(1.5));
    assert_eq!(config.prompt.language.as_deref(), Some("German"));
}

/// OC-18: the user's own choice replaces a pending override.
#[test]
fn model_and_layout_wait_for_the_session() {
    let mut settings = settings("");
    assert_eq!(settings.choices.take_pending(), (false, None, None));
    assert!(settings.choose(Change::Model("anthropic/m".to_owned())));
    assert!(settings.choose(Change::Layout("mini".to_owned())));
    settings.choices.forget(false, true);
    let taken = settings.choices.take_pending();
    assert_eq!(taken, (true, Some("anthropic/m".to_owned()), None));
    assert_eq!(settings.choices.take_pending(), (false, None, None));
}
