use super::*;

fn facts(id: &str) -> ModelFacts {
    Models::facts(&Models::default(), id)
}

fn parse(text: &str) -> Models {
    toml::from_str(text).unwrap()
}

/// `UPDATE_SCHEMAS=1` writes it.
#[test]
fn models_json_is_generated_from_models_toml() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/provider");
    let toml = std::fs::read_to_string(folder.join("models.toml")).unwrap();
    let value: serde_json::Value = toml::from_str(&toml).unwrap();
    let json = format!("{value}\n");
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        std::fs::write(folder.join("models.json"), &json).unwrap();
    } else {
        assert_eq!(
            BUILT_IN, json,
            "run UPDATE_SCHEMAS=1 cargo test --lib models_json"
        );
    }
}

#[test]
fn the_built_in_file_is_complete() {
    let models: Models = serde_json::from_str(BUILT_IN).unwrap();
    for (provider, known) in &models.providers {
        let default = known.default.as_ref().unwrap();
        assert!(facts(default).known, "{provider}/{default}");
        for id in &known.models {
            assert!(facts(id).known, "{provider}/{id}");
        }
    }
}

#[test]
fn the_first_matching_pattern_decides() {
    let check = |id: &str, context, thinking, bound| {
        let facts = facts(id);
        assert_eq!(
            (
                facts.context,
                facts.thinking,
                facts.prefix_bound,
                facts.known
            ),
            (context, thinking, bound, true),
            "{id}"
        );
    };
    for id in [
        "claude-fable-5-2",
        "claude-fable-5-1",
        "claude-mythos-5-2",
        "claude-opus-5-5",
        "claude-sonnet-5-5",
        "claude-haiku-5-5",
        "Claude-Haiku-5-5-20261001",
    ] {
        check(id, 1_000_000, Thinking::Adaptive, true);
    }
    for id in [
        "claude-opus-5",
        "claude-sonnet-5",
        "claude-opus-4-8",
        "claude-opus-4-6",
        "claude-sonnet-4-6",
    ] {
        check(id, 1_000_000, Thinking::Adaptive, false);
    }
    for id in [
        "claude-haiku-4-5",
        "claude-opus-4-5-20251101",
        "anthropic/claude-sonnet-4-5",
    ] {
        check(id, 200_000, Thinking::Budget, false);
    }
    assert_eq!(facts("gpt-5.4-mini").context, 400_000);
    assert_eq!(facts("gpt-5.4").context, 1_050_000);
    assert!(facts("openai/gpt-6.1-sol").max_completion_tokens);
    assert!(facts("deepseek/deepseek-v4-pro").replays_reasoning);
    assert!(facts("mistral-medium-2604").short_call_ids && !facts("glm-5.3").short_call_ids);
}

#[test]
fn an_unknown_id_has_safe_defaults() {
    assert_eq!(facts("llama"), ModelFacts::default());
    assert!(!facts("").known);
}

#[test]
fn the_users_entries_come_first_and_may_be_partial() {
    let user = parse("[[model]]\nmatch = [\"claude-opus-5-5\", \"my-*\"]\nmax_output = 9000\n");
    let known = Models::facts(&user, "claude-opus-5-5");
    assert_eq!(
        (known.max_output, known.context, known.prefix_bound),
        (9000, 1_000_000, true)
    );
    let own = Models::facts(&user, "my-model");
    assert_eq!(
        (own.max_output, own.context, own.known),
        (9000, 128_000, true)
    );
    let user = parse("[providers.anthropic]\ndefault = \"mine\"\n");
    assert_eq!(
        Models::default_of(&user, "anthropic").as_deref(),
        Some("mine")
    );
}

#[test]
fn a_broken_file_is_reported_with_its_line_and_a_missing_one_is_empty() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("models.toml");
    assert!(Models::load(&path).unwrap().providers.is_empty());
    std::fs::write(&path, "[[model]]\nmatch = [\"a\"]\ncontexts = 3\n").unwrap();
    let failure = Models::load(&path).unwrap_err();
    assert!(failure.message.contains("models.toml") && failure.message.contains("line 3"));
}

#[test]
fn patterns_match_like_globs() {
    let check =
        |pattern, text, expected| assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
    check("a", "a", true);
    check("a", "ab", false);
    check("a*", "ab", true);
    check("*b", "ab", true);
    check("*", "", true);
    check("a*a", "a", false);
    check("a*c*e", "abcde", true);
    check("a*c*e", "abce", true);
    check("*ab*ab*", "abab", true);
    check("*ab*ab*", "abxb", false);
}

#[test]
fn every_built_in_price_is_valid() {
    let models = Models::built_in();
    assert!(!models.price.is_empty());
    models.check().unwrap();
    for priced in &models.price {
        // A longer prompt is never cheaper.
        let price = priced.price();
        if let Some((_, above)) = price.above {
            assert!(above.input >= price.base.input && above.output >= price.base.output);
        }
    }
}

#[test]
fn prices_are_of_the_vendors_own_ids_and_the_nearest_entry_decides() {
    let price = |id: &str| facts(id).price.map(|it| (it.base.input, it.base.output));
    assert_eq!(price("claude-opus-5-5"), Some((4.0, 20.0)));
    assert_eq!(price("claude-opus-5"), Some((5.0, 25.0)));
    assert_eq!(price("claude-haiku-4-5-20251001"), Some((1.0, 5.0)));
    assert_eq!(price("Gemini-3.8-Flash"), Some((1.5, 7.5)));
    let long = facts("gemini-3.1-pro-preview")
        .price
        .unwrap()
        .above
        .unwrap();
    assert_eq!((long.0, long.1.input), (200_000, 4.0));
    for id in [
        "anthropic/claude-opus-5-5",
        "claude-opus-5-6",
        "gemini-9",
        "llama",
        "",
    ] {
        assert_eq!(price(id), None, "{id}");
    }
}

#[test]
fn the_users_price_overrides_ours_and_an_invalid_one_is_refused() {
    let user =
        parse("[[price]]\nmatch = [\"gemini-3.8-flash\", \"llama*\"]\ninput = 0\noutput = 0.5\n");
    let own = Models::facts(&user, "gemini-3.8-flash").price.unwrap();
    assert_eq!(
        (own.base.input, own.base.output, own.base.cache_read),
        (0.0, 0.5, None)
    );
    // A price alone does not make a model known.
    assert!(!Models::facts(&user, "llama-x").known);
    assert!(Models::facts(&user, "llama-x").price.is_some());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("models.toml");
    for (rate, part) in [("nan", "not negative"), ("-1.0", "mine"), ("inf", "mine")] {
        let text = format!("[[price]]\nmatch = [\"mine\"]\ninput = 1.0\noutput = {rate}\n");
        std::fs::write(&path, text).unwrap();
        let failure = Models::load(&path).unwrap_err();
        assert!(failure.message.contains(part), "{}", failure.message);
    }
}
