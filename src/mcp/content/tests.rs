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

#[test]
fn resources_and_links_are_named() {
    let part = |value| serde_json::from_value::<ContentBlock>(value).unwrap();
    let blob = |kind: &str, data: &str| {
        part(
            json!({"type": "resource", "resource": {"uri": "r:b", "mimeType": kind, "blob": data}}),
        )
    };
    let large = "AAAA".repeat(super::IMAGE / 4 + 1);
    let parts = [
        part(json!({"type": "resource", "resource": {"uri": "r:a\u{202e}", "text": "words"}})),
        blob("application/zip", "aGk="),
        blob("image/png", "aGk="),
        blob("image/png", &large),
        part(json!({"type": "resource_link", "uri": "r:c", "name": "more"})),
    ];
    let content = Content::from_parts(&parts, None);
    assert_eq!(
        content.text,
        "r:a\\u{202e}:\nwords\nr:b: [application/zip, 4 bytes: not shown]\n\
         r:b: [image 1, image/png: below]\nr:b: [an image, image/png: too large, or too many images]\n\
         [a resource of the server: r:c (more)]"
    );
    assert_eq!(content.images.len(), 1);
    let many: Vec<_> = (0..=super::IMAGES)
        .map(|_| blob("image/png", "aGk="))
        .collect();
    let content = Content::from_parts(&many, None);
    assert_eq!(content.images.len(), super::IMAGES);
    assert!(content.text.ends_with("too large, or too many images]"));
}

#[test]
fn a_prompt_s_messages_name_the_assistant_s_and_only_these() {
    let prompt = serde_json::from_value(json!({ "messages": [
        { "role": "user", "content": { "type": "text", "text": "ask" } },
        { "role": "assistant", "content": { "type": "text", "text": "answer" } },
    ] }));
    let content = Content::from_prompt(&prompt.unwrap());
    assert_eq!(content.text, "ask\n\n(as the assistant) answer");
}
