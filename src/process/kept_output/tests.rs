use proptest::prelude::*;

use super::super::spill::SPILL_LIMIT;
use super::{Capture, Decoder};

fn decode(pieces: &[&[u8]]) -> String {
    let mut decoder = Decoder::default();
    let mut out = String::new();
    for piece in pieces {
        out.push_str(&decoder.push(piece));
    }
    out.push_str(&decoder.finish());
    out
}

#[test]
fn x02_escapes_and_control_characters_are_removed() {
    for (input, expected) in [
        ("\u{1b}[1;31mred\u{1b}[0m", "red"),
        (
            "\u{1b}]8;;http://x\u{7}link\u{1b}]8;;\u{1b}\\ end",
            "link end",
        ),
        ("\u{1b}]52;c;ZXZpbA==\u{7}after", "after"),
        ("\u{1b}(B plain", " plain"),
        ("\u{9b}31mred", "red"),
        ("a\u{8}\u{0}\u{7f}b", "ab"),
        ("one\r\ntwo\rthree\n", "one\ntwo\nthree\n"),
        ("tab\tstays", "tab\tstays"),
        ("\u{1b}]unterminated\nnext line", "\nnext line"),
        ("\u{1b}[3\u{1b}[0mx", "x"),
        ("\u{1b}P1$r\u{1b}\\dcs", "dcs"),
    ] {
        assert_eq!(decode(&[input.as_bytes()]), expected, "{input:?}");
    }
}

#[test]
fn x02_an_unterminated_sequence_swallows_at_most_4_kb() {
    let text = format!("\u{1b}]{}end", "x".repeat(10_000));
    let out = decode(&[text.as_bytes()]);
    assert!(out.len() > 5_900 && out.ends_with("end"));
}

#[test]
fn invalid_bytes_become_replacement_characters() {
    assert_eq!(decode(&[b"a\xffb\xc3"]), "a\u{fffd}b\u{fffd}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn piece_boundaries_do_not_matter(
        bytes in proptest::collection::vec(
            prop_oneof![
                Just(b'\x1b'), Just(b'['), Just(b']'), Just(b'm'), Just(b'\r'), Just(b'\n'),
                Just(0xc3), Just(0xa9), Just(0xf0), Just(0x9f), Just(0x98), Just(0x80),
                any::<u8>(),
            ],
            0..60,
        ),
        cut in 0usize..60,
    ) {
        let cut = cut.min(bytes.len());
        prop_assert_eq!(decode(&[&bytes[..cut], &bytes[cut..]]), decode(&[&bytes]));
    }

    #[test]
    fn kept_and_omitted_bytes_add_up_and_the_file_has_everything(
        pieces in proptest::collection::vec("[aé😀\n]{0,40}", 0..12),
        keep in 8usize..200,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let mut capture = Capture::new(keep, folder.path());
        for piece in &pieces {
            capture.push(piece);
        }
        let whole = pieces.concat();
        let captured = capture.finish();
        prop_assert_eq!(captured.text.len() as u64 + captured.omitted, whole.len() as u64);
        prop_assert!(captured.text.len() <= keep);
        prop_assert!(whole.starts_with(&captured.text[..captured.cut]));
        prop_assert!(whole.ends_with(&captured.text[captured.cut..]));
        prop_assert_eq!(captured.omitted > 0, captured.spilled.is_some() && captured.text != whole);
        if let Some(path) = captured.spilled {
            prop_assert_eq!(std::fs::read_to_string(path).unwrap(), whole);
        }
    }
}

/// A46: it may hold what only the user may read.
#[test]
fn a46_the_spill_file_is_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("output");
    let mut capture = Capture::new(8, &inner);
    capture.push("0123456789");
    let path = capture.finish().spilled.unwrap();
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(&inner)), (0o600, 0o700));
}

#[test]
fn x02_the_spill_file_is_capped_and_ends_on_a_character() {
    let folder = tempfile::tempdir().unwrap();
    let mut capture = Capture::new(8, folder.path());
    let piece = "x😀".repeat(1 << 18);
    for _ in 0..16 {
        capture.push(&piece);
    }
    let captured = capture.finish();
    let text = std::fs::read_to_string(captured.spilled.unwrap()).unwrap();
    assert!(text.len() as u64 <= SPILL_LIMIT && text.len() as u64 > SPILL_LIMIT - 8);
    assert_eq!(
        captured.omitted,
        16 * piece.len() as u64 - captured.text.len() as u64
    );
}

#[test]
fn without_the_folder_only_the_file_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let mut capture = Capture::new(8, &file.join("sub"));
    capture.push("0123456789");
    let captured = capture.finish();
    assert_eq!((captured.text.as_str(), captured.omitted), ("01236789", 2));
    assert!(captured.spilled.is_none());
}
