use super::*;

#[test]
fn names_that_are_not_utf_8_never_share_a_key() {
    use std::os::unix::ffi::OsStrExt as _;
    let name = |bytes: &[u8]| path_key(Path::new(std::ffi::OsStr::from_bytes(bytes)));
    assert_ne!(name(b"/w/\xff"), name(b"/w/\xfe"));
    assert_eq!(name("/w/é b".as_bytes()), "/w/é b");
}

#[test]
fn another_host_is_no_path_here_but_a_document() {
    let uri = Uri::new("file://server/share/a.rs");
    assert_eq!(uri.path(), None);
    assert!(uri.mirrored());
    assert_eq!(uri.key(), "file://server/share/a.rs");
}
