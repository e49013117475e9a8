use std::collections::BTreeMap;

use super::*;

struct Setup {
    folder: tempfile::TempDir,
    providers: Arc<Providers>,
}

fn setup(vars: &[(&str, &str)]) -> Setup {
    let folder = tempfile::tempdir().unwrap();
    let vars: BTreeMap<String, String> = vars
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    let now = "2026-11-21T12:00:00Z[UTC]".parse().unwrap();
    let providers = Providers::new(Env::fixed(folder.path(), now, vars));
    Setup { folder, providers }
}

fn own(api: Option<&str>, base: Option<&str>) -> ProviderConfig {
    ProviderConfig {
        api: api.map(str::to_owned),
        base_url: base.map(str::to_owned),
        models: vec!["first".to_owned()],
        ..ProviderConfig::default()
    }
}

fn config(name: &str, provider: ProviderConfig) -> Config {
    Config {
        providers: [(name.to_owned(), provider)].into(),
        ..Config::default()
    }
}

#[test]
fn resolving_needs_no_key_and_no_network() {
    let setup = setup(&[]);
    let model = setup
        .providers
        .resolve(&Config::default(), Some("anthropic/claude-opus-5-5"))
        .unwrap();
    assert_eq!(
        (model.name.as_str(), model.id.as_str()),
        ("anthropic/claude-opus-5-5", "claude-opus-5-5")
    );
    assert_eq!(model.provider.name(), "anthropic");
    assert!(model.facts.known && model.facts.prefix_bound);
}

#[test]
fn without_a_key_the_default_is_a_failure_that_names_the_ways() {
    let failure = setup(&[])
        .providers
        .resolve(&Config::default(), None)
        .unwrap_err();
    assert_eq!(failure.kind, FailureKind::NoModel);
    for way in [
        "ANTHROPIC_API_KEY",
        "interline login anthropic",
        "your editor",
        "docs/models.md",
    ] {
        assert!(failure.hint.contains(way), "{way}");
    }
}

#[test]
fn a_gemini_key_alone_makes_its_model_the_default() {
    for name in ["GEMINI_API_KEY", "GOOGLE_API_KEY"] {
        let setup = setup(&[(name, "k")]);
        let model = setup.providers.resolve(&Config::default(), None).unwrap();
        assert!(model.name.starts_with("gemini/") && model.facts.known);
    }
}

#[test]
fn an_openai_key_alone_makes_its_model_the_default() {
    let setup = setup(&[("OPENAI_API_KEY", "k")]);
    let model = setup.providers.resolve(&Config::default(), None).unwrap();
    assert_eq!(model.name, "openai/gpt-6.1-sol");
    assert!(model.facts.known && model.facts.max_completion_tokens);
}

#[test]
fn each_api_has_its_address_and_its_variable() {
    let base = |vars: &[(&str, &str)], name: &str| {
        let setup = setup(vars);
        let config = ProviderConfig::default();
        setup.providers.base_url(name, &config)
    };
    for name in ["openai", "openai-chat"] {
        assert_eq!(base(&[], name).unwrap(), "https://api.openai.com");
        let vars = [("OPENAI_BASE_URL", "http://localhost:1/v1")];
        assert_eq!(base(&vars, name).unwrap(), "http://localhost:1/v1");
    }
    // A key must not travel to an address that no one chose.
    assert!(base(&[("OPENAI_BASE_URL", "http://localhost:1")], "mine").is_err());
}

#[test]
fn the_default_is_the_first_with_a_key() {
    let setup = setup(&[("OPENAI_API_KEY", "k"), ("ANTHROPIC_API_KEY", "k")]);
    let resolve = |config: &Config, name| setup.providers.resolve(config, name).unwrap().name;
    let plain = Config::default();
    assert_eq!(resolve(&plain, None), "anthropic/claude-opus-5-5");
    assert_eq!(
        resolve(&plain, Some("default")),
        "anthropic/claude-opus-5-5"
    );
    assert_eq!(
        resolve(&plain, Some("anthropic/default")),
        "anthropic/claude-opus-5-5"
    );
    let chosen = Config {
        model: Some("anthropic/x".into()),
        ..Config::default()
    };
    assert_eq!(resolve(&chosen, None), "anthropic/x");
}

#[test]
fn a_secret_of_the_client_makes_a_default() {
    let setup = setup(&[]);
    setup.providers.set_secret("anthropic", "k".to_owned());
    assert!(setup.providers.resolve(&Config::default(), None).is_ok());
}

#[test]
fn aliases_are_followed() {
    let setup = setup(&[]);
    let config = Config {
        model_aliases: [("fast".to_owned(), "anthropic/claude-haiku-5-5".to_owned())].into(),
        ..Config::default()
    };
    let model = setup.providers.resolve(&config, Some("fast")).unwrap();
    assert_eq!(model.name, "anthropic/claude-haiku-5-5");
}

#[test]
fn a_name_that_cannot_be_resolved_has_a_hint() {
    let setup = setup(&[]);
    let check = |config: &Config, name: &str, kind, part: &str| {
        let failure = setup.providers.resolve(config, Some(name)).unwrap_err();
        assert_eq!(failure.kind, kind, "{name}");
        assert!(failure.hint.contains(part), "{name}: {}", failure.hint);
    };
    let plain = Config::default();
    check(
        &plain,
        "claude-opus-5-5",
        FailureKind::NoModel,
        "anthropic/claude-opus-5-5",
    );
    check(
        &plain,
        "nobody/x",
        FailureKind::NoModel,
        "choose one of anthropic",
    );
    check(&plain, "replay/", FailureKind::NoModel, "replay/FILE");
    check(
        &plain,
        "replay//nonexistent",
        FailureKind::NoModel,
        "readable file",
    );
    let odd = config("mine", own(Some("soap"), None));
    check(&odd, "mine/x", FailureKind::Invalid, "providers.mine.api");
    // A key must not travel to an address that no one chose.
    let homeless = config("mine", own(Some("anthropic"), None));
    check(
        &homeless,
        "mine/x",
        FailureKind::Invalid,
        "providers.mine.baseUrl",
    );
}

#[test]
fn a_provider_of_the_users_own_speaks_a_known_api() {
    let setup = setup(&[]);
    for api in ["anthropic", "openai", "openai-chat", "gemini"] {
        let config = config("mine", own(Some(api), Some("http://localhost:1")));
        let model = setup
            .providers
            .resolve(&config, Some("mine/default"))
            .unwrap();
        assert_eq!(
            (model.name.as_str(), model.provider.name()),
            ("mine/first", "mine")
        );
        let models = setup.providers.models(&config);
        let has = |name: &str| models.iter().any(|known| known == name);
        assert!(has("mine/first") && has("replay/@demo") && has("openai/gpt-6.1-sol"));
        assert!(models.iter().any(|name| name.starts_with("gemini/")));
    }
}

#[test]
fn an_instance_is_shared_until_its_settings_change() {
    let setup = setup(&[]);
    let resolve = |config: &Config| {
        setup
            .providers
            .resolve(config, Some("anthropic/x"))
            .unwrap()
            .provider
    };
    let plain = Config::default();
    let first = resolve(&plain);
    assert!(Arc::ptr_eq(&first, &resolve(&plain)));
    let moved = config("anthropic", own(None, Some("http://localhost:1")));
    assert!(!Arc::ptr_eq(&first, &resolve(&moved)));
}

#[test]
fn a_broken_models_file_of_the_user_is_an_error() {
    let setup = setup(&[]);
    let folder = setup.folder.path().join("config");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("models.toml"), "model = 3").unwrap();
    let failure = setup
        .providers
        .resolve(&Config::default(), Some("anthropic/x"))
        .unwrap_err();
    assert_eq!(failure.kind, FailureKind::Invalid);
}

#[test]
fn a_recording_is_a_model() {
    let setup = setup(&[]);
    let demo = setup
        .providers
        .resolve(&Config::default(), Some("replay/@demo"))
        .unwrap();
    assert_eq!(demo.name, "replay/@demo");
    let path = setup.folder.path().join("r.jsonl");
    std::fs::write(&path, "{\"interline\":\"replay\",\"version\":1}\n").unwrap();
    let name = format!("replay/{}", path.display());
    let model = setup
        .providers
        .resolve(&Config::default(), Some(&name))
        .unwrap();
    assert_eq!(model.name, name);
}

#[test]
fn gemini_is_a_provider_with_its_own_key_and_address() {
    let base = ("GEMINI_BASE_URL", "http://localhost:1");
    for key in ["GEMINI_API_KEY", "GOOGLE_API_KEY"] {
        let setup = setup(&[(key, "k"), base]);
        let model = setup.providers.resolve(&Config::default(), None).unwrap();
        assert_eq!(model.name, "gemini/gemini-4-argon");
        assert!(model.facts.price.is_some());
    }
    let own = config("mine", own(Some("gemini"), Some("http://localhost:1")));
    let model = setup(&[]).providers.resolve(&own, Some("mine/first"));
    assert_eq!(model.unwrap().provider.name(), "mine");
}

#[test]
fn a_recording_costs_nothing_whatever_its_model_does() {
    let setup = setup(&[]);
    let demo = setup
        .providers
        .resolve(&Config::default(), Some("replay/@demo"));
    assert_eq!(demo.unwrap().facts.price, None);
}
