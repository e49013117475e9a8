use proptest::prelude::*;

use super::*;

/// Which records are undamaged, and what the file looks like.
#[test]
fn a_script_damages_the_records_that_it_marks() {
    let (bytes, written) = log(b"!0\n!1~5\n!2^9\n!3.\n!0\n{\"x\":1}\n!1").unwrap();
    let whole: Vec<bool> = written.iter().map(|one| one.whole).collect();
    assert_eq!(whole, [true, false, false, false, false, true]);
    let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    assert_eq!(lines.len(), 7);
    assert!(lines[2].len() < lines[1].len());
    assert_eq!(lines[5], b"{\"x\":1}");
    assert!(lines[6].ends_with(b"\"}"));
}

fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => "![0-3]",
        2 => "![0-3]~[0-9]{1,3}",
        2 => "![0-3]\\^[0-9]{1,4}",
        1 => "![0-3]\\.",
        1 => Just(String::new()),
        1 => Just(r#"{"role":"user","content":"\"hi\""}"#.to_owned()),
        1 => Just(r#"{"type":"hologram","crc":"00000000"}"#.to_owned()),
        1 => "[ -~]{0,20}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn damage_costs_its_own_record_only_s01_s02(
        lines in proptest::collection::vec(line(), 0..10),
        ended in any::<bool>(),
    ) {
        let end = if ended { "\n" } else { "" };
        fuzz_log((lines.join("\n") + end).as_bytes());
    }

    #[test]
    fn any_bytes_are_survived_s01_s02(data in proptest::collection::vec(any::<u8>(), 0..200)) {
        fuzz_log(&data);
    }
}
