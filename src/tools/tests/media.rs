//! Images and files for clients that declared them.

use serde_json::json;

use super::bench::Bench;
use crate::conversation::Event;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nrest";

#[tokio::test]
async fn a_picture_is_shown_with_its_bytes_zy62() {
    let bench = Bench::new();
    std::fs::write(bench.root.join("a.png"), PNG).unwrap();
    std::fs::write(bench.root.join("a.svg"), "<svg/>").unwrap();
    let arguments = json!({ "path": "a.png", "caption": "A dot" });
    bench.text("show_image", arguments).await;
    let events = bench.log.events.lock().unwrap().clone();
    let [
        Event::Image {
            media_type,
            caption,
            data,
            uri,
            ..
        },
    ] = events.as_slice()
    else {
        panic!("{events:?}");
    };
    assert_eq!(
        (media_type.as_str(), caption.as_deref()),
        ("image/png", Some("A dot"))
    );
    assert_eq!(data, "iVBORw0KGgpyZXN0");
    assert_eq!(*uri, bench.uri("a.png").to_string());
    for (path, part) in [
        ("a.svg", "PNG, JPEG"),
        ("none.png", "none.png"),
        (".", "folder"),
    ] {
        let words = bench.fails("show_image", json!({ "path": path })).await;
        assert!(words.contains(part), "{words}");
    }
    let large = std::fs::File::create(bench.root.join("large.png")).unwrap();
    large.set_len(6 << 20).unwrap();
    let words = bench
        .fails("show_image", json!({ "path": "large.png" }))
        .await;
    assert!(words.contains("large"), "{words}");
}

#[tokio::test]
async fn a_file_is_sent_and_above_50_mb_only_its_address_zy63() {
    let bench = Bench::new();
    bench.file("a.bin", "x");
    let large = std::fs::File::create(bench.root.join("b.bin")).unwrap();
    large.set_len((50 << 20) + 1).unwrap();
    for path in ["a.bin", "b.bin"] {
        bench.text("send_file", json!({ "path": path })).await;
    }
    let events = bench.log.events.lock().unwrap().clone();
    let sent: Vec<(&str, u64, bool)> = events
        .iter()
        .filter_map(|event| match event {
            Event::File {
                name, bytes, link, ..
            } => Some((name.as_str(), *bytes, *link)),
            _ => None,
        })
        .collect();
    assert_eq!(sent, [("a.bin", 1, false), ("b.bin", (50 << 20) + 1, true)]);
    let words = bench
        .fails("send_file", json!({ "path": "none.bin" }))
        .await;
    assert!(words.contains("none.bin"), "{words}");
}
