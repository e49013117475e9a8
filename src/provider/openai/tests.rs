use proptest::prelude::*;
use serde_json::json;

use super::*;

#[test]
fn numbers_that_are_not_json_become_null_p26() {
    let value: Value =
        read(r#"{"a":NaN,"b":[-Infinity,1e999,2.5],"c":"NaN \" Infinity","d":true}"#).unwrap();
    assert_eq!(
        value,
        json!({"a": null, "b": [null, null, 2.5], "c": "NaN \" Infinity", "d": true})
    );
    assert!(read::<Value>("{\"a\":").is_err() && read::<Value>("").is_err());
}

#[test]
fn half_a_surrogate_pair_is_replaced_p15() {
    let value: Value = read(r#"{"a":"\ud83d","n":NaN}"#).unwrap();
    assert_eq!(value["a"], "\u{fffd}");
}

#[test]
fn cached_tokens_are_subtracted_from_the_prompt() {
    let counted = |usage: Value| {
        let mut sum = Usage::default();
        read_usage(&usage, &mut sum).then_some((
            sum.input,
            sum.cache_read,
            sum.cache_write,
            sum.output,
        ))
    };
    let responses = json!({"input_tokens": 100, "output_tokens": 7,
        "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30}});
    assert_eq!(counted(responses), Some((10, 60, 30, 7)));
    let chat = json!({"prompt_tokens": 100, "completion_tokens": 7,
        "prompt_tokens_details": {"cached_tokens": null}, "prompt_cache_hit_tokens": 40});
    assert_eq!(counted(chat), Some((60, 40, 0, 7)));
    let odd = json!({"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 1e30}});
    assert_eq!(counted(odd), Some((0, 5, 0, 0)));
    assert_eq!(
        counted(json!({"prompt_tokens": -4, "completion_tokens": 1e300})),
        Some((0, 0, 0, u64::MAX))
    );
    assert_eq!(counted(json!({"prompt_tokens": null})), None);
}

#[test]
fn refusals_of_reasoning_are_known_by_their_words_p33() {
    for said in [
        r#"{"error":{"code":"invalid_encrypted_content","message":"..."}}"#,
        "the encrypted content gaaa... could not be verified",
        "item 'rs_0a1b' not found. items are not persisted when `store` is set to false",
        "item 'rs_1' of type 'reasoning' was provided without its required following item.",
    ] {
        assert!(rejects_reasoning(said), "{said}");
    }
    assert!(!rejects_reasoning("item 'msg_1' not found"));
    assert!(!rejects_reasoning("invalid 'input[3]'"));
}

proptest! {
    #[test]
    fn mending_changes_nothing_that_is_json(text in "[ -~]{0,40}") {
        let value = json!({ "k": text, "n": [1, -2.5, null, true] });
        prop_assert_eq!(read::<Value>(&value.to_string()).unwrap(), value.clone());
        let with_nan = value.to_string().replacen("null", "NaN", 1);
        if !text.contains("null") {
            prop_assert_eq!(read::<Value>(&with_nan).unwrap(), value);
        }
    }
}
