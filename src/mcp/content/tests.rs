use rmcp::model::ContentBlock;
use serde_json::json;

use super::{Content, TEXT};

/// A32.
#[test]
fn a_flood_loses_its_middle_and_escapes_become_visible() {
    let text = format!("\u{1b}[31mbegin{}end", "x".repeat(10 * 1024 * 1024));
    let content = Content::from_parts(&[ContentBlock::text(text)], None);
    assert!(content.truncated && content.text.len() < TEXT + 200);
    assert!(content.text.starts_with("\\u{1b}[31mbegin") && content.text.ends_with("end"));
    assert!(content.text.contains("bytes left out"));
}

#[test]
fn images_accompany_the_text_and_unsupported_ones_are_named() {
    let parts = [
        ContentBlock::text("two:"),
        ContentBlock::image("aGk=", "image/png"),
        ContentBlock::image("not base64!", "image/png"),
        ContentBlock::image("aGk=", "image/svg+xml"),
        ContentBlock::audio("aGk=", "audio/wav"),
    ];
    let content = Content::from_parts(&parts, None);
    assert_eq!(content.images.len(), 1);
    assert_eq!(
        content.text,
        "two:\n[image 1, image/png: below]\n[an image, image/png: cannot be shown]\n\
         [an image, image/svg+xml: cannot be shown]\n[audio, audio/wav, 4 bytes: not shown]"
    );
}

#[test]
fn structured_content_is_used_if_there_is_no_other() {
    let value = json!({"a": 1});
    assert_eq!(
        Content::from_parts(&[], Some(&value)).text,
        "{\n  \"a\": 1\n}"
    );
    let both = Content::from_parts(&[ContentBlock::text("a is 1")], Some(&value));
    assert_eq!(both.text, "a is 1");
}
