//! Files of sizes at which the way of reading changes.

use super::*;
use crate::workspace::beneath::Folder;
use crate::workspace::content;

const BLOCK: usize = 64 * 1024;

#[test]
fn files_of_every_size_are_searched_to_their_end() {
    let sizes = [
        6,
        7,
        4096,
        BLOCK - 1,
        BLOCK,
        BLOCK + 1,
        3 * BLOCK,
        5 * BLOCK + 7,
    ];
    let place = Place::new(&[]);
    for size in sizes {
        let mut text = vec![b'-'; size];
        text[size - 6..].copy_from_slice(b"needle");
        fs::write(place.repo.join(format!("{size:06}")), &text).expect("file");
        text[size - 1] = 0;
        fs::write(place.repo.join(format!("{size:06}.binary")), &text).expect("file");
    }
    fs::write(place.repo.join("empty"), "").expect("file");
    let found = place
        .try_grep(".", &query("needl"), &All)
        .expect("searched");
    let names = found.lines.iter().map(|line| line.path.file_name());
    let sizes: Vec<String> = sizes.iter().map(|size| format!("{size:06}")).collect();
    assert!(names.eq(sizes.iter().map(|name| Some(name.as_ref()))));
    assert_eq!(found.skipped, 0);
}

/// The kernel's files have more bytes than they say.
#[cfg(target_os = "linux")]
#[test]
fn a_file_that_reports_no_length_is_read_to_its_end() {
    let folder = Folder::open(
        Path::new("/proc"),
        Path::new(&std::process::id().to_string()),
    )
    .expect("folder");
    let mut buffer = Vec::new();
    content::read_entry(&folder, "status".as_ref(), 1 << 20, &mut buffer).expect("read");
    assert!(buffer.ends_with(b"\n") && buffer.starts_with(b"Name:"));
    let few = content::read_entry(&folder, "status".as_ref(), 9, &mut buffer);
    assert!(matches!(
        few,
        Err(crate::workspace::FileError::TooLarge { .. })
    ));
}
