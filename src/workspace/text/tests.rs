use proptest::prelude::*;
use ropey::Rope;

use super::*;

const ALL: [Encoding; 3] = [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32];

fn at(line: u32, character: u32) -> Position {
    Position { line, character }
}

/// Difficult pieces: astral, combining, ZWJ sequences, every line end, U+2028, U+0085, BOM.
fn hurtful_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("a"),
        Just("é"),
        Just("e\u{301}"),
        Just("😀"),
        Just("👩\u{200d}👩\u{200d}👧"),
        Just("\n"),
        Just("\r\n"),
        Just("\r"),
        Just("\u{2028}"),
        Just("\u{85}"),
        Just("\u{b}"),
        Just("\u{feff}"),
        Just("漢字"),
        Just("some longer run of plain text "),
    ];
    proptest::collection::vec(piece, 0..120).prop_map(|pieces| pieces.concat())
}

#[test]
fn a_column_past_the_end_clamps_to_the_end_of_the_content() {
    let rope = Rope::from_str("ab\r\nc\rd\ne");
    for encoding in ALL {
        assert_eq!(offset(&rope, at(0, 99), encoding), Ok(2));
        assert_eq!(offset(&rope, at(0, 3), encoding), Ok(2));
        assert_eq!(offset(&rope, at(1, 9), encoding), Ok(5));
        assert_eq!(offset(&rope, at(2, u32::MAX), encoding), Ok(7));
        assert_eq!(offset(&rope, at(3, u32::MAX), encoding), Ok(9));
    }
}

#[test]
fn only_the_position_just_after_the_last_line_is_the_end_of_the_text() {
    for (text, lines) in [("", 1), ("a", 1), ("a\n", 2), ("a\r", 2), ("a\r\nb", 2)] {
        let rope = Rope::from_str(text);
        for encoding in ALL {
            assert_eq!(offset(&rope, at(lines, 0), encoding), Ok(text.len()));
            for bad in [at(lines, 1), at(lines + 1, 0), at(u32::MAX, 0)] {
                assert_eq!(
                    offset(&rope, bad, encoding),
                    Err(PositionError::LinePastEnd {
                        line: bad.line,
                        last: lines - 1
                    })
                );
            }
        }
    }
}

/// E11, I12.
#[test]
fn a_position_inside_a_character_is_refused() {
    let rope = Rope::from_str("x😀é");
    let inside = |column| Err(PositionError::InsideCharacter { line: 0, column });
    assert_eq!(offset(&rope, at(0, 2), Encoding::Utf16), inside(2));
    assert_eq!(offset(&rope, at(0, 3), Encoding::Utf16), Ok(5));
    for column in [2, 3, 4, 6] {
        assert_eq!(offset(&rope, at(0, column), Encoding::Utf8), inside(column));
    }
    assert_eq!(offset(&rope, at(0, 2), Encoding::Utf32), Ok(5));
}

#[test]
fn other_unicode_line_ends_do_not_end_a_line() {
    let rope = Rope::from_str("a\u{2028}b\u{85}c\u{b}d\u{c}e");
    assert_eq!(rope.len_lines(), 1);
    assert_eq!(position(&rope, rope.len_bytes(), Encoding::Utf32), at(0, 9));
}

#[test]
fn the_offset_between_cr_and_lf_has_the_position_of_the_line_end() {
    let rope = Rope::from_str("ab\r\ncd");
    for encoding in ALL {
        assert_eq!(position(&rope, 3, encoding), at(0, 2));
        assert_eq!(position(&rope, 4, encoding), at(1, 0));
    }
}

/// Offsets inside a character count as its start.
#[test]
fn an_offset_inside_a_character_gets_the_characters_start() {
    let rope = Rope::from_str("a😀b");
    for inner in 1..5 {
        assert_eq!(position(&rope, inner, Encoding::Utf16), at(0, 1));
    }
    assert_eq!(position(&rope, 999, Encoding::Utf16), at(0, 4));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// I12, E14: going to a position and back is the identity in every encoding.
    #[test]
    fn offset_of_position_is_the_identity(text in hurtful_text()) {
        let rope = Rope::from_str(&text);
        for (x, _) in text.char_indices().chain([(text.len(), ' ')]) {
            let split = x > 0
                && text.as_bytes()[x - 1] == b'\r'
                && text.as_bytes().get(x) == Some(&b'\n');
            let expected = if split { x - 1 } else { x };
            for encoding in ALL {
                prop_assert_eq!(offset(&rope, position(&rope, x, encoding), encoding), Ok(expected));
            }
        }
    }

    /// Any position gives an error or a character boundary that splits no CRLF (I12).
    #[test]
    fn a_position_never_splits_a_character_or_a_line_end(
        text in hurtful_text(), line in 0u32..60, column in 0u32..60,
    ) {
        let rope = Rope::from_str(&text);
        for encoding in ALL {
            if let Ok(x) = offset(&rope, at(line, column), encoding) {
                prop_assert!(text.is_char_boundary(x));
                prop_assert!(!(text[..x].ends_with('\r') && text[x..].starts_with('\n')));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Counting along the line and tree lookups give the same places and the same errors.
    #[test]
    fn columns_are_counted_alike_on_both_ways(text in hurtful_text(), column in 0usize..40) {
        let rope = Rope::from_str(&text);
        for line in 0..rope.len_lines() {
            for encoding in ALL {
                prop_assert_eq!(
                    along(&rope, line, column, encoding),
                    by_tree(&rope, line, column, encoding),
                    "line {} in {:?}", line, encoding
                );
            }
        }
    }
}
