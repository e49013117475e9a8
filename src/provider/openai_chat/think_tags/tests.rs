use proptest::prelude::*;

use super::*;

fn read(pieces: &[&str]) -> (String, String) {
    let mut tags = ThinkTags::default();
    let mut all: Vec<Piece> = pieces.iter().flat_map(|piece| tags.push(piece)).collect();
    all.extend(tags.flush());
    let (mut text, mut thought) = (String::new(), String::new());
    for said in all {
        match said {
            Piece::Text(more) => text.push_str(&more),
            Piece::Thought(more) => thought.push_str(&more),
        }
    }
    (thought, text)
}

fn pair(thought: &str, text: &str) -> (String, String) {
    (thought.to_owned(), text.to_owned())
}

#[test]
fn thoughts_before_the_text_are_separated() {
    assert_eq!(
        read(&["\n<think>why</think>\n\nso <think>"]),
        pair("why", "so <think>")
    );
    assert_eq!(read(&["<think></think>x"]), pair("", "x"));
    assert_eq!(
        read(&["<think>never closed </thi"]),
        pair("never closed </thi", "")
    );
}

#[test]
fn other_tags_stay_text() {
    for text in [
        "plain",
        " <thinking>x",
        "<th",
        "a <think>b</think>",
        "</think>",
    ] {
        assert_eq!(read(&[text]), pair("", text));
    }
    assert_eq!(read(&[" ", "\n"]), pair("", ""));
}

proptest! {
    #[test]
    fn any_split_gives_the_same(
        text in r"(<think>)?[a<>/ ü]{0,8}(</think>)?[ \n]{0,2}[a-z</>]{0,6}",
        at in 0usize..30,
        more in 0usize..30,
    ) {
        let whole = read(&[&text]);
        let bounds: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let (a, b) = (bounds[at % bounds.len()], bounds[more % bounds.len()]);
        let (a, b) = (a.min(b), a.max(b));
        prop_assert_eq!(read(&[&text[..a], &text[a..b], &text[b..]]), whole);
    }
}
