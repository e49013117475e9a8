use std::collections::BTreeMap;
use std::sync::Arc;

use super::*;
use crate::config::RoutingConfig;
use crate::env::Env;

fn providers(folder: &tempfile::TempDir) -> Arc<Providers> {
    let now = "2026-11-21T12:00:00Z[UTC]".parse().unwrap();
    Providers::new(Env::fixed(folder.path(), now, BTreeMap::new()))
}

fn config() -> Config {
    let name = |id: &str| Some(format!("anthropic/{id}"));
    Config {
        model: name("every"),
        routing: RoutingConfig {
            chat: name("chat"),
            code: name("code"),
            analysis: name("analysis"),
            ..RoutingConfig::default()
        },
        ..Config::default()
    }
}

fn routed() -> Own {
    Own {
        name: Some("anthropic/every".to_owned()),
        routed: true,
    }
}

fn names(own: &Own, config: &Config) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let providers = providers(&folder);
    let name = |mode| own.model(&providers, config, mode).unwrap().id;
    Mode::ALL.map(name).to_vec()
}

#[test]
fn zy94_each_kind_of_task_has_the_model_that_is_set_for_it() {
    assert_eq!(names(&routed(), &config()), ["code", "chat", "analysis"]);
    let mut some = config();
    some.routing.chat = None;
    assert_eq!(names(&routed(), &some), ["code", "every", "analysis"]);
    some.routing = RoutingConfig::default();
    assert_eq!(names(&routed(), &some), ["every"; 3]);
}

#[test]
fn zy94_a_sessions_own_model_is_not_routed() {
    let chosen = Own::chosen("anthropic/mine".to_owned());
    assert_eq!(names(&chosen, &config()), ["mine"; 3]);
    assert_eq!(chosen.model_notice(&config(), Mode::Ask, "a", "b"), None);
}

#[test]
fn zy94_another_model_is_announced_with_its_setting() {
    let notice = |mode, before| routed().model_notice(&config(), mode, before, "anthropic/chat");
    let words = notice(Mode::Ask, "anthropic/code").unwrap();
    assert_eq!(
        words,
        "In mode ask, anthropic/chat answers (`routing.chat`)."
    );
    assert_eq!(notice(Mode::Ask, "anthropic/chat"), None);
    let mut back = config();
    back.routing.code = None;
    let words = routed().model_notice(&back, Mode::Agent, "anthropic/chat", "anthropic/every");
    assert!(
        words
            .unwrap()
            .ends_with("anthropic/every answers (`model`).")
    );
}

#[test]
fn zy94_an_unavailable_model_is_an_error_that_names_the_setting() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = config();
    config.routing.analysis = Some("nonsense".to_owned());
    let failure = routed().model(&providers(&folder), &config, Mode::Plan);
    let words = failure.unwrap_err().sentences();
    assert!(
        words.contains("routing.analysis") && words.contains("nonsense"),
        "{words}"
    );
}
