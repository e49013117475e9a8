use proptest::prelude::*;

use super::*;

fn url() -> Url {
    Url::parse("https://docs.example.com/guide/intro?x=1").unwrap()
}

fn html(source: &str) -> Text {
    text("text/html", source.as_bytes(), &url()).unwrap()
}

#[test]
fn a_page_becomes_markdown_with_absolute_addresses_mc15() {
    let page = html(
        "<!doctype html><html><head><title> The\n guide </title><style>p{}</style></head><body>\
         <h2>Start</h2><p>Use <code>a_b</code> and <b>go</b>, see <a href='../api#x'>API</a> or \
         <a href='#here'>below</a>.</p><ul><li>one<li>two</ul><pre><code>let x = 1;\n</code></pre>\
         <img src='data:image/png;base64,AAAA' alt='dot'><img src='/i.png' alt='pic'>\
         <script>alert(1)</script><table><tr><th>k<th>v<tr><td>1<td>2</table></body></html>",
    );
    assert_eq!(page.title, "The guide");
    assert!(!page.incomplete);
    for part in [
        "## Start",
        "Use `a_b` and **go**, see [API](https://docs.example.com/api#x) or [below](#here).",
        "*   one\n*   two",
        "```\nlet x = 1;\n```",
        "![pic](https://docs.example.com/i.png)",
        "| 1 | 2 |",
    ] {
        assert!(page.text.contains(part), "{part}\n---\n{}", page.text);
    }
    for part in ["alert", "p{}", "base64", "The guide"] {
        assert!(!page.text.contains(part), "{part}\n---\n{}", page.text);
    }
}

#[test]
fn a_pages_base_applies() {
    let page = html("<base href='https://cdn.example.com/v2/'><a href='x'>x</a>");
    assert_eq!(page.text, "[x](https://cdn.example.com/v2/x)");
}

#[test]
fn other_text_is_unchanged_and_binary_is_refused() {
    let of = |kind: &str, bytes: &[u8]| text(kind, bytes, &url()).map(|text| text.text);
    let json = b"{\"a\": [1, 2]}";
    for kind in [
        "application/json",
        "application/problem+json; charset=utf-8",
        "text/plain",
        "text/markdown",
        "application/x-yaml",
        "",
    ] {
        assert_eq!(of(kind, json).as_deref(), Some("{\"a\": [1, 2]}"), "{kind}");
    }
    for kind in ["image/png", "application/pdf", "video/mp4", "nonsense"] {
        assert_eq!(of(kind, b"x"), None, "{kind}");
    }
    assert_eq!(of("", b"\x7fELF\0"), None);
    assert_eq!(of("", b" <!DOCTYPE html><p>x").as_deref(), Some("x"));
    assert!(of("image/svg+xml", b"<svg/>").is_some());
}

#[test]
fn every_encoding_is_decoded() {
    let of = |kind: &str, bytes: &[u8]| text(kind, bytes, &url()).unwrap().text;
    assert_eq!(
        of("text/plain; charset=iso-8859-1", b"caf\xe9"),
        "caf\u{e9}"
    );
    assert_eq!(of("text/plain", b"caf\xe9"), "caf\u{e9}");
    assert_eq!(of("text/plain", "caf\u{e9}".as_bytes()), "caf\u{e9}");
    assert_eq!(
        of("text/plain; charset=\"shift_jis\"", b"\x83e"),
        "\u{30c6}"
    );
    assert_eq!(of("text/html", b"<meta charset=koi8-r><p>\xc4"), "\u{434}");
    assert_eq!(of("text/plain", b"\xff\xfea\0"), "a");
    let mut cut = vec![b'x'; MOST - 1];
    cut.push(0xc3);
    assert!(of("text/plain", &cut).ends_with("x\u{fffd}"));
}

#[test]
fn a_hostile_page_is_bounded_in_stack_and_time() {
    let deep = "<div>".repeat(100_000) + "in";
    let page = html(&deep);
    assert!(page.incomplete && page.text.len() < 100);
    for piece in ["<blockquote>", "<ul><li>", "<table><tr><td>", "<span>"] {
        assert!(html(&(piece.repeat(20_000) + "end")).incomplete, "{piece}");
    }
    // Elements that the parser flattens, or that take it quadratic time.
    for piece in [
        "<b>",
        "<i><b>",
        "<a href=x>",
        "<font><p>",
        "<p><b>",
        "<select><option>",
    ] {
        let _ = html(&(piece.repeat(20_000) + "end"));
    }
    let flat = html(&"<p>word ".repeat(50_000));
    assert_eq!(flat.text.matches("word").count(), 50_000);
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(
        kind in "(text/html|text/plain|)(; charset=[a-z0-9-]{0,9})?",
        bytes in proptest::collection::vec(any::<u8>(), 0..400),
    ) {
        let _ = text(&kind, &bytes, &url());
    }

    #[test]
    fn no_tags_make_it_panic(
        tags in proptest::collection::vec(
            "</?(p|a href='[^'<>]{0,5}'|li|ul|ol start=[0-9x]|table|tr|td colspan=[0-9]{1,3}|pre|code|br|img src=[a-z]|select|option|svg|math|template|title|base href='[^'<>]{0,5}'|h1|!--|\\?x)>[a-z`*\\\\\n ]{0,4}",
            0..40,
        ),
    ) {
        let _ = html(&tags.concat());
    }
}
