use rmcp::model::ContentBlock;
use serde_json::json;

use super::{Content, TEXT};

/// A32.
#[test]
fn a_flood_is_cut_in_the_middle_and_escapes_are_seen() {
    let text = format!("\u{1b}[31mbegin{}end", "x".repeat(10 * 1024 * 1024));
    let content = Content::of(&[ContentBlock::text(text)], None);
    assert!(content.truncated && content.text.len() < TEXT + 200);
    assert!(content.text.starts_with("\\u{1b}[31mbegin") && content.text.ends_with("end"));
    assert!(content.text.contains("bytes left out"));
}

#[test]
fn images_come_beside_the_text_and_odd_ones_are_named() {
    let parts = [
        ContentBlock::text("two:"),
        ContentBlock::image("aGk=", "image/png"),
        ContentBlock::image("not base64!", "image/png"),
        ContentBlock::image("aGk=", "image/svg+xml"),
        ContentBlock::audio("aGk=", "audio/wav"),
    ];
    let content = Content::of(&parts, None);
    assert_eq!(content.images.len(), 1);
    assert_eq!(
        content.text,
        "two:\n[image 1, image/png: below]\n[an image, image/png: not one that can be shown]\n\
         [an image, image/svg+xml: not one that can be shown]\n[audio, audio/wav, 4 bytes: not shown]"
    );
}

#[test]
fn structured_content_speaks_where_there_is_no_other() {
    let value = json!({"a": 1});
    assert_eq!(Content::of(&[], Some(&value)).text, "{\n  \"a\": 1\n}");
    let both = Content::of(&[ContentBlock::text("a is 1")], Some(&value));
    assert_eq!(both.text, "a is 1");
}
