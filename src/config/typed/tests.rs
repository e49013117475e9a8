use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use serde::Deserialize;
use serde_json::json;

use super::*;

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Outer {
    count: u32,
    #[serde(default)]
    inner: Vec<Inner>,
    #[serde(default)]
    by_name: BTreeMap<String, Option<Inner>>,
    #[serde(default)]
    tagged: Vec<Tagged>,
    #[serde(default)]
    choice: Option<Choice>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Inner {
    text: String,
    pair: Option<(u8, i64)>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
enum Tagged {
    Word { text: String },
    Number(Number),
}

#[derive(Debug, PartialEq, Deserialize)]
struct Number {
    value: f64,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Choice {
    Nothing,
    Some(Inner),
    Many { of: Vec<u8> },
    Two(u8, bool),
}

fn wrong(value: Value) -> String {
    typed::<Outer>(value).unwrap_err().to_string()
}

#[test]
fn an_error_names_its_place() {
    for (value, problem) in [
        (json!({}), "missing field `count`"),
        (json!(7), "invalid type: integer `7`, expected struct Outer"),
        (
            json!({"count": -1}),
            "count: invalid value: integer `-1`, expected u32",
        ),
        (
            json!({"count": 1, "inner": [{"text": "a"}, {"text": null}]}),
            "inner[1].text: invalid type: null, expected a string",
        ),
        (
            json!({"count": 1, "inner": [{"text": "a", "odd": 1}]}),
            "inner[0].odd: unknown field `odd`, expected `text` or `pair`",
        ),
        (
            json!({"count": 1, "byName": {"x y": {}}}),
            "byName.x y: missing field `text`",
        ),
        (
            json!({"count": 1, "inner": [{"text": "", "pair": [1, 2, 3]}]}),
            "inner[0].pair: invalid length 3, expected fewer elements in array",
        ),
        (
            json!({"count": 1, "tagged": [{"type": "word"}]}),
            "tagged[0]: missing field `text`",
        ),
        (
            json!({"count": 1, "choice": {"some": {"text": 1}}}),
            "choice.some.text: invalid type: integer `1`, expected a string",
        ),
        (
            json!({"count": 1, "choice": {"a": 1, "b": 2}}),
            "choice: invalid value: map, expected map with a single key",
        ),
    ] {
        assert_eq!(wrong(value.clone()), problem, "{value}");
    }
}

/// Values that often fit.
fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3_i64..300).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-c]{0,2}".prop_map(Value::from),
        Just(json!("nothing")),
    ];
    leaf.prop_recursive(5, 60, 4, |inner| {
        let keys = prop::sample::select(vec![
            "count", "inner", "byName", "tagged", "choice", "text", "pair", "type", "value",
            "some", "many", "two", "of", "word",
        ]);
        let words = prop::sample::select(vec!["word", "number"]).prop_map(Value::from);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((keys, inner.clone()), 0..5)
                .prop_map(|fields| fields.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()),
            (words, inner).prop_map(|(word, text)| json!({"type": word, "text": text, "value": 1})),
        ]
    })
}

/// Both agree on the value and on the problem.
fn same<T: DeserializeOwned + PartialEq + std::fmt::Debug>(value: &Value) -> bool {
    let plain = serde_json::from_value::<T>(value.clone());
    let tracked = typed::<T>(value.clone());
    match (plain, tracked) {
        (Ok(plain), Ok(tracked)) => {
            assert_eq!(plain, tracked);
            true
        }
        (Err(plain), Err(tracked)) => {
            let plain = plain.to_string();
            let worded = plain.ends_with("tuple variant") || plain.ends_with("struct variant");
            assert!(worded || plain == tracked.problem, "{plain}: {tracked:?}");
            false
        }
        (plain, tracked) => panic!("{plain:?} and {tracked:?} for {value}"),
    }
}

#[test]
fn it_reads_what_serde_json_reads() {
    let mut fits = [0; 2];
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    for _ in 0..4000 {
        let value = values().new_tree(&mut runner).unwrap().current();
        let outer = json!({"count": 1, "inner": [value], "tagged": [value], "choice": value});
        for (wanted, value) in [(true, outer), (false, value)] {
            let fit = same::<Outer>(&value) || (!wanted && same::<Tagged>(&value));
            fits[usize::from(fit)] += 1;
            same::<Choice>(&value);
            same::<Value>(&value);
        }
    }
    assert!(fits[0] > 500 && fits[1] > 100, "refused and read: {fits:?}");
}
