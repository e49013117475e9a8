use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;

/// A folder with the skill `pdf` in `from/pdf`, and an empty folder of skills `to`.
fn scene() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().canonicalize().unwrap();
    let (from, to) = (base.join("from/pdf"), base.join("to"));
    fs::create_dir_all(from.join("scripts")).unwrap();
    fs::write(
        from.join(FILE),
        "---\nname: pdf\ndescription: forms\n---\nbody",
    )
    .unwrap();
    fs::write(from.join("scripts/fill.sh"), "true").unwrap();
    (dir, from, to)
}

fn entries(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn zy64_a_skill_is_installed_from_a_folder_and_taken_out_again() {
    let (_dir, from, to) = scene();
    let script = from.join("scripts/fill.sh");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o4777)).unwrap();
    let installed = install(&from, &to).unwrap();
    assert_eq!(
        (installed.name.as_str(), &installed.folder, installed.files),
        ("pdf", &to.join("pdf"), 2)
    );
    assert_eq!((installed.skipped.len(), installed.problems.len()), (0, 0));
    let copy = to.join("pdf/scripts/fill.sh");
    assert_eq!(fs::read_to_string(&copy).unwrap(), "true");
    assert_eq!(
        fs::metadata(&copy).unwrap().permissions().mode() & 0o7777,
        0o755
    );
    assert_eq!(entries(&to), ["pdf"]);
    // A second time, nothing is replaced.
    fs::write(from.join("scripts/fill.sh"), "false").unwrap();
    assert!(matches!(install(&from, &to), Err(InstallError::Exists(_))));
    assert_eq!(fs::read_to_string(&copy).unwrap(), "true");
    assert_eq!(uninstall("pdf", &to).unwrap(), to.join("pdf"));
    assert_eq!(entries(&to), Vec::<String>::new());
    let error = uninstall("pdf", &to).unwrap_err().to_string();
    assert!(
        error.starts_with("there is no skill named pdf in "),
        "{error}"
    );
}

#[test]
fn only_regular_files_are_copied() {
    let (dir, from, to) = scene();
    fs::write(dir.path().join("secret"), "hunter2").unwrap();
    symlink(dir.path().join("secret"), from.join("link")).unwrap();
    symlink(dir.path(), from.join("folder")).unwrap();
    fs::create_dir(from.join(".git")).unwrap();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    let fifo = from.join("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let mut installed = install(&from, &to).unwrap();
    installed.skipped.sort();
    let skipped = [".git", "fifo", "folder", "link"].map(PathBuf::from);
    assert_eq!(installed.skipped, skipped);
    assert_eq!(entries(&to.join("pdf")), [FILE, "scripts"]);
}

#[test]
fn what_is_no_skill_or_too_much_leaves_nothing_behind() {
    let (_dir, from, to) = scene();
    let text = fs::read_to_string(from.join(FILE)).unwrap();
    fs::write(from.join(FILE), "no front matter").unwrap();
    let error = install(&from, &to).unwrap_err().to_string();
    assert!(
        error.contains("is not a skill: it has no `description`"),
        "{error}"
    );
    fs::remove_file(from.join(FILE)).unwrap();
    let error = install(&from, &to).unwrap_err().to_string();
    assert!(error.contains("it has no SKILL.md"), "{error}");
    assert!(!to.exists());
    fs::write(from.join(FILE), text).unwrap();
    let error = install(&from, &from.join("scripts")).unwrap_err();
    assert!(matches!(error, InstallError::Contains(_)));
    // A file that is large and has nothing in it.
    let large = fs::File::create(from.join("large")).unwrap();
    large.set_len(BYTES + 1).unwrap();
    assert!(matches!(install(&from, &to), Err(InstallError::TooMuch)));
    fs::remove_file(from.join("large")).unwrap();
    for n in 0..FILES {
        fs::write(from.join(format!("{n}")), "").unwrap();
    }
    assert!(matches!(install(&from, &to), Err(InstallError::TooMuch)));
    assert_eq!(entries(&to), Vec::<String>::new());
}

#[test]
fn a_name_becomes_a_folder_of_the_folder_of_skills() {
    for (name, folder) in [
        ("pdf-forms", "pdf-forms"),
        ("PDF Tools: 2.0", "pdf-tools-2-0"),
        ("..a", "a"),
        ("übersetzen", "übersetzen"),
    ] {
        assert!(parse::harmless(name), "{name}");
        assert_eq!(folder_name(name), folder);
    }
    assert!(!parse::harmless("..") && !parse::harmless("a/b") && !parse::harmless("a\u{202e}b"));
}

#[test]
fn a_skill_in_a_folder_of_another_name_is_uninstalled_by_its_own() {
    let (_dir, from, to) = scene();
    fs::create_dir_all(to.join("group")).unwrap();
    fs::rename(&from, to.join("group/other")).unwrap();
    assert_eq!(uninstall("pdf", &to).unwrap(), to.join("group/other"));
    assert_eq!(entries(&to), ["group"]);
}
