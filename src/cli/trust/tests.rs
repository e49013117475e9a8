use std::collections::BTreeMap;
use std::fs;

use super::*;

struct Desk {
    dir: tempfile::TempDir,
    store: TrustStore,
}

impl Desk {
    fn new(files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let now = jiff::Timestamp::UNIX_EPOCH.to_zoned(jiff::tz::TimeZone::UTC);
        let store = TrustStore::new(&Env::fixed(dir.path(), now, BTreeMap::new()));
        let desk = Self { dir, store };
        fs::create_dir_all(desk.root()).unwrap();
        for (name, text) in files {
            desk.write(name, text);
        }
        desk
    }

    fn root(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("repo")
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.root().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// What the command says, with these answers to its questions.
    fn says(&self, answers: &[Answer]) -> String {
        let mut out = String::new();
        let mut left = answers.iter();
        let mut ask = |question: &str| {
            assert!(question.contains("trust "), "{question}");
            *left.next().unwrap_or(&Answer::No)
        };
        let ask: Option<Ask<'_>> = match answers {
            [] => None,
            _ => Some(&mut ask),
        };
        let mut say = |text: &str| {
            out.push_str(text);
            out.push('\n');
        };
        active_files(&self.store, &self.root(), &mut say, ask).unwrap();
        out
    }
}

const AGENT: &str = ".interline/agents/a.md";

#[test]
fn without_a_terminal_files_are_listed_and_nothing_is_trusted() {
    // INV-9
    let desk = Desk::new(&[(AGENT, "Be brief.\n"), (".mcp.json", "{}")]);
    let said = desk.says(&[]);
    assert!(
        said.contains("servers       .mcp.json  2 bytes") && said.contains("agent "),
        "{said}"
    );
    assert_eq!(said.matches("not trusted").count(), 2, "{said}");
    assert!(said.contains("interline trust FILE"), "{said}");
    assert_eq!(desk.store.known(&desk.root().join(AGENT)), None);
}

#[test]
fn each_file_is_asked_about_and_a_no_trusts_nothing() {
    let desk = Desk::new(&[(AGENT, "Be brief.\n"), (".mcp.json", "{}")]);
    let said = desk.says(&[Answer::No, Answer::Show, Answer::Yes]);
    assert!(said.contains("  | Be brief."), "{said}");
    assert_eq!(desk.store.known(&desk.root().join(".mcp.json")), None);
    assert!(desk.store.known(&desk.root().join(AGENT)).is_some());
    let said = desk.says(&[]);
    assert!(said.contains("  trusted\n"), "{said}");
}

#[test]
fn a_changed_file_shows_what_changed_and_is_asked_about_again() {
    let desk = Desk::new(&[(AGENT, "Be brief.\nBe kind.\n")]);
    desk.says(&[Answer::Yes]);
    desk.write(AGENT, "Be brief.\nBe cruel.\n");
    let said = desk.says(&[Answer::No]);
    assert!(
        said.contains("changed since you trusted it (19 → 20 bytes)"),
        "{said}"
    );
    assert!(
        said.contains("  | -Be kind.") && said.contains("  | +Be cruel."),
        "{said}"
    );
    desk.write(AGENT, "Be brief.\nBe kind.\n");
    assert!(desk.says(&[]).contains("  trusted\n"));
}

#[test]
fn a_text_cannot_steer_the_terminal() {
    let desk = Desk::new(&[(AGENT, "\u{1b}[2Jtrusted\u{202e}\n")]);
    let said = desk.says(&[Answer::Show, Answer::No]);
    assert!(
        !said.contains('\u{1b}') && !said.contains('\u{202e}'),
        "{said:?}"
    );
    assert!(said.contains("\\u{1b}[2J"), "{said}");
}

#[test]
fn a_long_text_is_shown_in_part() {
    let desk = Desk::new(&[(AGENT, "line\n".repeat(SHOWN + 7).as_str())]);
    let said = desk.says(&[Answer::Show, Answer::No]);
    assert!(said.contains("[…] 7 more lines"), "{said}");
}
