use super::*;

fn greet() -> PromptChoice {
    PromptChoice {
        server: "my notes".to_owned(),
        name: "greet".to_owned(),
        description: "Greets.".to_owned(),
        arguments: vec!["place".to_owned(), "tone?".to_owned()],
    }
}

fn asks(text: &str) -> String {
    let prompts = [greet()];
    match wanted(text, &prompts) {
        None => "nothing".to_owned(),
        Some(Wanted::File(typed)) => format!("file {typed}"),
        Some(Wanted::Command(typed)) => format!("command {typed}"),
        Some(Wanted::Argument { typed, .. }) => format!("argument {typed}"),
        Some(Wanted::Value {
            argument,
            typed,
            given,
            ..
        }) => format!("value {argument} {typed} {given:?}"),
    }
}

#[test]
fn the_end_of_the_text_decides_what_is_completed() {
    for (text, meant) in [
        ("look at @src/l", "file src/l"),
        ("one\n(@", "file "),
        ("/", "command "),
        ("/rev", "command rev"),
        ("/my no", "command my no"),
        ("/my notes:gr", "command my notes:gr"),
        ("/my notes:greet ", "argument "),
        ("/my notes:greet pl", "argument pl"),
        (
            "/my notes:greet tone=a place=Ad",
            "value place Ad {\"tone\": \"a\"}",
        ),
        ("/my notes:greeting pl", "nothing"),
        ("ada@example", "nothing"),
        ("and/or", "nothing"),
        ("/a/b", "nothing"),
        ("/rev it", "nothing"),
        ("", "nothing"),
    ] {
        assert_eq!(asks(text), meant, "{text:?}");
    }
}

#[test]
fn given_arguments_are_not_offered_again() {
    let labels = |before: &str, typed: &str| -> Vec<String> {
        let items = arguments(&greet(), before, typed).into_iter();
        items.map(|it| it.label).collect()
    };
    assert_eq!(labels("/my notes:greet ", ""), ["place=", "tone="]);
    assert_eq!(labels("/my notes:greet place=a t", "t"), ["tone="]);
}

#[test]
fn offsets_are_in_the_client_s_encoding() {
    let text = "ä𝄞@x";
    for (encoding, end) in [
        (Encoding::Utf8, 8),
        (Encoding::Utf16, 5),
        (Encoding::Utf32, 4),
    ] {
        assert_eq!(before(text, end, encoding), text);
        assert_eq!(before(text, end - 1, encoding), "ä𝄞@");
        assert_eq!(before(text, 999, encoding), text);
        assert_eq!(units(text, encoding), end);
    }
    // In the middle of a character.
    assert_eq!(before(text, 2, Encoding::Utf16), "ä");
}
