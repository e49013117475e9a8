use proptest::prelude::*;
use ropey::Rope;

use super::*;

fn piece(start: usize, removed: &str, inserted: &str) -> Piece {
    Piece {
        start,
        removed: removed.to_owned(),
        inserted: inserted.to_owned(),
        continues: false,
    }
}

fn check(old: &str, new: &str, expected: &[Piece]) {
    assert_eq!(differences(&Rope::from_str(old), new), expected);
}

#[test]
fn equal_texts_have_no_differences() {
    check("", "", &[]);
    check("a\r\nb", "a\r\nb", &[]);
}

#[test]
fn one_word_changed_is_one_small_piece() {
    check(
        "let a = 1;\nfoo\n",
        "let a = 12;\nfoo\n",
        &[piece(9, "", "2")],
    );
    check("", "new", &[piece(0, "", "new")]);
    check("old", "", &[piece(0, "old", "")]);
}

#[test]
fn distant_changes_are_separate_pieces_in_offsets_of_the_text_before_each() {
    check(
        "one\ntwo\nthree\nfour\nfive\n",
        "ONE\ntwo\nthree\nfour\nfiver\n",
        &[
            Piece {
                continues: true,
                ..piece(0, "one", "ONE")
            },
            piece(23, "", "r"),
        ],
    );
}

/// B09: a piece never begins or ends inside a line end.
#[test]
fn a_line_end_is_replaced_as_a_whole() {
    check("a\nb", "a\r\nb", &[piece(1, "\n", "\r\n")]);
    check("a\r\nb", "a\rb", &[piece(1, "\r\n", "\r")]);
}

#[test]
fn a_character_is_replaced_as_a_whole() {
    check("a😀b", "a😁b", &[piece(1, "😀", "😁")]);
    check("éx", "èx", &[piece(0, "é", "è")]);
}

#[test]
fn a_rewritten_text_of_many_lines_stays_one_piece() {
    let old: String = (0..2000).map(|n| format!("{n}\nkeep\n")).collect();
    let new: String = (0..2000).map(|n| format!("x{n}\nkeep\n")).collect();
    let old = Rope::from_str(&old);
    assert_eq!(differences_within(&old, &new, Duration::MAX).len(), 1);
}

#[test]
fn a_deadline_that_passed_costs_fineness_and_nothing_else() {
    let old: String = (0..50).map(|n| format!("{n}\nkeep\n")).collect();
    let new: String = (0..50).map(|n| format!("x{n}\nkeep\n")).collect();
    let mut rope = Rope::from_str(&old);
    for piece in differences_within(&rope.clone(), &new, Duration::ZERO) {
        let start = rope.byte_to_char(piece.start);
        let end = rope.byte_to_char(piece.start + piece.removed.len());
        assert_eq!(rope.slice(start..end), piece.removed);
        rope.remove(start..end);
        rope.insert(start, &piece.inserted);
    }
    assert_eq!(rope, new);
}

fn text() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        Just("a"),
        Just("b"),
        Just("\n"),
        Just("\r\n"),
        Just("\r"),
        Just("é"),
        Just("è"),
        Just("😀"),
        Just("the same line\n"),
    ];
    proptest::collection::vec(word, 0..60).prop_map(|words| words.concat())
}

proptest! {
    /// I06: the pieces turn the old text into the new one and touch no more than they say.
    #[test]
    fn pieces_turn_the_old_text_into_the_new(old in text(), new in text()) {
        let mut now = old.clone();
        for piece in differences(&Rope::from_str(&old), &new) {
            let end = piece.start + piece.removed.len();
            prop_assert_eq!(&now[piece.start..end], piece.removed.as_str());
            now.replace_range(piece.start..end, &piece.inserted);
            prop_assert_ne!(piece.removed, piece.inserted);
        }
        prop_assert_eq!(now, new);
    }
}
