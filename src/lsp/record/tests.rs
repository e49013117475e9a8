use super::*;

#[test]
fn a_recording_holds_frames_but_no_secrets() {
    let frame = r#"{"method":"interline/auth/set","params":{"provider":"x","secret":"sk-1"}}"#;
    let line = line(Direction::In, frame).to_string();
    assert!(line.contains("interline/auth/set") && line.contains("\"in\""));
    assert!(!line.contains("sk-1"), "{line}");
    let options = r#"{"a":[{"headers":{"X":"sk-2"},"Authorization":"sk-3","n":1}]}"#;
    let line = super::line(Direction::Out, options).to_string();
    assert!(!line.contains("sk-"), "{line}");
    assert!(line.contains("\"n\":1"));
}

#[test]
fn text_that_is_no_json_is_left_out() {
    let line = line(Direction::In, "secret sk-1").to_string();
    assert!(!line.contains("sk-1"), "{line}");
}
