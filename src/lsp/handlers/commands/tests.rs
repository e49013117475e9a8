use super::*;

fn read(arguments: Value) -> Result<Args, Failure> {
    let Value::Array(arguments) = arguments else {
        panic!("arguments are a list")
    };
    Args::read(arguments, &COMMANDS[0])
}

#[test]
fn an_argument_is_an_object_or_bare_words_or_nothing() {
    let args = read(json!([{ "text": "hi", "uri": "file:///a", "new": 1 }])).unwrap();
    assert_eq!(args.text.as_deref(), Some("hi"));
    assert_eq!(args.uri.as_deref(), Some("file:///a"));
    let args = read(json!(["rename", "this"])).unwrap();
    assert_eq!(args.text.as_deref(), Some("rename this"));
    assert_eq!(read(json!([])).unwrap(), Args::default());
    assert_eq!(read(json!([null])).unwrap(), Args::default());
}

#[test]
fn a_wrong_argument_is_answered_with_the_usage() {
    let failure = read(json!([{ "text": 7 }])).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Invalid);
    assert!(failure.hint.contains("[{text, uri?"), "{failure:?}");
    let place = Args::default().place(&COMMANDS[1]).unwrap_err();
    assert!(place.hint.contains("[{uri, range}]"), "{place:?}");
}

#[test]
fn a_diagnostic_is_told_with_its_line_as_people_count() {
    let diagnostic = json!({
        "range": { "start": { "line": 3, "character": 0 }, "end": { "line": 3, "character": 5 } },
        "severity": 2,
        "message": "unused\nvariable",
    });
    assert_eq!(row(&diagnostic), "- line 4: warning: unused variable");
}
