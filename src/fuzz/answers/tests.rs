//! The functions of the fuzz targets under random scripts.

use proptest::prelude::*;

use super::*;
use crate::fuzz::script::Piece;
use crate::fuzz::sse::fuzz_sse;

const TARGETS: [fn(&[u8]); 5] = [
    fuzz_sse,
    fuzz_anthropic,
    fuzz_openai_chat,
    fuzz_openai_responses,
    fuzz_gemini,
];

#[test]
fn a_script_describes_an_answer() {
    let script = Script::read(b"hhm\nthello\nc\na0one \nc=\na1two\nd1\na0more\n");
    assert_eq!(script.pieces[0], Piece::Thought("xhm".to_owned()));
    assert_eq!(script.calls[0].id, script.calls[1].id);
    assert_eq!(script.calls[0].input()["v"], "one more");
    let json: String = script
        .pieces
        .iter()
        .filter_map(|piece| match piece {
            Piece::Json(0, json) => Some(json.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(json, r#"{"v":"one more"}"#);
    let stream = render(&script, Format::Responses);
    assert!(stream.contains("event: response.completed\ndata: {"));
}

#[test]
#[should_panic(expected = "the text")]
fn an_answer_that_differs_from_its_script_is_noticed() {
    let stream = render(&Script::read(b"thello\n"), Format::Gemini);
    let (events, error) = decode_all(gemini::decode::Decoder::default(), &[stream.as_bytes()]);
    Script::read(b"tbye\n").compare(&events, error.as_ref(), Format::Gemini);
}

fn any_script() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        4 => "t[ -~ü😀]{0,8}",
        2 => "h[ -~ü]{0,12}",
        3 => "c=?",
        6 => "a[0-3][ -~é\u{2028}]{0,9}",
        2 => "d[0-3]",
        1 => "[fmilrn]",
    ];
    proptest::collection::vec(line, 0..16).prop_map(|lines| format!("#{}\n", lines.join("\n")))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_format_decodes_to_its_script(script in any_script()) {
        for target in TARGETS {
            target(script.as_bytes());
        }
    }

    #[test]
    fn any_bytes_are_survived(data in proptest::collection::vec(any::<u8>(), 0..200)) {
        for target in TARGETS {
            target(&data);
        }
    }
}
