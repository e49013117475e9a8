use serde_json::json;

use super::*;

/// Names, arguments and ids of the calls that these pieces make.
fn made(pieces: Vec<Value>) -> Vec<(String, String, String)> {
    let (calls, error) = closed(pieces);
    assert!(error.is_none(), "{error:?}");
    calls
}

fn closed(pieces: Vec<Value>) -> (Vec<(String, String, String)>, Option<ProviderError>) {
    let names = Names::default();
    let mut calls = Calls::default();
    let (mut streaming, mut out) = (Streaming::default(), Vec::new());
    for piece in &pieces {
        calls.take(piece, &mut streaming, &names, &mut out);
    }
    let error = calls.close(true, &names, &mut out).err();
    let call = |event: &ModelEvent| match event {
        ModelEvent::Block {
            block: Block::ToolUse { id, name, input },
            ..
        } => Some((name.clone(), input.to_string(), id.clone())),
        _ => None,
    };
    (out.iter().filter_map(call).collect(), error)
}

fn call(name: &str, arguments: &str, id: &str) -> (String, String, String) {
    (name.to_owned(), arguments.to_owned(), id.to_owned())
}

fn piece(index: Value, id: Value, name: Value, arguments: Value) -> Value {
    json!({"index": index, "id": id, "type": "function",
        "function": {"name": name, "arguments": arguments}})
}

const N: Value = Value::Null;

fn two() -> Vec<(String, String, String)> {
    vec![
        call("read", "{\"p\":1}", "a"),
        call("list", "{\"q\":2}", "b"),
    ]
}

#[test]
fn pieces_are_assembled_by_index() {
    let pieces = vec![
        piece(json!(0), json!("a"), json!("read"), json!("")),
        piece(json!(1), json!("b"), json!("list"), json!("")),
        piece(json!(0), N, N, json!("{\"p\"")),
        piece(json!(1), N, N, json!("{\"q\":2}")),
        piece(json!(0), N, N, json!(":1}")),
    ];
    assert_eq!(made(pieces), two());
}

#[test]
fn an_index_may_be_missing_or_the_same_for_all() {
    for index in [N, json!(0), json!(1)] {
        let pieces = vec![
            piece(index.clone(), json!("a"), json!("read"), json!("{\"p\"")),
            piece(index.clone(), N, N, json!(":1}")),
            piece(index.clone(), json!("b"), json!("list"), json!("{\"q\":2}")),
        ];
        assert_eq!(made(pieces), two(), "{index}");
    }
}

#[test]
fn one_tool_called_twice_under_one_index_is_split_by_its_ids() {
    let pieces = |first: Value| {
        vec![
            piece(json!(0), json!("a"), json!("read"), first),
            piece(json!(0), json!("b"), json!("read"), json!("{\"p\"")),
            piece(json!(0), json!("b"), N, json!(":2}")),
        ]
    };
    let second = call("read", "{\"p\":2}", "b");
    for (first, input) in [(json!("{\"p\":1}"), "{\"p\":1}"), (json!(""), "{}")] {
        assert_eq!(
            made(pieces(first)),
            [call("read", input, "a"), second.clone()]
        );
    }
}

#[test]
fn ids_may_be_repeated_late_or_changing_p25() {
    let each = |index: Value| {
        vec![
            piece(index.clone(), json!("a"), json!("read"), json!("{\"p\"")),
            piece(index.clone(), json!("a"), json!("read"), json!(":1}")),
            piece(index.clone(), json!("b"), json!("list"), json!("{\"q\"")),
            piece(index, json!("b"), N, json!(":2}")),
        ]
    };
    assert_eq!(made(each(N)), two());
    assert_eq!(made(each(json!(0))), two());
    let late = vec![
        piece(json!(0), N, N, json!("")),
        piece(json!(0), json!("a"), N, N),
        piece(json!(0), N, json!("read"), json!("{\"p\":1}")),
    ];
    assert_eq!(made(late), two()[..1]);
    let repeated = vec![
        piece(json!(0), json!("a"), json!("read"), json!("{\"p\"")),
        piece(json!(0), json!("a2"), N, json!(":1}")),
        piece(json!(0), json!(""), N, json!("")),
    ];
    assert_eq!(made(repeated), two()[..1]);
}

#[test]
fn calls_without_ids_are_split_where_one_is_complete_p25() {
    let pieces = vec![
        piece(json!(0), N, json!("read"), json!("{\"p\":1}")),
        piece(json!(0), N, json!("read"), json!("{\"p\":3}")),
        piece(N, N, json!("now"), json!("")),
        piece(N, N, json!("list"), json!({"q": 2})),
    ];
    let expected = vec![
        call("read", "{\"p\":1}", "call_0"),
        call("read", "{\"p\":3}", "call_1"),
        call("now", "{}", "call_2"),
        call("list", "{\"q\":2}", "call_3"),
    ];
    assert_eq!(made(pieces), expected);
}

#[test]
fn one_id_for_two_calls_becomes_two_p25() {
    let pieces = vec![
        piece(json!(0), json!("a"), json!("read"), json!("{\"p\":1}")),
        piece(json!(1), json!("a"), json!("list"), json!("{\"q\":2}")),
    ];
    assert_eq!(
        made(pieces),
        [
            call("read", "{\"p\":1}", "a"),
            call("list", "{\"q\":2}", "a_2")
        ]
    );
}

#[test]
fn arguments_may_be_an_object_or_empty() {
    let pieces = vec![
        piece(json!(3), json!("a"), json!("read"), json!({"p": 1})),
        piece(json!(4), json!("b"), json!("list"), json!("{\"q\":2}")),
        piece(json!(5), json!("c"), json!("now"), json!("")),
        piece(json!(6), json!("d"), json!("now"), N),
    ];
    let mut expected = two();
    expected.extend([call("now", "{}", "c"), call("now", "{}", "d")]);
    assert_eq!(made(pieces), expected);
}

#[test]
fn the_oldest_form_is_one_call() {
    let pieces = vec![
        json!({"name": "read", "arguments": "{\"p\""}),
        json!({"name": null, "arguments": ":1}"}),
    ];
    assert_eq!(made(pieces), [call("read", "{\"p\":1}", "call_0")]);
}

#[test]
fn arguments_without_a_call_are_an_error_and_an_id_without_a_name_is_an_unknown_tool_p27() {
    let (_, error) = closed(vec![piece(json!(7), N, N, json!("{\"p\":1}"))]);
    assert!(error.unwrap().failure().message.contains("never began"));
    assert!(made(vec![piece(json!(7), N, N, json!(""))]).is_empty());
    let nameless = vec![piece(json!(7), json!("a"), N, json!("{}"))];
    assert_eq!(made(nameless), [call("", "{}", "a")]);
}
