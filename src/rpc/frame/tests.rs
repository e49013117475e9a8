use proptest::prelude::*;

use super::*;
use crate::fuzz::frames::{fuzz_frames, read_all};

fn check(framing: Framing, input: &[u8], expected: &[Result<&str, FrameError>]) {
    let expected: Vec<_> = expected
        .iter()
        .map(|one| one.clone().map(|text| text.as_bytes().to_vec()))
        .collect();
    assert_eq!(read_all(framing, [input]), expected, "whole");
    assert_eq!(read_all(framing, input.chunks(1)), expected, "by bytes");
}

#[test]
fn e01_headers_are_lenient() {
    for header in [
        "Content-Length: 2\r\n\r\n",
        "content-length: 2\r\n\r\n",
        "CONTENT-LENGTH:2\n\n",
        "Content-Length : 2 \r\n\r\n",
        "Content-Length: 002\r\n\r\n",
        "Content-Type: application/vscode-jsonrpc\r\nContent-Length: 2\r\n\r\n",
        "Content-Length: 2\r\nContent-Type: a; charset=\"utf-8\"\r\nX-Third: 3\r\n\r\n",
        "\u{feff}Content-Length: 2\r\n\r\n",
        "\r\n\r\n\nContent-Length: 2\r\n\r\n",
    ] {
        let input = format!("{header}{{}}{header}[]");
        check(Framing::Detect, input.as_bytes(), &[Ok("{}"), Ok("[]")]);
    }
}

#[test]
fn e02_the_reader_resumes_at_the_next_length() {
    use FrameError::{BadLength, Garbage, MissingLength, TooLarge};
    let good = "Content-Length: 4\r\n\r\ngood";
    let bad = |value: &str| format!("Content-Length: {value}\r\n\r\n{{\"a\": 1}}{good}");
    for (input, error) in [
        (bad("-5"), BadLength("-5".into())),
        (bad("ten"), BadLength("ten".into())),
        (bad(""), BadLength(String::new())),
        (bad("1e3"), BadLength("1e3".into())),
        (bad("100000000000000"), TooLarge("100000000000000".into())),
        (
            bad("99999999999999999999999"),
            TooLarge("99999999999999999999999".into()),
        ),
        (bad("268435457"), TooLarge("268435457".into())),
        (format!("X-Other: 1\r\n\r\n{{}}{good}"), MissingLength),
        (format!("npm WARN something\r\n{good}"), Garbage),
        (format!("\0\u{1}\u{2}\n\n{good}"), Garbage),
        (format!("{}{good}", "x".repeat(100_000)), Garbage),
        (format!("no content-length: here\n{good}"), Garbage),
    ] {
        check(
            Framing::Headers,
            input.as_bytes(),
            &[Err(error), Ok("good")],
        );
    }
}

#[test]
fn e02_a_length_too_small_costs_only_its_message() {
    let input = "Content-Length: 3\r\n\r\n{\"a\": 1}Content-Length: 4\r\n\r\ngood";
    let expected = [Ok("{\"a"), Err(FrameError::Garbage), Ok("good")];
    check(Framing::Headers, input.as_bytes(), &expected);
}

#[test]
fn e02_a_length_too_big_costs_only_the_message_it_swallowed() {
    let good = "Content-Length: 4\r\n\r\ngood";
    let input = format!("Content-Length: 10\r\n\r\n{{}}{good}{good}");
    // `Length: 4` is left of the swallowed header: a header block without a length.
    let expected = [Ok("{}Content-"), Err(FrameError::MissingLength), Ok("good")];
    check(Framing::Headers, input.as_bytes(), &expected);
}

#[test]
fn e02_a_claimed_length_allocates_nothing() {
    let mut reader = FrameReader::new(Framing::Headers);
    reader.push(b"Content-Length: 268435456\r\n\r\n{\"a\"");
    assert!(reader.buffer.capacity() < 1024);
    reader.push(&vec![b'x'; 100_000]);
    assert!(reader.buffer.capacity() < 300_000);
}

#[test]
fn an_endless_header_line_stays_small() {
    let mut reader = FrameReader::new(Framing::Headers);
    for _ in 0..100 {
        reader.push(&[b'x'; 10_000]);
    }
    assert!(reader.buffer.capacity() <= 2 * MAX_HEADER_LINE);
}

#[test]
fn a_first_brace_means_lines() {
    let input = b"\xEF\xBB\xBF\n{\"a\":1}\r\n\n  {\"b\":2}\n{\"last\":3}";
    let expected = [Ok("{\"a\":1}\r"), Ok("  {\"b\":2}"), Ok("{\"last\":3}")];
    check(Framing::Detect, input, &expected);
}

#[test]
fn a_wrong_guess_of_lines_is_corrected_by_a_header() {
    let input = b"{\"missing\": \"header\"}Content-Length: 4\r\n\r\ngood";
    let expected = [Err(FrameError::Garbage), Ok("good")];
    check(Framing::Detect, input, &expected);
}

#[test]
fn a_line_over_the_limit_is_skipped() {
    let mut reader = FrameReader::new(Framing::Lines);
    reader.max_body = 10;
    reader.push(b"{\"a\":1}\n{\"aaaaaaaaaaaaaaa\":1}\n{\"b\":2}\n");
    assert_eq!(reader.pop(), Some(Ok(b"{\"a\":1}".to_vec())));
    assert!(matches!(reader.pop(), Some(Err(FrameError::TooLarge(_)))));
    assert_eq!(reader.pop(), Some(Ok(b"{\"b\":2}".to_vec())));
}

#[test]
fn the_end_inside_a_message_is_an_error() {
    let expected = [Err(FrameError::Truncated)];
    check(Framing::Headers, b"Content-Length: 9\r\n\r\n{}", &expected);
    check(Framing::Headers, b"Content-Len", &expected);
    check(Framing::Headers, b"", &[]);
}

/// A piece of a stream: good frames, bad headers, garbage.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => "[ -~]{0,40}".prop_map(|body| {
            format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
        }),
        1 => "(X-[a-z]{1,5}: [a-z]*\r?\n){0,2}content-length: ?[0-9]{1,2}\n\n[a-z]{0,20}"
            .prop_map(String::into_bytes),
        1 => "[ -~\r\n]{0,40}".prop_map(String::into_bytes),
        1 => "Content-Length: [-a-z0-9]{0,16}\r\n\r\n".prop_map(String::into_bytes),
        1 => "\\{[ -~]{0,10}\\}\n".prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 0..20),
        1 => (MAX_HEADER_LINE - 30..MAX_HEADER_LINE + 30).prop_map(|size| vec![b'x'; size]),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn e01_any_split_of_the_bytes_gives_the_same_frames(
        pieces in prop::collection::vec(piece(), 0..8),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..10),
    ) {
        let data = pieces.concat();
        let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(data.len() + 1)).collect();
        at.sort_unstable();
        let mut rest = data.as_slice();
        let mut parts = Vec::new();
        for cut in at.iter().rev() {
            let (before, after) = rest.split_at(*cut);
            parts.push(after);
            rest = before;
        }
        parts.push(rest);
        parts.reverse();
        for framing in [Framing::Detect, Framing::Headers, Framing::Lines] {
            prop_assert_eq!(
                read_all(framing, [data.as_slice()]),
                read_all(framing, parts.iter().copied())
            );
        }
        fuzz_frames(&data);
    }

    #[test]
    fn good_frames_after_any_garbage_line_arrive(
        garbage in "[ -~]{0,60}",
        bodies in prop::collection::vec("[a-z]{1,20}", 1..4),
    ) {
        let mut data = garbage.into_bytes();
        data.push(b'\n');
        // Ends a header block, in case the garbage looked like one.
        data.push(b'\n');
        for body in &bodies {
            data.extend(format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes());
        }
        let got = read_all(Framing::Headers, [data.as_slice()]);
        let got: Vec<_> = got.into_iter().flatten().collect();
        prop_assume!(!data.to_ascii_lowercase().starts_with(LENGTH));
        let bodies: Vec<_> = bodies.into_iter().map(String::into_bytes).collect();
        prop_assert_eq!(got, bodies);
    }
}
