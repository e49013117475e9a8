mod cached;

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::conversation::sha256;
use crate::workspace::Uri;

struct Scene {
    dir: tempfile::TempDir,
    env: Env,
    workspace: Arc<Workspace>,
    config: Config,
}

/// A home, a config folder and one root `repo`.
fn scene() -> Scene {
    let dir = tempfile::tempdir().unwrap();
    let now = jiff::Timestamp::UNIX_EPOCH.to_zoned(jiff::tz::TimeZone::UTC);
    for folder in ["repo", "home", "config", "state"] {
        fs::create_dir_all(dir.path().join(folder)).unwrap();
    }
    let base = dir.path().canonicalize().unwrap();
    let scene = Scene {
        env: Env::fixed(&base, now, Default::default()),
        workspace: Workspace::new(),
        config: Config::default(),
        dir,
    };
    scene.roots(&["repo"]);
    scene
}

/// A `SKILL.md` with these lines of front matter.
fn skill(lines: &str) -> String {
    format!("---\n{lines}\n---\n\nDo it well.\n")
}

impl Scene {
    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// A skill `folder/name` with that description.
    fn skill(&self, folder: &str, name: &str, description: &str) -> PathBuf {
        let text = skill(&format!("name: {name}\ndescription: {description}"));
        self.write(&format!("{folder}/{name}/SKILL.md"), text)
    }

    fn roots(&self, names: &[&str]) {
        let root = |name: &&str| Root::new(Uri::from_path(&self.path(name)), None).unwrap();
        self.workspace.set_roots(names.iter().map(root).collect());
    }

    fn trust_folder(&self, name: &str) {
        let store = TrustStore::new(&self.env);
        store.set_folder(&self.path(name), true).unwrap();
    }

    /// Trusts a file with what it holds on disk.
    fn trust_file(&self, path: &Path) {
        let text = fs::read_to_string(path).unwrap();
        let store = TrustStore::new(&self.env);
        store.trust_text(path, &text).unwrap();
    }

    fn find_in(&self, cwd: &str, trusted: bool) -> Found {
        let cwd = self.path(cwd);
        find(&self.workspace, &self.env, &self.config, &cwd, trusted)
    }

    fn find(&self) -> Found {
        self.find_in("repo", false)
    }
}

fn names(skills: &[Skill]) -> Vec<&str> {
    skills.iter().map(|skill| skill.name.as_str()).collect()
}

fn locations(found: &Found) -> Vec<&str> {
    let all = found.skills.iter();
    all.map(|skill| skill.location.as_str()).collect()
}

fn reason<'a>(found: &'a Found, location: &str) -> &'a str {
    let mut all = found.problems.iter();
    let problem = all.find(|(shown, _)| shown.ends_with(location));
    &problem
        .unwrap_or_else(|| panic!("nothing about {location}: {:?}", found.problems))
        .1
}

#[test]
fn skills_of_the_user_and_of_a_trusted_workspace_are_found() {
    // OC-45
    let scene = scene();
    scene.skill("config/skills", "a", "one");
    scene.skill("home/.agents/skills", "b", "two");
    scene.skill("home/.interline/skills/deep/er", "c", "three");
    scene.skill("home/.claude/skills", "d", "four");
    let mut files = vec![
        scene.skill("repo/.agents/skills", "e", "five"),
        scene.skill("repo/.interline/skills", "f", "six"),
        scene.skill("repo/.claude/skills", "g", "seven"),
        scene.skill("repo/pkg/.agents/skills", "h", "eight"),
    ];
    scene.skill("repo/other/.agents/skills", "i", "not on the way");
    scene.trust_folder("repo");
    files.iter().for_each(|file| scene.trust_file(file));
    let found = scene.find_in("repo/pkg", false);
    let config = scene.path("config/skills/a/SKILL.md").display().to_string();
    assert_eq!(
        locations(&found),
        [
            &config,
            "~/.agents/skills/b/SKILL.md",
            "~/.interline/skills/deep/er/c/SKILL.md",
            "~/.claude/skills/d/SKILL.md",
            ".agents/skills/e/SKILL.md",
            ".interline/skills/f/SKILL.md",
            ".claude/skills/g/SKILL.md",
            "pkg/.agents/skills/h/SKILL.md",
        ]
    );
    assert_eq!((found.problems, found.untrusted), (Vec::new(), Vec::new()));
    let eighth = &found.skills[7];
    let root = scene.path("repo");
    assert_eq!(eighth.origin, Origin::Workspace { root });
    assert_eq!(
        (&*eighth.body, eighth.description.as_str()),
        ("Do it well.", "eight")
    );
    assert_eq!(eighth.path, files.pop().unwrap());
    assert_eq!(eighth.hash, sha256(&fs::read(&eighth.path).unwrap()));
    assert_eq!(found.skills[0].origin, Origin::User);
}

#[test]
fn inv9_a_workspaces_skill_needs_the_trust_of_its_folder_and_of_its_text() {
    let scene = scene();
    let file = scene.skill("repo/.agents/skills", "mine", "what I do");
    let shown = file.display();
    let reason = |found: Found| {
        assert_eq!((found.skills.len(), found.untrusted.len()), (0, 1));
        assert_eq!(found.untrusted[0].name, "mine");
        found.untrusted[0].reason.clone()
    };
    let both = format!(
        "its folder is not trusted: review it, then run `interline trust {}` and `interline \
         trust {shown}`",
        scene.path("repo").display()
    );
    assert_eq!(reason(scene.find()), both);
    // The text alone does not do.
    scene.trust_file(&file);
    assert_eq!(reason(scene.find()), both);
    // A folder that is trusted for this process only counts.
    assert_eq!(names(&scene.find_in("repo", true).skills), ["mine"]);
    scene.trust_folder("repo");
    assert_eq!(names(&scene.find().skills), ["mine"]);
    // Another text is another skill.
    scene.skill("repo/.agents/skills", "mine", "something else");
    assert_eq!(
        reason(scene.find()),
        format!("it changed since you trusted it: review it, then run `interline trust {shown}`")
    );
    TrustStore::new(&scene.env).forget_file(&file).unwrap();
    assert_eq!(
        reason(scene.find()),
        format!("it comes with the workspace: review it, then run `interline trust {shown}`")
    );
}

#[test]
fn inv9_the_sessions_trust_covers_no_other_root() {
    let scene = scene();
    fs::create_dir(scene.path("lib")).unwrap();
    scene.roots(&["repo", "lib"]);
    let file = scene.skill("lib/.agents/skills", "theirs", "what they do");
    scene.trust_file(&file);
    let found = scene.find_in("repo", true);
    assert_eq!(
        found.untrusted[0].location,
        "lib/.agents/skills/theirs/SKILL.md"
    );
    scene.trust_folder("lib");
    assert_eq!(names(&scene.find_in("repo", false).skills), ["theirs"]);
}

#[test]
fn the_buffer_counts_before_the_file_also_for_trust() {
    // INV-2, INV-9
    let scene = scene();
    let file = scene.skill("repo/.agents/skills", "mine", "on disk");
    scene.trust_folder("repo");
    scene.trust_file(&file);
    let uri = Uri::from_path(&file);
    let buffer = skill("name: mine\ndescription: in the buffer");
    scene
        .workspace
        .did_open(uri.clone(), "markdown", 1, &buffer);
    let found = scene.find();
    assert_eq!(found.skills, []);
    assert_eq!(found.untrusted[0].hash, sha256(buffer.as_bytes()));
    assert!(
        found.untrusted[0]
            .reason
            .contains("review it, save it, then run")
    );
    let store = TrustStore::new(&scene.env);
    store.trust_text(&file, &buffer).unwrap();
    assert_eq!(scene.find().skills[0].description, "in the buffer");
    scene.workspace.did_close(&uri);
    assert_eq!(scene.find().skills, []);
    // The user's own need no trust, and may not be saved yet.
    fs::create_dir_all(scene.path("home/.agents/skills/new")).unwrap();
    let uri = Uri::from_path(&scene.path("home/.agents/skills/new/SKILL.md"));
    scene
        .workspace
        .did_open(uri, "markdown", 1, &skill("description: begun"));
    assert_eq!(names(&scene.find().skills), ["new"]);
}

#[test]
fn the_workspaces_skill_wins_over_one_of_the_same_name_and_that_is_reported() {
    let scene = scene();
    let file = scene.skill("repo/.agents/skills", "pdf", "the project's");
    scene.skill("config/skills", "pdf", "mine");
    scene.skill("home/.agents/skills", "pdf", "mine, too");
    scene.skill("home/.claude/skills", "pdf", "mine, too");
    // Untrusted, it hides nothing.
    assert_eq!(scene.find().skills[0].description, "mine");
    scene.trust_folder("repo");
    scene.trust_file(&file);
    let found = scene.find();
    assert_eq!(found.skills.len(), 1);
    assert_eq!(found.skills[0].description, "the project's");
    let why = "not used: .agents/skills/pdf/SKILL.md has the same name and is used";
    assert_eq!(reason(&found, "config/skills/pdf/SKILL.md"), why);
    assert_eq!(reason(&found, "~/.agents/skills/pdf/SKILL.md"), why);
    // The same text under a third agent's folder is no news.
    fs::remove_dir_all(scene.path("config/skills")).unwrap();
    fs::remove_dir_all(scene.path("repo/.agents")).unwrap();
    assert_eq!(scene.find().problems, []);
}

#[test]
fn what_a_skill_says_of_itself_is_read_leniently() {
    let scene = scene();
    let text = "name: PDF Tools\ndescription: >\n  Fills: forms,\n  reads them.\nkeywords: Forms, \
                acro form , forms\ninject: Always\nuser-invocable: no";
    scene.write("home/.agents/skills/pdf/SKILL.md", skill(text));
    let text = "description: d\nmetadata:\n  keywords: [x]\n  inject: never\n\
                disable-model-invocation: true";
    scene.write("home/.agents/skills/plain/SKILL.md", skill(text));
    let found = scene.find();
    let [pdf, plain] = &found.skills[..] else {
        panic!("{found:?}")
    };
    assert_eq!(
        (pdf.name.as_str(), pdf.description.as_str()),
        ("PDF Tools", "Fills: forms, reads them.")
    );
    assert_eq!(pdf.keywords, ["Forms", "acro form"]);
    assert!(pdf.always && pdf.for_model && !pdf.for_user);
    assert_eq!(
        (plain.name.as_str(), &plain.keywords[..]),
        ("plain", &["x".to_owned()][..])
    );
    assert!(!plain.always && !plain.for_model && plain.for_user);
    assert!(reason(&found, "pdf/SKILL.md").contains("PDF Tools is used, though"));
    assert!(reason(&found, "plain/SKILL.md").contains("its folder's is used"));
    assert_eq!(found.get("pdf tools"), Some(pdf));
    assert_eq!(found.get("pdf"), None);
}

#[test]
fn files_that_are_not_skills_are_reported_and_ignored() {
    let scene = scene();
    let write = |name: &str, text: &[u8]| {
        scene.write(&format!("home/.agents/skills/{name}/SKILL.md"), text);
    };
    write("bare", b"# No front matter\n");
    write("blank", b"---\nname: blank\ndescription: ''\n---\n");
    write("open", b"---\nname: open\ndescription: x\n");
    write("binary", b"---\ndescription: \xff\n---\n");
    write("nul", b"---\ndescription: x\0\n---\n");
    write("large", &vec![b'x'; 1024 * 1024 + 1]);
    write(
        "evil",
        "---\nname: \"a\\u202e\\nb\"\ndescription: x\n---\n".as_bytes(),
    );
    write(
        "no\u{202e}",
        "---\nname: \"\\n\"\ndescription: x\n---\n".as_bytes(),
    );
    let found = scene.find();
    for (name, why) in [
        ("bare", "no `description`"),
        ("blank", "no `description`"),
        ("open", "no `description`"),
        ("binary", "not UTF-8"),
        ("nul", "not UTF-8"),
        ("large", "over the limit of 1048576"),
        ("evil", "its folder's is used"),
        ("no\u{202e}", "it has no `name`"),
    ] {
        let why_not = reason(&found, &format!("{name}/SKILL.md"));
        assert!(why_not.contains(why), "{name}: {why_not}");
    }
    assert_eq!(names(&found.skills), ["evil"]);
}

#[test]
fn long_bodies_and_descriptions_are_truncated_and_that_is_reported() {
    let scene = scene();
    let text = format!(
        "---\ndescription: {}\n---\n{}",
        "é".repeat(2_000),
        "ß".repeat(BODY)
    );
    scene.write("home/.agents/skills/long/SKILL.md", &text);
    let found = scene.find();
    let long = &found.skills[0];
    assert_eq!(
        (long.description.chars().count(), long.body.len(), long.cut),
        (1_024, BODY, true)
    );
    assert_eq!(long.hash, sha256(text.as_bytes()));
    let reasons: Vec<&str> = found.problems.iter().map(|(_, why)| why.as_str()).collect();
    assert_eq!(reasons.len(), 3);
    assert!(
        reasons[1].contains("truncated after 1024") && reasons[2].contains("longer than 64 KiB")
    );
}

#[test]
fn zy12_a_skill_that_is_switched_off_is_listed_apart() {
    let mut scene = scene();
    let off = skill("description: off\nenabled: false");
    scene.write("home/.agents/skills/off/SKILL.md", &off);
    scene.write("repo/.agents/skills/theirs/SKILL.md", &off);
    scene.skill("home/.agents/skills", "on", "on");
    scene.skill("config/skills", "not-now", "on");
    scene.config.skills.disabled = vec!["not-now".to_owned()];
    let found = scene.find();
    assert_eq!(names(&found.skills), ["on"]);
    assert_eq!(names(&found.disabled), ["not-now", "off"]);
    assert_eq!(found.untrusted, []);
    scene.config.skills.enabled = false;
    assert_eq!(scene.find(), Found::default());
}

#[test]
fn further_folders_come_from_the_users_settings() {
    let mut scene = scene();
    scene.skill("config/team", "a", "relative to the config folder");
    scene.skill("home/more", "b", "in the home");
    scene.skill("elsewhere", "c", "absolute");
    // The user may configure a folder of the workspace.
    scene.skill("repo/.agents/skills", "d", "named");
    scene.config.skills.folders = vec![
        "team".to_owned(),
        "~/more".to_owned(),
        scene.path("elsewhere").display().to_string(),
        scene.path("repo/.agents/skills").display().to_string(),
        "missing".to_owned(),
        "file".to_owned(),
    ];
    scene.write("config/file", "");
    let found = scene.find();
    assert_eq!(names(&found.skills), ["a", "b", "c", "d"]);
    assert_eq!(reason(&found, "config/file"), "it is not a folder");
    assert_eq!(found.skills[3].origin, Origin::User);
    assert_eq!(found.untrusted, []);
    assert!(reason(&found, "config/missing").contains("skills.folders"));
}

#[test]
fn no_link_leads_out_and_none_makes_a_circle() {
    let scene = scene();
    scene.skill("home/outside", "out", "outside");
    let file = scene.skill("home/.agents/skills", "real", "inside");
    let link = |to: &str, at: &str| {
        fs::create_dir_all(scene.path(at).parent().unwrap()).unwrap();
        symlink(scene.path(to), scene.path(at)).unwrap();
    };
    link("home/outside/out", "home/.agents/skills/linked");
    link("home/.agents/skills", "home/.agents/skills/circle");
    link("home/.agents/skills/real", "home/.claude/skills/real");
    link("nowhere", "home/.claude/skills/dangling");
    fs::create_dir_all(scene.path("home/.agents/skills/file")).unwrap();
    symlink(&file, scene.path("home/.agents/skills/file/SKILL.md")).unwrap();
    // A workspace's folder of skills that is a link to elsewhere.
    link("home/outside", "repo/.claude/skills");
    let found = scene.find_in("repo", true);
    assert_eq!(names(&found.skills), ["real"]);
    assert!(reason(&found, "skills/linked").contains("was not followed"));
    assert!(reason(&found, "skills/dangling").contains("leads nowhere"));
    assert!(reason(&found, "file/SKILL.md").contains("it is a link"));
    assert!(reason(&found, ".claude/skills").contains("leads"));
    assert_eq!((found.problems.len(), found.untrusted.len()), (4, 0));
}

#[test]
fn special_files_and_folders_without_end_are_bounded() {
    let scene = scene();
    let skills = "home/.agents/skills";
    for name in ["fifo", "folder"] {
        fs::create_dir_all(scene.path(&format!("{skills}/{name}"))).unwrap();
    }
    let fifo = scene.path(&format!("{skills}/fifo/SKILL.md"));
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    fs::create_dir_all(scene.path(&format!("{skills}/folder/SKILL.md"))).unwrap();
    scene.skill(&format!("{skills}/1/2/3"), "deepest", "four folders down");
    scene.skill(&format!("{skills}/1/2/3/4"), "deeper", "five folders down");
    scene.skill(&format!("{skills}/.hidden"), "hidden", "not meant");
    let found = scene.find();
    assert_eq!(names(&found.skills), ["deepest"]);
    assert!(reason(&found, "fifo/SKILL.md").contains("not a regular file"));
    assert!(reason(&found, "folder/SKILL.md").contains("directory"));
    for n in 0..2_100 {
        fs::create_dir(scene.path(&format!("{skills}/x{n}"))).unwrap();
    }
    scene.skill(skills, "z-last", "behind all folders");
    let found = scene.find();
    assert_eq!(names(&found.skills), ["deepest"]);
    assert!(reason(&found, "agents/skills").contains("more than 2000 folders"));
}

#[test]
fn two_hundred_skills_are_found_in_name_order() {
    let scene = scene();
    for n in (0..200).rev() {
        scene.skill(
            "home/.agents/skills",
            &format!("skill-{n:03}"),
            "one of many",
        );
    }
    let found = scene.find();
    assert_eq!((found.skills.len(), found.problems.len()), (200, 0));
    assert!(found.skills.is_sorted_by_key(|skill| skill.name.clone()));
}

#[test]
fn resources_are_names_of_files_beside_the_skill() {
    let scene = scene();
    scene.skill("home/.agents/skills", "pdf", "fills forms");
    let base = "home/.agents/skills/pdf";
    for name in [
        "scripts/fill.py",
        "reference.md",
        "a/SKILL.md",
        ".git/config",
        "a/b/c/d/e",
    ] {
        scene.write(&format!("{base}/{name}"), "");
    }
    symlink("/etc/passwd", scene.path(&format!("{base}/passwd"))).unwrap();
    let found = scene.find();
    let listed = resources(&found.skills[0]);
    assert_eq!(
        listed.names,
        ["a/SKILL.md", "reference.md", "scripts/fill.py"]
    );
    assert!(listed.more, "what lies too deep is not denied");
    fs::remove_dir_all(scene.path(&format!("{base}/a"))).unwrap();
    assert!(!resources(&found.skills[0]).more);
    for n in 0..60 {
        scene.write(&format!("{base}/data/{n}"), "");
    }
    let listed = resources(&found.skills[0]);
    assert_eq!((listed.names.len(), listed.more), (50, true));
}

proptest! {
    /// Whatever a `SKILL.md` holds: what comes out of it fits its bounds.
    #[test]
    fn any_text_is_a_bounded_skill_or_none(name in "\\PC{0,80}", text in "(?s).{0,200}") {
        let whole = format!("---\nname: {name}\ndescription: x{text}\n---\n{text}");
        for text in [&whole, &text] {
            if let Ok(parsed) = parse::parse(text, "folder") {
                prop_assert!(parse::harmless(&parsed.name));
                prop_assert!((1..=1024).contains(&parsed.description.chars().count()));
                prop_assert!(!parsed.description.contains('\n'));
                prop_assert!(text.contains(&*parsed.body));
            }
        }
    }
}
