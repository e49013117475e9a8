use proptest::prelude::*;

use super::*;
use crate::fuzz::sse::{fuzz_sse, parse_all};

fn events(text: &[u8]) -> Vec<(String, String)> {
    let mut parser = Parser::default();
    let mut out = Vec::new();
    parser.push(text, &mut out).unwrap();
    out.into_iter().map(|e| (e.name, e.data)).collect()
}

fn check(text: &str, expected: &[(&str, &str)]) {
    let expected: Vec<_> = expected
        .iter()
        .map(|(name, data)| ((*name).to_owned(), (*data).to_owned()))
        .collect();
    assert_eq!(events(text.as_bytes()), expected, "{text:?}");
}

#[test]
fn the_rules_of_the_standard_hold_p18() {
    check("data: a\n\n", &[("", "a")]);
    check("data:a\n\n", &[("", "a")]);
    check("data:  a\n\n", &[("", " a")]);
    check("event: x\ndata: a\ndata: b\n\n", &[("x", "a\nb")]);
    check("event: x\r\ndata: a\r\n\r\n", &[("x", "a")]);
    check("event: x\rdata: a\r\r", &[("x", "a")]);
    check("\u{feff}data: a\n\n", &[("", "a")]);
    check("\u{feff}\u{feff}data: a\n\n", &[]);
    check(": comment\n\ndata: a\n: more\n\n", &[("", "a")]);
    check("data\n\n", &[("", "")]);
    check("data\ndata\n\n", &[("", "\n")]);
    check("event: lost\n\ndata: a\n\n", &[("", "a")]);
    check("retry: 5\nid: 3\nodd: x\ndata: a\n\n", &[("", "a")]);
    check("data: no blank line\n", &[]);
    check("data: a:b\n\n", &[("", "a:b")]);
}

#[test]
fn an_event_without_its_blank_line_is_delivered_at_the_end() {
    let mut parser = Parser::default();
    let mut out = Vec::new();
    parser.push(b"event: x\ndata: tail", &mut out).unwrap();
    assert!(out.is_empty());
    parser.finish(&mut out);
    assert_eq!(out[0].data, "tail");
}

#[test]
fn invalid_utf8_is_replaced_and_the_stream_continues_p14() {
    let got = events(b"data: a\xffb\n\ndata: \xe2\x82\n\ndata: c\n\n");
    assert_eq!(got[0].1, "a\u{fffd}b");
    assert_eq!(got[1].1, "\u{fffd}");
    assert_eq!(got[2].1, "c");
}

#[test]
fn a_ten_megabyte_line_in_small_pieces_is_one_event() {
    let mut parser = Parser::default();
    let mut out = Vec::new();
    parser.push(b"data: ", &mut out).unwrap();
    let piece = vec![b'x'; 1400];
    for _ in 0..7500 {
        parser.push(&piece, &mut out).unwrap();
    }
    parser.push(b"\n\n", &mut out).unwrap();
    assert_eq!(out[0].data.len(), 1400 * 7500);
}

#[test]
fn an_event_over_the_limit_is_a_typed_error_p16() {
    for text in ["data: 0123456789abcdef", "data: 01234567\ndata: 89abcdef\n"] {
        let mut parser = Parser::with_limit(16);
        let error = parser.push(text.as_bytes(), &mut Vec::new()).unwrap_err();
        assert_eq!(error, TooLong { limit: 16 });
    }
}

fn any_stream() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"data: ".to_vec()),
        Just(b"data".to_vec()),
        Just(b"event: e".to_vec()),
        Just(b": c".to_vec()),
        Just(b"\n".to_vec()),
        Just(b"\r".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"\n\n".to_vec()),
        Just("\u{feff}".as_bytes().to_vec()),
        Just("ü€😀".as_bytes().to_vec()),
        proptest::collection::vec(any::<u8>(), 0..4),
    ];
    proptest::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_split_gives_the_same_events_p13(stream in any_stream(), sizes in proptest::collection::vec(1usize..7, 1..8)) {
        let whole = parse_all(&[&stream], LIMIT).unwrap();
        let mut pieces = Vec::new();
        let mut rest = &stream[..];
        let mut sizes = sizes.iter().cycle();
        while !rest.is_empty() {
            let (piece, tail) = rest.split_at((*sizes.next().unwrap()).min(rest.len()));
            pieces.push(piece);
            rest = tail;
        }
        prop_assert_eq!(&whole, &parse_all(&pieces, LIMIT).unwrap());
        let bytes: Vec<&[u8]> = stream.chunks(1).collect();
        prop_assert_eq!(whole, parse_all(&bytes, LIMIT).unwrap());
    }

    #[test]
    fn any_stream_holds_what_the_fuzz_target_checks_p13_p16_p18(stream in any_stream()) {
        fuzz_sse(&stream);
    }

    #[test]
    fn any_bytes_hold_what_the_fuzz_target_checks_p13_p16_p18(data in proptest::collection::vec(any::<u8>(), 0..200)) {
        fuzz_sse(&data);
    }
}
